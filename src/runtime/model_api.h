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
 * One context per thread: a run of a context that is running already is refused. Different contexts run at
 * once from different threads; they share the weights' memory. Nothing is allocated after creation.
 * A context belongs to the process that created it: a child of fork() creates its own.
 * Indices that are computed while the model runs are not checked: one outside of what it reads means the nearest place
 * inside, and what would be written outside is left out.
 * Sizes that were left open are set on the context (tenon_model_set_shape); at first they are the largest.
 * The weights file is mapped: replace it by renaming a new file over it, never write to it in place.
 * Link with the shared library, or with the static one and -lm -lpthread.
 */
#ifndef TENON_MODEL_H
#define TENON_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "tenon/runtime.h"

/* Of the functions below; a library says its own with tenon_model_interface(). */
#define TENON_MODEL_INTERFACE 4

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tenon_model_ctx tenon_model_ctx;

typedef struct tenon_model_tensor {
  const char* name;  /* as in the model */
  const char* dtype; /* "f32", "i64", "u8", "bool", ... */
  int32_t rank;
  const int64_t* shape; /* `rank` extents; of sizes that are open, the largest */
  size_t bytes;
  /* Of inputs, `rank` numbers: which open dimension an axis has, -1: its size is fixed, or computed of sizes of others
   * (past + 1). NULL: all are. */
  const int32_t* dims;
} tenon_model_tensor;

/* A dimension whose size is known when the model runs only. */
typedef struct tenon_model_dim {
  const char* name;
  const int64_t* values; /* `count` sizes that it may have, ascending */
  int64_t count;
} tenon_model_dim;

/* All zero but the size: the defaults. Later versions add fields at the end, which are zero in a program that does not
 * know them. */
typedef struct tenon_model_options {
  size_t size; /* sizeof(tenon_model_options) */
  /* 0: one per physical core that the calling thread may use. Workers are pinned to CPUs of the
   * calling thread's affinity mask: set that mask first to choose the CPUs. */
  int32_t threads;
  /* NULL: the file that was written with the library, in the folder of the library (of the program
   * when linked statically). */
  const char* weights_path;
  /* Instead of a path: that file's bytes in memory, aligned to 64 bytes, which outlive the context. */
  const void* weights;
  size_t weights_bytes;
  /* The caller's own threads, or those of tenon_model_runtime_create, which outlive the context; `threads` is
   * then ignored. */
  const tenon_runtime* runtime;
  /* tenon_model_workspace_bytes() bytes, aligned to 64, which outlive the context; NULL: allocated. */
  void* workspace;
  /* 0: all weights are read once and compared with their checksum. 1: only their size and hash as written
   * in the file are, which saves that time. */
  int32_t trust_weights;
  /* Which card, as the CUDA driver counts them; only libraries for GPUs look at it. */
  int32_t device;
} tenon_model_options;

/* NULL if it cannot be done; `*why` (unless why is NULL) then is a sentence for people, which stays
 * valid until 16 more calls have failed. */
tenon_model_ctx* tenon_model_create(int32_t threads, const char** why);
tenon_model_ctx* tenon_model_create_with(const tenon_model_options* options, const char** why);

/* Threads for several contexts, of this model and of others: give them as `runtime` in the options. Contexts
 * that run at once share the threads. 0: one per physical core that the calling thread may use. NULL if
 * they cannot be started. They are destroyed after the contexts that use them, while this library is loaded. */
const tenon_runtime* tenon_model_runtime_create(int32_t threads, const char** why);
void tenon_model_runtime_destroy(const tenon_runtime* runtime); /* NULL is ignored */

/* NULL is ignored. Not while a run goes on; in a child of fork() it is safe. */
void tenon_model_destroy(tenon_model_ctx* ctx);

/* 0: done. Otherwise nothing was run or written:
 * 1: the context is NULL, or a pointer is though its tensor has bytes.
 * 2: the context is running on another thread (or in the hook that calls this): one context per thread.
 * 3: this process is a child of fork() and the context is its parent's: create the context after fork.
 * 9: an input was set to a shape with a computed axis (past + 1) that does not have this size now: set it again.
 * Pointers may have any alignment; those that are multiples of 64 are used in place, others are copied
 * from and to memory of the context. An output may lie in the memory of an input. */
int tenon_model_run(tenon_model_ctx* ctx, const void* const* inputs, void* const* outputs);

/* Sets the sizes that an input shows, for the runs that follow: of every tensor that has the same open
 * dimensions. 0: done. 7: refused, nothing has changed, and `*why` (unless why is NULL) is a sentence as of
 * create. 1, 2, 3: as run. Nothing is allocated: a context has memory for the largest sizes. A computed axis sets no
 * size; before the run the dimensions have to be set that it is computed of. */
int tenon_model_set_shape(tenon_model_ctx* ctx, int32_t input, const int64_t* shape, int32_t rank,
                          const char** why);
/* Tensors as the next run takes and gives them, until sizes are set again. NULL: there is no such one. */
const tenon_model_tensor* tenon_model_input_now(const tenon_model_ctx* ctx, int32_t i);
const tenon_model_tensor* tenon_model_output_now(const tenon_model_ctx* ctx, int32_t i);
/* An output as the last run gave it: where a loop decides while it runs how many rows there are, these, and
 * output_now says how many there may be. Before the first run, and of all others, the same as output_now. */
const tenon_model_tensor* tenon_model_output_given(const tenon_model_ctx* ctx, int32_t i);
int32_t tenon_model_dim_count(void); /* 0: every size is fixed */
const tenon_model_dim* tenon_model_dimension(int32_t i);

const char* tenon_model_error(int code); /* what a code means, as a sentence */
int64_t tenon_model_refused(
    const tenon_model_ctx* ctx); /* runs answered with 2 since its creation */

int32_t tenon_model_interface(void); /* TENON_MODEL_INTERFACE of the library */
const char* tenon_model_version(
    void); /* of tenon that made it, and of that interface: "tenon 0.1.0, interface 4" */
/* Which of its targets the library runs: the best that this CPU has, chosen when it was loaded. */
const char* tenon_model_target(void);
/* Runs another of its targets from now on, such as "x86-64-v2", while there is no context. 0: done. 8: refused, and `*why`
 * (unless why is NULL) is a sentence as of create. */
int tenon_model_use_target(const char* target, const char** why);
int32_t tenon_model_input_count(void);
int32_t tenon_model_output_count(void);
const tenon_model_tensor* tenon_model_input(int32_t i); /* NULL: there is no such one */
const tenon_model_tensor* tenon_model_output(int32_t i);
size_t tenon_model_workspace_bytes(void); /* memory that a context works in, weights left out */
size_t tenon_model_weights_bytes(
    void); /* of the weights file; 0: there is none, or it is inside the library */
int32_t tenon_model_threads(const tenon_model_ctx* ctx); /* 0 for NULL */

/* For profiling: called before (after = 0) and after (after = 1) each step of a run. NULL: no more.
 * To be set between runs. */
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
