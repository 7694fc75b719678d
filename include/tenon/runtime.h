/* SPDX-License-Identifier: Apache-2.0 */
/* What generated kernels need from their surroundings: a way to run a loop on several threads.
 * A kernel is
 *   void kernel(void* const* params, void* workspace, const tenon_runtime* rt);
 * It calls nothing else but libm. Any thread pool can stand behind tenon_runtime. */
#ifndef TENON_RUNTIME_H
#define TENON_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The headers of compiled models carry these types too. */
#ifndef TENON_RUNTIME_TYPES
#define TENON_RUNTIME_TYPES

/* Runs iterations [begin, end) of a parallel loop. */
typedef void (*tenon_body)(void* closure, int64_t begin, int64_t end);

typedef struct tenon_runtime {
  /* Calls body on disjoint ranges that cover [0, n), from up to `threads` threads, and returns
   * when all are done. A context calls it from one thread at a time; one that several contexts share
   * is called from several. */
  void (*parallel)(const struct tenon_runtime* rt, tenon_body body, void* closure, int64_t n);
  void* pool;
  int32_t threads;
} tenon_runtime;

#endif /* TENON_RUNTIME_TYPES */

typedef void (*tenon_kernel)(void* const* params, void* workspace, const tenon_runtime* rt);

/* The pool that comes with tenon: threads - 1 workers pinned to CPUs of the caller's affinity mask
 * (one per physical core first, near ones before far ones, none that another thread of this process is
 * pinned to), which spin briefly and then sleep. The calling thread works too and is never moved.
 * threads >= 1; NULL when threads cannot be started.
 * [0, n) is cut into one contiguous share per thread, the same in every loop of that length, and a share
 * into pieces: a thread that is done takes pieces of those that are late. A body is called with a range of
 * whole pieces.
 * Up to four threads may call at once, or from inside of a body, and share the workers; one more runs all
 * of [0, n) itself. No more threads run than there are CPUs; where there are none for this pool alone it
 * pins nothing and spins less. A body must not throw:
 * the process would end. In a child of fork(), which has no workers, it runs everything on the calling
 * thread and can be destroyed: the child creates its own. */
const tenon_runtime* tenon_runtime_create(int32_t threads);
void tenon_runtime_destroy(const tenon_runtime* rt);

#ifdef __cplusplus
}
#endif
#endif
