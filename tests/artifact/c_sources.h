// SPDX-License-Identifier: Apache-2.0
// C programs that use libraries which the tests write.
#pragma once

namespace tenon::artifact {

// Two models of equal answers on one pool, run at once.
inline constexpr const char* kModelsOnOnePool = R"(
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <net.h>
#include <other.h>
static void* net_answer;
static void* run_net(void* ctx) {
  const void* in[] = {calloc(1, net_input(0)->bytes)};
  void* out[] = {net_answer};
  for (int i = 0; i < 300; ++i) {
    if (net_run(ctx, in, out) != 0) return NULL;
  }
  free((void*)in[0]);
  return NULL;
}
int main(void) {
  const char* why = "";
  const tenon_runtime* pool = net_runtime_create(3, &why);
  net_options a = {sizeof a};
  other_options b = {sizeof b};
  a.runtime = pool;
  b.runtime = pool;
  net_ctx* net = net_create_with(&a, &why);
  other_ctx* other = other_create_with(&b, &why);
  if (net == NULL || other == NULL) { puts(why); return 1; }
  const size_t bytes = net_output(0)->bytes;
  net_answer = calloc(1, bytes);
  pthread_t thread;
  pthread_create(&thread, NULL, run_net, net);
  const void* in[] = {calloc(1, other_input(0)->bytes)};
  void* out[] = {calloc(1, bytes)};
  for (int i = 0; i < 300; ++i) {
    if (other_run(other, in, out) != 0) return 1;
  }
  pthread_join(thread, NULL);
  const int equal = memcmp(net_answer, out[0], bytes) == 0;
  printf("%s on %d threads\n", equal ? "equal" : "different", (int)other_threads(other));
  other_destroy(other);
  net_destroy(net);
  net_runtime_destroy(pool);
  free(net_answer);
  free((void*)in[0]);
  free(out[0]);
  return 0;
}
)";

// Brings its own threads, at first without what they need.
inline constexpr const char* kOwnThreads = R"(
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <net.h>
static int loops;
static void in_turn(const tenon_runtime* rt, tenon_body body, void* closure, int64_t n) {
  ++loops;
  for (int64_t i = 0; i < n; ++i) body(closure, i, i + 1);
  (void)rt;
}
static void* answer_of(net_ctx* ctx) {
  const void* in[] = {calloc(1, net_input(0)->bytes)};
  void* out[] = {calloc(1, net_output(0)->bytes)};
  memset((void*)in[0], 1, net_input(0)->bytes);
  if (ctx == NULL || net_run(ctx, in, out) != 0) exit(1);
  free((void*)in[0]);
  net_destroy(ctx);
  return out[0];
}
int main(void) {
  const char* why = "";
  tenon_runtime mine;
  memset(&mine, 0, sizeof mine);
  net_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.runtime = &mine;
  if (net_create_with(&options, &why) != NULL) return 1;
  puts(why);
  mine.parallel = in_turn;
  if (net_create_with(&options, &why) != NULL) return 1;
  puts(why);
  mine.threads = 2;
  void* given = answer_of(net_create_with(&options, &why));
  void* own = answer_of(net_create(2, &why));
  const int equal = memcmp(given, own, net_output(0)->bytes) == 0;
  printf("%s, %s\n", equal ? "equal" : "different", loops > 0 ? "by loops in turn" : "by nobody");
  free(given);
  free(own);
  return 0;
}
)";

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

// Forks many times with workers awake and asleep. The child's run must answer 3, its destroy return, and a context of
// its own give the parent's numbers.
inline constexpr const char* kForks = R"(
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <net.h>
static float in[51], out[87], again[87];
static int run(net_ctx* ctx, float* to) {
  const void* inputs[] = {in};
  void* outputs[] = {to};
  return net_run(ctx, inputs, outputs);
}
static int child(net_ctx* parents) {
  const char* why = "";
  alarm(20);
  if (run(parents, again) != 3) return 1;
  net_destroy(parents);
  net_ctx* own = net_create(2, &why);
  if (!own || run(own, again) != 0) return 2;
  net_destroy(own);
  return memcmp(out, again, sizeof out) == 0 ? 0 : 3;
}
int main(void) {
  const char* why = "";
  for (int i = 0; i < 51; ++i) in[i] = (float)i / 51;
  for (int round = 0; round < 200; ++round) {
    net_ctx* ctx = net_create(1 + round % 4, &why);
    int status = 0;
    if (!ctx) { puts(why); return 1; }
    if (run(ctx, out) != 0) return 2;
    if (round % 3 == 0) usleep(500);
    const pid_t pid = fork();
    if (pid == 0) _exit(child(ctx));
    if (waitpid(pid, &status, 0) != pid || status != 0) {
      printf("round %d: status %x\n", round, status);
      return 3;
    }
    if (run(ctx, again) != 0 || memcmp(out, again, sizeof out) != 0) return 4;
    net_destroy(ctx);
  }
  puts(net_error(3));
  return 0;
}
)";

// Two threads use one context: each run is right or refused.
inline constexpr const char* kShareContext = R"(
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <net.h>
static net_ctx* ctx;
static float in[2][51], expected[2][87];
static int refused[2], wrong[2];
static void* work(void* argument) {
  const int me = *(int*)argument;
  float out[87];
  for (int i = 0; i < 20000; ++i) {
    const void* inputs[] = {in[me]};
    void* outputs[] = {out};
    const int code = net_run(ctx, inputs, outputs);
    refused[me] += code == 2;
    wrong[me] += code != 2 && (code != 0 || memcmp(out, expected[me], sizeof out) != 0);
  }
  return NULL;
}
int main(void) {
  const char* why = "";
  int names[] = {0, 1};
  pthread_t other;
  ctx = net_create(2, &why);
  if (!ctx) { puts(why); return 1; }
  for (int i = 0; i < 51; ++i) { in[0][i] = (float)i / 51; in[1][i] = 1 - in[0][i]; }
  for (int k = 0; k < 2; ++k) {
    const void* inputs[] = {in[k]};
    void* outputs[] = {expected[k]};
    if (net_run(ctx, inputs, outputs) != 0) return 2;
  }
  if (pthread_create(&other, NULL, work, &names[1]) != 0) return 3;
  work(&names[0]);
  pthread_join(other, NULL);
  printf("%d refused: %s\n", refused[0] + refused[1], net_error(2));
  if (net_refused(ctx) != refused[0] + refused[1]) return 4;
  net_destroy(ctx);
  return wrong[0] + wrong[1];
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
