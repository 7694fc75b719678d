// SPDX-License-Identifier: Apache-2.0
#include "search/pretend_layouts.h"

#include <algorithm>
#include <cmath>

#include "te/ops.h"

namespace tenon::search {

LayoutSpace conv_space(int64_t channels, int64_t size) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1, channels, size, size});
  const auto w = b.constant("W", ir::kF32, {2 * channels, channels, 3, 3});
  b.output(te::relu(b, "R", te::conv(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1})));
  return *make_layout_space(b.finish(), target::parse_target("x86-64-v4 cores=2"));
}

LayoutSpace small_space() {
  te::Builder b;
  const auto a = b.input("A", ir::kF32, {6, 5});
  b.output(te::matmul(b, "C", a, b.constant("W", ir::kF32, {5, 4})));
  return *make_layout_space(b.finish(), target::parse_target("x86-64-v3 cores=4"));
}

double pretend_s(const LayoutSpace& s, const LayoutSpace::Point& p) {
  double sum = 1;
  double area = 0;
  for (size_t f = 0; f < p.size(); ++f) {
    const double share = std::log2(static_cast<double>(std::max<int64_t>(p[f], 1)));
    switch (s.factors()[f].kind) {
      case TileKind::kSpatial:
        area += share;
        sum += 0.05 * std::pow(share - 3, 2);
        break;
      case TileKind::kOutChannel:
        sum += 0.1 * std::pow(share + 0.5 * area - 6, 2);
        break;
      case TileKind::kInChannel:
        sum += 0.05 * std::pow(share - 3, 2);
        break;
      default:
        sum += p[f] == 1 ? 0 : 0.2;
    }
  }
  return sum * 1e-4;
}

bool has_plug_in() { return std::string(TENON_TORCH_PLUG_IN) != ""; }

LayoutProposerOptions built_options(uint64_t seed) {
  LayoutProposerOptions options;
  options.seed = seed;
  options.plug_in = TENON_TORCH_PLUG_IN;
  return options;
}

std::vector<double> run(LayoutProposer& proposer, const LayoutSpace& s, uint64_t seed, size_t n) {
  Rng rng(seed);
  std::vector<double> times;
  while (times.size() < n) {
    const auto p = proposer.propose(rng);
    if (!p) break;
    times.push_back(pretend_s(s, *p));
    proposer.reward(*p, times.back());
  }
  return times;
}

std::vector<double> run(const std::string& name, const LayoutSpace& s, uint64_t seed, size_t n) {
  return run(*make_layout_proposer(name, s, built_options(seed)), s, seed, n);
}

double mean(const std::vector<double>& v, size_t from) {
  double sum = 0;
  for (size_t i = from; i < v.size(); ++i) sum += v[i];
  return sum / static_cast<double>(v.size() - from);
}

}  // namespace tenon::search
