/* SPDX-License-Identifier: Apache-2.0 */
/* tenon_model: a model compiled to native code by tenon.
 *
 *   const char* why;
 *   tenon_model_ctx* ctx = tenon_model_create(0, &why);      // 0: a thread per core
 *   if (!ctx) { fprintf(stderr, "%s\n", why); exit(1); }
 *   const void* inputs[] = {...};
 *   void* outputs[] = {...};
 *   tenon_model_run(ctx, inputs, outputs);
 *   tenon_model_destroy(ctx);
 *
 * Tensors are dense and row-major, in the order of the tables below.
 * A context serves one thread at a time; different contexts run at once from different threads. They
 * share the weights' memory. Nothing is allocated after creation.
 * Link with the shared library, or with the static one and -lm -lpthread.
 */
#ifndef TENON_MODEL_H
#define TENON_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "tenon/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tenon_model_ctx tenon_model_ctx;

typedef struct tenon_model_tensor {
  const char* name;  /* as in the model */
  const char* dtype; /* "f32", "i64", "u8", "bool", ... */
  int32_t rank;
  const int64_t* shape; /* `rank` extents */
  size_t bytes;
} tenon_model_tensor;

/* All zero: the defaults. */
typedef struct tenon_model_options {
  /* 0: one per physical core that the calling thread may use. Workers are pinned to CPUs of the
   * calling thread's affinity mask: set that mask first to choose the CPUs. */
  int32_t threads;
  /* NULL: the file that was written with the library, in the folder of the library (of the program
   * when linked statically). */
  const char* weights_path;
  /* Instead of a path: that file's bytes in memory, aligned to 64 bytes, which outlive the context. */
  const void* weights;
  size_t weights_bytes;
  /* The caller's own threads, which outlive the context; `threads` is then ignored. */
  const tenon_runtime* runtime;
  /* tenon_model_workspace_bytes() bytes, aligned to 64, which outlive the context; NULL: allocated. */
  void* workspace;
} tenon_model_options;

/* NULL if it cannot be done; `*why` (unless why is NULL) then is a sentence for people, which stays
 * valid until 16 more calls have failed. */
tenon_model_ctx* tenon_model_create(int32_t threads, const char** why);
tenon_model_ctx* tenon_model_create_with(const tenon_model_options* options, const char** why);
void tenon_model_destroy(tenon_model_ctx* ctx); /* NULL is ignored */

/* 0: done. 1: a pointer is NULL though its tensor has bytes; nothing was written.
 * Pointers may have any alignment; those that are multiples of 64 are used in place, others are copied
 * from and to memory of the context. An output may lie in the memory of an input. */
int tenon_model_run(tenon_model_ctx* ctx, const void* const* inputs, void* const* outputs);

int32_t tenon_model_input_count(void);
int32_t tenon_model_output_count(void);
const tenon_model_tensor* tenon_model_input(int32_t i); /* NULL: there is no such one */
const tenon_model_tensor* tenon_model_output(int32_t i);
size_t tenon_model_workspace_bytes(void); /* memory that a context works in, weights left out */
int32_t tenon_model_threads(const tenon_model_ctx* ctx);

/* For profiling: called before (after = 0) and after (after = 1) each step of a run. NULL: no more. */
typedef void (*tenon_model_hook)(void* user, int32_t step, int32_t after);
void tenon_model_set_hook(tenon_model_ctx* ctx, tenon_model_hook hook, void* user);
int32_t tenon_model_step_count(void);
const char* tenon_model_step_name(int32_t step); /* NULL: there is no such one */

/* JSON: tensors, steps, what the CPU must have, hashes, licences. */
const char* tenon_model_manifest(void);

#ifdef __cplusplus
}
#endif
#endif
