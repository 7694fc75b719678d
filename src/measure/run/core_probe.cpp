// SPDX-License-Identifier: Apache-2.0
#include "measure/run/core_probe.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

namespace tenon::run {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 2500;    // one to three microseconds
constexpr double kAbout = 1.25;  // times the best: clocks move by less, a busy neighbour takes more
// The best time fades, so that a clock that stays lower is not taken for a neighbour for ever.
constexpr double kFading = 1.0002;

}  // namespace

CoreProbe::CoreProbe(std::function<double()> work) : work_(std::move(work)) {}

bool CoreProbe::undisturbed() {
  const double s = work_();
  if (best_s_ == 0 || s < best_s_) best_s_ = s;
  const bool own = s <= kAbout * best_s_;
  if (!own) best_s_ *= kFading;
  return own;
}

// Independent additions fill all that a core can begin in a cycle, so that a neighbour takes some of it whatever it does.
double CoreProbe::additions() {
  std::array<uint64_t, 8> sums{};
  const auto begin = Clock::now();
  for (int i = 0; i < kRounds; ++i) {
    for (uint64_t& s : sums) {
      s += 3;
      asm volatile("" : "+r"(s));
    }
  }
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace tenon::run
