// SPDX-License-Identifier: Apache-2.0
// C programs that use libraries which the tests write.
#pragma once

namespace tenon::artifact {

// Counts allocations during runs: none may happen.
inline constexpr const char* kCountAllocations = R"(
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <net.h>
static volatile int count;
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
void* malloc(size_t n) { __atomic_fetch_add(&count, 1, 5); return __libc_malloc(n); }
void* calloc(size_t n, size_t m) { __atomic_fetch_add(&count, 1, 5); return __libc_calloc(n, m); }
void* realloc(void* p, size_t n) { __atomic_fetch_add(&count, 1, 5); return __libc_realloc(p, n); }
int posix_memalign(void** p, size_t a, size_t n) {
  __atomic_fetch_add(&count, 1, 5);
  *p = __libc_memalign(a, n);
  return *p == NULL;
}
void* mmap(void* at, size_t n, int protect, int flags, int file, off_t offset) {
  __atomic_fetch_add(&count, 1, 5);
  return (void*)syscall(SYS_mmap, at, n, protect, flags, file, offset);
}
int main(void) {
  const char* why = "";
  net_ctx* ctx = net_create(2, &why);
  if (!ctx) { puts(why); return 1; }
  static char in[1 << 16], out[1 << 16];
  const int created = count;
  if (created == 0) return 2;
  for (int i = 0; i < 100; ++i) {
    const void* inputs[] = {in + i % 3};
    void* outputs[] = {out + i % 2};
    if (net_run(ctx, inputs, outputs) != 0) return 3;
  }
  const int after = count;
  net_destroy(ctx);
  return after == created ? 0 : 4;
}
)";

// Two models in one program.
inline constexpr const char* kTwoModels = R"(
#include <stdio.h>
#include <one.h>
#include <two.h>
int main(void) {
  const char* why = "";
  static float in[51], a[87], b[87];
  one_ctx* one = one_create(2, &why);
  two_ctx* two = two_create(1, &why);
  if (!one || !two) { puts(why); return 1; }
  for (int i = 0; i < 51; ++i) in[i] = (float)i / 51;
  const void* inputs[] = {in};
  void* outputs[] = {a};
  if (one_run(one, inputs, outputs) != 0) return 2;
  outputs[0] = b;
  if (two_run(two, inputs, outputs) != 0) return 3;
  for (int i = 0; i < 87; ++i) printf("%.6f %.6f\n", (double)a[i], (double)b[i]);
  one_destroy(one);
  two_destroy(two);
  return 0;
}
)";

}  // namespace tenon::artifact
