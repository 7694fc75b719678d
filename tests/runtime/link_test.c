/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "tenon/runtime.h"

static void add_one(void* closure, int64_t begin, int64_t end) {
  int* values = closure;
  for (int64_t i = begin; i < end; ++i) {
    values[i] += 1;
  }
}

int main(void) {
  int values[100] = {0};
  const tenon_runtime* rt = tenon_runtime_create(2);
  if (rt == NULL) {
    return 1;
  }
  rt->parallel(rt, add_one, values, 100);
  tenon_runtime_destroy(rt);
  for (int i = 0; i < 100; ++i) {
    if (values[i] != 1) {
      printf("element %d was visited %d times\n", i, values[i]);
      return 1;
    }
  }
  return 0;
}
