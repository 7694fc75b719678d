/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that misbehave, one per library: FAULT is its number. Parameters are those of a 16 x 16 x 16 matmul. */
#include <stdlib.h>
#include <string.h>

#include "tenon/runtime.h"

enum { kBytes = 16 * 16 * 4 };

void tenon_candidate(void* const* params, void* workspace, const tenon_runtime* rt) {
  (void)workspace;
  (void)rt;
  char* out = (char*)params[2];
  volatile char* nowhere = 0;
#if FAULT == 0 /* spin */
  for (;;) out[0]++;
#elif FAULT == 1 /* crash */
  *(nowhere + (size_t)out % 2) = 1;
#elif FAULT == 2 /* just behind the end */
  memset(out, 0, kBytes + 4);
#elif FAULT == 3 /* far before the begin */
  memset(out - 8192, 0, 4);
#elif FAULT == 4 /* garbage */
  memset(out, 1, kBytes);
#elif FAULT == 5 /* nothing at all */
  (void)out;
#elif FAULT == 6 /* leaves */
  exit(0);
#elif FAULT == 7 /* an input, where it may not write */
  memset(params[0], 0, 4);
#endif
  (void)nowhere;
}
