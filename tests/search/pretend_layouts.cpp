// SPDX-License-Identifier: Apache-2.0
#include "search/pretend_layouts.h"

#include <algorithm>
#include <cmath>

#include "search/tasks.h"

namespace tenon::search {

Layouts::Layouts(task::Task t)
    : points_(std::make_unique<LayoutSpace>(*make_layout_space(*t.dag, *t.target))),
      space_(make_edge_space(t, *points_)) {}

space::Program Layouts::program(const LayoutSpace::Point& p) const {
  space::ByRule rule;
  const space::Choices choices = choices_of(p, points());
  space::Follow follow(choices, rule);
  return *space_->write(follow);
}

Layouts conv_layouts(int64_t channels, int64_t size) {
  return Layouts(make_task(
      [&](te::Builder& b) {
        const auto x = b.input("X", ir::kF32, {1, channels, size, size});
        const auto w = b.constant("W", ir::kF32, {2 * channels, channels, 3, 3});
        b.output(te::relu(b, "R", te::conv(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1})));
      },
      "x86-64-v4 cores=2"));
}

Layouts small_layouts() {
  return Layouts(make_task(
      [&](te::Builder& b) {
        const auto a = b.input("A", ir::kF32, {6, 5});
        b.output(te::matmul(b, "C", a, b.constant("W", ir::kF32, {5, 4})));
      },
      "x86-64-v3 cores=4"));
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

LearnerOptions built_options(uint64_t seed) {
  return {.seed = seed, .learned = "", .plug_in = TENON_TORCH_PLUG_IN};
}

std::unique_ptr<Strategy> make_layout_strategy(const std::string& name, const Layouts& l,
                                               const LearnerOptions& options) {
  StrategyOptions o;
  o.layouts = &l.points();
  o.learner = make_learner(name, options);
  return make_strategy(name, l.space(), nullptr, o);
}

std::vector<double> run(Strategy& strategy, const Layouts& l, uint64_t seed, size_t n) {
  Rng rng(seed);
  std::vector<double> times;
  while (times.size() < n) {
    auto p = strategy.propose(1, rng);
    if (p.empty()) break;
    times.push_back(pretend_s(l.points(), l.point(p[0])));
    const Tried tried{std::move(p[0]), times.back()};
    strategy.tell({&tried, 1});
  }
  return times;
}

std::vector<double> run(const std::string& name, const Layouts& l, uint64_t seed, size_t n) {
  return run(*make_layout_strategy(name, l, built_options(seed)), l, seed, n);
}

double mean(const std::vector<double>& v, size_t from) {
  double sum = 0;
  for (size_t i = from; i < v.size(); ++i) sum += v[i];
  return sum / static_cast<double>(v.size() - from);
}

}  // namespace tenon::search
