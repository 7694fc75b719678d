// SPDX-License-Identifier: Apache-2.0
// Throughput of each function of vector_math on data that stays in the first-level cache, best of many
// runs: elements per nanosecond, one core. Usage: bench_vector_math [lanes-of-float, default 16]
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "backend/llvm/vector_math/probe.h"

namespace tenon::backend::llvm_cpu {
namespace {

using ir::Intrinsic;

struct Row {
  const char* name;
  Intrinsic fn;
  bool gelu = false;
  double from = -3, to = 3;
  bool silu = false;
};

constexpr Row kRows[] = {
    {"exp", Intrinsic::kExp, false, -20, 0},
    {"gelu", Intrinsic::kErf, true},
    {"silu", Intrinsic::kSigmoid, false, -3, 3, true},
    {"erf", Intrinsic::kErf},
    {"tanh", Intrinsic::kTanh},
    {"sigmoid", Intrinsic::kSigmoid},
    {"log", Intrinsic::kLog, false, 0.1, 10},
    {"pow", Intrinsic::kPow, false, 0.1, 10},
    {"sin", Intrinsic::kSin, false, -100, 100},
    {"cos", Intrinsic::kCos, false, -100, 100},
    {"tan", Intrinsic::kTan},
    {"asin", Intrinsic::kAsin, false, -1, 1},
    {"acos", Intrinsic::kAcos, false, -1, 1},
    {"atan", Intrinsic::kAtan},
    {"sinh", Intrinsic::kSinh},
    {"cosh", Intrinsic::kCosh},
    {"asinh", Intrinsic::kAsinh},
    {"acosh", Intrinsic::kAcosh, false, 1, 10},
    {"atanh", Intrinsic::kAtanh, false, -1, 1},
    {"sqrt", Intrinsic::kSqrt, false, 0, 10},
    {"rsqrt", Intrinsic::kRsqrt, false, 0.1, 10},
};

template <class T>
double elements_per_ns(const Row& row, int lanes) {
  ProbeSpec spec;
  spec.fn = row.fn;
  spec.f64 = sizeof(T) == 8;
  spec.lanes = lanes;
  spec.has_fma = true;
  spec.has_scale = lanes * static_cast<int>(sizeof(T)) > 32;
  spec.gelu = row.gelu;
  spec.silu = row.silu;
  spec.cpu = lanes * static_cast<int>(sizeof(T)) > 32 ? "x86-64-v4" : "x86-64-v3";
  const Probe probe(spec);
  constexpr size_t kElements = 1536;
  std::mt19937 rng(1);
  std::uniform_real_distribution<double> value(row.from, row.to);
  std::vector<T> x(kElements), y(kElements), out(kElements);
  for (size_t i = 0; i < kElements; ++i) {
    x[i] = static_cast<T>(value(rng));
    y[i] = static_cast<T>(value(rng));
  }
  const auto n = static_cast<int64_t>(kElements) / lanes;
  double best = 1e9;
  for (int round = 0; round < 60; ++round) {
    constexpr int kRepeats = 100;
    const auto start = std::chrono::steady_clock::now();
    for (int r = 0; r < kRepeats; ++r) {
      probe.function()(x.data(), y.data(), y.data(), out.data(), n);
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / kRepeats);
  }
  return static_cast<double>(kElements) / best;
}

}  // namespace
}  // namespace tenon::backend::llvm_cpu

int main(int argc, char** argv) {
  using namespace tenon::backend::llvm_cpu;
  const int lanes = argc > 1 ? std::atoi(argv[1]) : 16;
  fmt::print("{:8}  f32x{}  f64x{}   elements per ns, best of 60\n", "", lanes, lanes / 2);
  for (const Row& row : kRows) {
    fmt::print("{:8}  {:6.2f}  {:6.2f}\n", row.name, elements_per_ns<float>(row, lanes),
               elements_per_ns<double>(row, lanes / 2));
  }
  return 0;
}
