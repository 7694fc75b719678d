// SPDX-License-Identifier: Apache-2.0
#include "timing/ceilings.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tenon::timing {
namespace {

constexpr int64_t kAccumulators = 12;
constexpr int64_t kFmaSteps = 40000;

// 12 accumulators hide the latency of two FMA pipes (5 cycles at most) and fit 16 registers.
template <class V>
[[gnu::always_inline]] inline float fma_loop(int64_t steps) {
  V acc[kAccumulators];
  V factor = V{} + 0.999F;
  V term = V{} + 0.001F;
  __asm__ volatile("" : "+m"(factor), "+m"(term));  // unknown to the optimiser
  for (int64_t i = 0; i < kAccumulators; ++i) {
    acc[i] = V{} + static_cast<float>(i);
  }
  for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 16
    for (int64_t i = 0; i < kAccumulators; ++i) {
      acc[i] = acc[i] * factor + term;
    }
  }
  for (int64_t i = 1; i < kAccumulators; ++i) {
    acc[0] += acc[i];
  }
  return acc[0][0];
}

template <class V>
[[gnu::always_inline]] inline void triad_loop(float* a, const float* b, const float* c, int64_t n) {
  constexpr int64_t kLanes = sizeof(V) / sizeof(float);
  const V scale = V{} + 1.5F;
  for (int64_t i = 0; i < n; i += kLanes) {
    *reinterpret_cast<V*>(a + i) =
        *reinterpret_cast<const V*>(b + i) + scale * *reinterpret_cast<const V*>(c + i);
  }
}

// Eight sums hide the latency of an addition. n is a multiple of kBlock.
template <class V>
[[gnu::always_inline]] inline float sum_loop(const float* a, int64_t n) {
  constexpr int64_t kLanes = sizeof(V) / sizeof(float);
  constexpr int64_t kSums = 8;
  V sums[kSums] = {};
  for (int64_t i = 0; i < n; i += kSums * kLanes) {
#pragma GCC unroll 8
    for (int64_t k = 0; k < kSums; ++k) {
      sums[k] += *reinterpret_cast<const V*>(a + i + k * kLanes);
    }
  }
  for (int64_t k = 1; k < kSums; ++k) {
    sums[0] += sums[k];
  }
  return sums[0][0];
}

typedef float V4 [[gnu::vector_size(16), gnu::may_alias]];
typedef float V8 [[gnu::vector_size(32), gnu::may_alias]];
typedef float V16 [[gnu::vector_size(64), gnu::may_alias]];

struct Isa {
  const char* name;
  int64_t lanes;
  float (*fma)(int64_t steps);
  void (*triad)(float*, const float*, const float*, int64_t);
  float (*sum)(const float*, int64_t);
};

float fma_128(int64_t steps) { return fma_loop<V4>(steps); }
void triad_128(float* a, const float* b, const float* c, int64_t n) { triad_loop<V4>(a, b, c, n); }
float sum_128(const float* a, int64_t n) { return sum_loop<V4>(a, n); }

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] float fma_256(int64_t steps) { return fma_loop<V8>(steps); }
[[gnu::target("avx2,fma")]] void triad_256(float* a, const float* b, const float* c, int64_t n) {
  triad_loop<V8>(a, b, c, n);
}
[[gnu::target("avx2,fma")]] float sum_256(const float* a, int64_t n) { return sum_loop<V8>(a, n); }
[[gnu::target("avx512f,fma")]] float fma_512(int64_t steps) { return fma_loop<V16>(steps); }
[[gnu::target("avx512f,fma")]] void triad_512(float* a, const float* b, const float* c, int64_t n) {
  triad_loop<V16>(a, b, c, n);
}
[[gnu::target("avx512f,fma")]] float sum_512(const float* a, int64_t n) {
  return sum_loop<V16>(a, n);
}

Isa best_isa() {
  if (__builtin_cpu_supports("avx512f") != 0) {
    return {"AVX-512", 16, fma_512, triad_512, sum_512};
  }
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    return {"AVX2", 8, fma_256, triad_256, sum_256};
  }
  return {"SSE", 4, fma_128, triad_128, sum_128};
}
#else
Isa best_isa() { return {"128-bit vectors", 4, fma_128, triad_128, sum_128}; }
#endif

struct FmaJob {
  Isa isa;
  std::vector<float> sinks;  // 16 apart: one cache line per thread
};

void fma_body(void* closure, int64_t begin, int64_t end) {
  FmaJob& job = *static_cast<FmaJob*>(closure);
  for (int64_t i = begin; i < end; ++i) {
    job.sinks[static_cast<size_t>(i) * 16] = job.isa.fma(kFmaSteps);
  }
}

constexpr int64_t kBlock = 256;  // floats; a multiple of every vector

struct TriadJob {
  Isa isa;
  int64_t blocks;
  float* arrays;  // a, b, c in a row
};

void triad_body(void* closure, int64_t begin, int64_t end) {
  const TriadJob& job = *static_cast<TriadJob*>(closure);
  const int64_t n = job.blocks * kBlock;
  float* a = job.arrays + begin * kBlock;
  job.isa.triad(a, a + n, a + 2 * n, (end - begin) * kBlock);
}

struct ReadJob {
  Isa isa;
  const float* array;
  std::vector<float> sinks;
};

void read_body(void* closure, int64_t begin, int64_t end) {
  ReadJob& job = *static_cast<ReadJob*>(closure);
  const float sum = job.isa.sum(job.array + begin * kBlock, (end - begin) * kBlock);
  if (sum == -1.0F) {  // never, but the compiler does not know
    job.sinks[0] = sum;
  }
}

// `floats` ones that begin on a cache line, kept alive by the returned owner.
std::pair<std::shared_ptr<std::vector<float>>, float*> aligned_ones(int64_t floats) {
  auto storage = std::make_shared<std::vector<float>>(static_cast<size_t>(floats) + 16, 1.0F);
  const auto address = reinterpret_cast<uintptr_t>(storage->data());
  return {storage, reinterpret_cast<float*>((address + 63) / 64 * 64)};
}

}  // namespace

Ceiling fma_ceiling(const tenon_runtime* rt) {
  auto job = std::make_shared<FmaJob>(FmaJob{best_isa(), {}});
  job->sinks.resize(static_cast<size_t>(rt->threads) * 16);
  const double flops =
      2.0 * kAccumulators * kFmaSteps * static_cast<double>(job->isa.lanes) * rt->threads;
  return {{.name = "fma peak",
           .run = [rt, job] { rt->parallel(rt, fma_body, job.get(), rt->threads); }},
          flops};
}

Ceiling triad_ceiling(const tenon_runtime* rt, int64_t bytes) {
  const int64_t block_bytes = kBlock * static_cast<int64_t>(sizeof(float));
  const int64_t blocks = std::max<int64_t>(rt->threads, bytes / 3 / block_bytes);
  const int64_t floats = 3 * blocks * kBlock;
  const auto [storage, aligned] = aligned_ones(floats);
  auto job = std::make_shared<TriadJob>(TriadJob{best_isa(), blocks, aligned});
  return {
      {.name = "triad",
       .run = [rt, job, kept = storage] { rt->parallel(rt, triad_body, job.get(), job->blocks); }},
      static_cast<double>(floats) * sizeof(float)};
}

Ceiling read_ceiling(const tenon_runtime* rt, int64_t bytes) {
  const int64_t block_bytes = kBlock * static_cast<int64_t>(sizeof(float));
  const int64_t blocks = std::max<int64_t>(rt->threads, bytes / block_bytes);
  const auto [storage, aligned] = aligned_ones(blocks * kBlock);
  auto job = std::make_shared<ReadJob>(ReadJob{best_isa(), aligned, {0.0F}});
  return {{.name = "read",
           .run = [rt, job, blocks,
                   kept = storage] { rt->parallel(rt, read_body, job.get(), blocks); }},
          static_cast<double>(blocks * block_bytes)};
}

std::string vector_text() { return best_isa().name; }

}  // namespace tenon::timing
