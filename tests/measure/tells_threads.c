/* SPDX-License-Identifier: Apache-2.0 */
/* Writes how many threads it was given to each element of a 16 x 16 result; the other parameters are a matmul's. */
#include "tenon/runtime.h"

void tenon_candidate(void* const* params, void* workspace, const tenon_runtime* rt) {
  (void)workspace;
  float* out = (float*)params[2];
  for (int i = 0; i < 16 * 16; ++i) out[i] = (float)rt->threads;
}
