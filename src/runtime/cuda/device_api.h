/* SPDX-License-Identifier: Apache-2.0 */
/* What libraries for GPUs have besides model_api.h; their header carries what is between the two marks. */
#ifndef TENON_MODEL_DEVICE_H
#define TENON_MODEL_DEVICE_H

#include "runtime/model_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* begin */
/* This library runs on an NVIDIA GPU and needs its driver (libcuda.so.1), nothing else of CUDA. A context is made on the
 * card `device` of its options. `threads`, `runtime` and `workspace` of the options mean nothing here: a context works in
 * memory of the card, and tenon_model_workspace_bytes() says how much. The weights are uploaded once per process
 * and card.
 * tenon_model_run copies inputs to the card and outputs back, and returns when they are there. A hook makes it run
 * step by step, each waited for.
 *
 * More answers of run and run_device:
 * 4: a pointer to device memory is no multiple of 256; nothing was run.
 * 5: the driver refused; tenon_model_driver_error says why. The context can be used again.
 * 6: a kernel failed, or the card is lost: what this process has on the card cannot be used any more. */

/* Runs on memory of the card: a device address per input and per output, multiples of 256, apart from each other. `stream`
 * is a CUstream (or cudaStream_t) of the primary context of the context's card; NULL is the default stream.
 * Returns at once: outputs are there when the stream has got so far, and a failure of a kernel shows there.
 * Runs of one context follow one after the other, on whichever streams they are. */
int tenon_model_run_device(tenon_model_ctx* ctx, const uint64_t* inputs, const uint64_t* outputs,
                           void* stream);

int32_t tenon_model_device(const tenon_model_ctx* ctx); /* number of its card; -1 for NULL */

/* What the driver said when a run of this context last answered 5 or 6; "" if none did. */
const char* tenon_model_driver_error(const tenon_model_ctx* ctx);
/* end */

#ifdef __cplusplus
}
#endif
#endif
