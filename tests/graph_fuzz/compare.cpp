// SPDX-License-Identifier: Apache-2.0
#include "graph_fuzz/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "graph_fuzz/rounding.h"

namespace tenon::graph_fuzz {
namespace {

constexpr double kUnits = 8;     // in the last place, without asking further
constexpr double kSpreads = 16;  // times the spread of the disturbed runs
constexpr int kFewRuns = 4, kManyRuns = 40;
constexpr double kOpen = 0.05;  // a spread of this share of the value says nothing any more

std::string text(const ir::Array& a) {
  return fmt::format("{}[{}]", ir::to_string(a.dtype()), fmt::join(a.shape(), ","));
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

double distance(double a, double b) {
  if (same(a, b)) return 0;
  const double d = std::abs(a - b);
  return std::isfinite(d) ? d : HUGE_VAL;
}

double smallest_normal(ir::DType t) {
  if (t == ir::kF64) return 0x1p-1022;
  return t == ir::kF16 ? 0x1p-14 : 0x1p-126;
}

bool near(const ir::Array& got, const ir::Array& want, int64_t i) {
  if (!want.dtype().is_float()) return got.get(i).i == want.get(i).i;
  const double g = got.get_double(i), w = want.get_double(i);
  // Below the smallest normal number, units in the last place no longer shrink with the value.
  const double size = std::max(std::abs(w), smallest_normal(want.dtype()));
  return distance(g, w) <= kUnits * unit_roundoff(want.dtype()) * size;
}

// How far disturbed runs are from the plain one, for every element of every output.
class Spread {
 public:
  Spread(const Case& c, const Arrays& want) : case_(c), want_(want) {}

  void run(int times) {
    for (; runs_ < times; ++runs_) {
      Rng rng(static_cast<uint64_t>(runs_) * 77 + 5);
      const Arrays moved = evaluate(case_.model, case_.inputs, &rng);
      for (const auto& o : case_.model.graph().output()) add(o.name(), moved.at(o.name()));
    }
  }

  double at(const std::string& output, int64_t i) const {
    return spread_.at(output)[static_cast<size_t>(i)] + typical_.at(output);
  }

 private:
  void add(const std::string& name, const ir::Array& moved) {
    const ir::Array& want = want_.at(name);
    std::vector<double>& s = spread_[name];
    s.resize(static_cast<size_t>(want.elements()), 0);
    typical_.emplace(name, 0);
    if (moved.shape() != want.shape()) {
      std::fill(s.begin(), s.end(), HUGE_VAL);
      return;
    }
    for (size_t i = 0; i < s.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      s[i] = std::max(s[i], distance(moved.get_double(at), want.get_double(at)));
    }
    typical_[name] = median(s);
  }

  static double median(std::vector<double> v) {
    if (v.empty()) return 0;
    const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
    std::nth_element(v.begin(), middle, v.end());
    return std::isfinite(*middle) ? *middle : 0;
  }

  const Case& case_;
  const Arrays& want_;
  std::map<std::string, std::vector<double>> spread_;
  std::map<std::string, double>
      typical_;  // an element may stay where it is by chance: the median over all
  int runs_ = 0;
};

// The operator that computes a value.
std::string producer(const proto::ModelProto& m, const std::string& name) {
  for (const auto& n : m.graph().node()) {
    if (std::count(n.output().begin(), n.output().end(), name) > 0) return n.op_type();
  }
  return "nothing";
}

// The first element beyond what the spread explains.
std::optional<std::string> unexplained(const std::string& name, const ir::Array& got,
                                       const ir::Array& want, const Spread& spread) {
  int64_t bad = 0, first = -1;
  for (int64_t i = 0; i < want.elements(); ++i) {
    if (near(got, want, i)) continue;
    if (distance(got.get_double(i), want.get_double(i)) <= kSpreads * spread.at(name, i)) continue;
    first = first < 0 ? i : first;
    ++bad;
  }
  if (bad == 0) return std::nullopt;
  return fmt::format(
      "output {}: {} of {} elements of {} differ; element {} is {}, not {} (spread {})", name, bad,
      want.elements(), text(want), first, got.get_double(first), want.get_double(first),
      spread.at(name, first));
}

void count(const std::string& name, const ir::Array& got, const ir::Array& want,
           const Spread& spread, Comparison& c) {
  for (int64_t i = 0; i < want.elements(); ++i) {
    if (near(got, want, i)) continue;
    ++c.disturbed;
    if (spread.at(name, i) > kOpen * std::abs(want.get_double(i))) ++c.open;
  }
}

}  // namespace

Comparison compare(const Case& c, const Arrays& got) {
  Comparison result;
  const Arrays want = evaluate(c.model, c.inputs, nullptr);
  bool all_near = true;
  for (const auto& o : c.model.graph().output()) {
    const ir::Array& w = want.at(o.name());
    const ir::Array& g = got.at(o.name());
    if (w.dtype() != g.dtype() || w.shape() != g.shape()) {
      result.difference = fmt::format("output {} is {}, not {}", o.name(), text(g), text(w));
      return result;
    }
    result.elements += w.elements();
    for (int64_t i = 0; i < w.elements() && all_near; ++i) all_near = near(g, w, i);
  }
  if (all_near) return result;
  Spread spread(c, want);
  for (const int runs : {kFewRuns, kManyRuns}) {
    spread.run(runs);
    result.difference.clear();
    for (const auto& o : c.model.graph().output()) {
      const auto why = unexplained(o.name(), got.at(o.name()), want.at(o.name()), spread);
      if (why && result.difference.empty()) {
        result.difference = producer(c.model, o.name()) + ": " + *why;
      }
    }
    if (result.difference.empty()) break;
  }
  for (const auto& o : c.model.graph().output()) {
    count(o.name(), got.at(o.name()), want.at(o.name()), spread, result);
  }
  return result;
}

}  // namespace tenon::graph_fuzz
