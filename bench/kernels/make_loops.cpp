// SPDX-License-Identifier: Apache-2.0
// Plain loops as a careful person writes them for the compiler's vectoriser, for what the libraries
// lack. Built with -O3 -march=native.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "bench/kernels/sources.h"

namespace tenon::bench {
namespace {

template <class F>
void parallel(const tenon_runtime* rt, int64_t n, F body) {
  rt->parallel(
      rt, [](void* f, int64_t begin, int64_t end) { (*static_cast<F*>(f))(begin, end); }, &body, n);
}

float* poisoned(std::vector<float>& out, size_t count) {
  out.assign(count, std::numeric_limits<float>::quiet_NaN());
  return out.data();
}

// Many partial sums: the order of a plain sum would keep it scalar, and few would wait for each
// addition.
float sum_of_squares(const float* x, int64_t count) {
  constexpr int64_t kPartial = 128;
  float partial[kPartial] = {};
  const int64_t whole = count / kPartial * kPartial;
  for (int64_t i = 0; i < whole; i += kPartial) {
    for (int64_t j = 0; j < kPartial; ++j) {
      partial[j] += x[i + j] * x[i + j];
    }
  }
  float sum = 0;
  for (int64_t i = whole; i < count; ++i) {
    sum += x[i] * x[i];
  }
  for (const float p : partial) {
    sum += p;
  }
  return sum;
}

timing::Contestant norm2(const Workload& w, const Data& data, const tenon_runtime* rt) {
  const float* x = data.inputs[0].values.data();
  auto out = std::make_shared<std::vector<float>>();
  poisoned(*out, 1);
  return {.name = "loops",
          .run =
              [=] {
                constexpr int64_t kLine = 16;
                std::vector<float> sums(static_cast<size_t>(rt->threads * kLine), 0.0F);
                const int64_t chunk = (w.m + rt->threads - 1) / rt->threads;
                parallel(rt, rt->threads, [&](int64_t begin, int64_t end) {
                  for (int64_t t = begin; t < end; ++t) {
                    const int64_t first = std::min(w.m, t * chunk);
                    const int64_t rows = std::min(w.m, first + chunk) - first;
                    sums[static_cast<size_t>(t * kLine)] =
                        sum_of_squares(x + first * w.n, rows * w.n);
                  }
                });
                float sum = 0;
                for (const float s : sums) {
                  sum += s;
                }
                (*out)[0] = std::sqrt(sum);
              },
          .output = [out] { return *out; }};
}

timing::Contestant add_relu(const Workload& w, const Data& data, const tenon_runtime* rt) {
  const float* a = data.inputs[0].values.data();
  const float* b = data.inputs[1].values.data();
  auto out = std::make_shared<std::vector<float>>();
  float* c = poisoned(*out, static_cast<size_t>(w.m * w.n));
  return {.name = "loops",
          .run =
              [=] {
                parallel(rt, w.m * w.n, [=](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    c[i] = std::max(a[i] + b[i], 0.0F);
                  }
                });
              },
          .output = [out] { return *out; }};
}

}  // namespace

std::vector<timing::Contestant> make_loops(const Workload& w, const Data& data,
                                           const tenon_runtime* rt) {
  switch (w.kind) {
    case Kind::kNorm2:
      return {norm2(w, data, rt)};
    case Kind::kAddRelu:
      return {add_relu(w, data, rt)};
    default:
      return {};
  }
}

}  // namespace tenon::bench
