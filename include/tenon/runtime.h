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
   * when all are done. Called from one thread at a time per tenon_runtime. */
  void (*parallel)(const struct tenon_runtime* rt, tenon_body body, void* closure, int64_t n);
  void* pool;
  int32_t threads;
} tenon_runtime;

#endif /* TENON_RUNTIME_TYPES */

typedef void (*tenon_kernel)(void* const* params, void* workspace, const tenon_runtime* rt);

/* The pool that comes with tenon: threads - 1 workers pinned to CPUs of the caller's affinity mask
 * (one per physical core first), which spin briefly and then sleep. The calling thread takes the
 * first share and is never moved. threads >= 1; NULL when threads cannot be started.
 * [0, n) is cut into one contiguous range per thread, fewer when n < threads; the caller also runs
 * the range of a worker that has not woken up by the time the caller is done.
 * A call made inside a body, or while another thread's call is running, runs all of [0, n) on its
 * own thread. More threads than CPUs work, unpinned and without spinning. A body must not throw:
 * the process would end. In a child of fork(), which has no workers, it runs everything on the calling
 * thread and can be destroyed: the child creates its own. */
const tenon_runtime* tenon_runtime_create(int32_t threads);
void tenon_runtime_destroy(const tenon_runtime* rt);

#ifdef __cplusplus
}
#endif
#endif
