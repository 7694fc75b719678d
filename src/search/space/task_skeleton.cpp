// SPDX-License-Identifier: Apache-2.0
#include "search/space/task_skeleton.h"

#include <algorithm>

#include "schedule/algorithms/algorithms.h"
#include "search/space/structures.h"

namespace tenon::search {
namespace {

using space::Domain;
using space::HoleKind;

// The template has far fewer programs; a small share of the draws sees them all.
constexpr double kTemplateShare = 0.2;
// Those of GPUs have many, and better ones: of 53 tasks of networks on an H200 one had a sketch as its best program, and
// the best sketch took 2.1 times as long as the best of the template (median).
constexpr double kGpuTemplateShare = 0.9;
// Of blind draws: what the rule would take, and the definition. The others share the rest.
constexpr double kRuleShare = 0.15, kDefinitionShare = 0.75;

// 0, or 1 + the algorithm that the trace has. That a sum is written as one product of matrices is
// how GPUs compute its definition.
std::optional<int64_t> algorithm_of(const schedule::Trace& trace) {
  for (const schedule::Step& s : trace) {
    const auto* v = std::get_if<schedule::Variant>(&s);
    if (v == nullptr || v->algorithm == schedule::Algorithm::kGemm) continue;
    return 1 + static_cast<int64_t>(v->algorithm);
  }
  return 0;
}

int64_t last_algorithm() { return std::ssize(schedule::algorithms()); }

// Only templates for GPUs write sums as products of matrices, and they do so for the definition.
bool is_asked(int64_t algorithm, const target::Target& t) {
  return !t.is_cpu() || algorithm != 1 + static_cast<int64_t>(schedule::Algorithm::kGemm);
}

}  // namespace

TaskSkeleton::TaskSkeleton(const task::Task& t, const Parts& parts)
    : request_{.fixed = t.edges, .borders = false} {
  if (parts.templates) add_templates(t, parts.algorithms);
  for (int64_t a = 0; parts.sketches && a <= (parts.algorithms ? last_algorithm() : 0); ++a) {
    if (!is_asked(a, *t.target)) continue;
    for (Sketch& s : sketches_of(t, a, parts.user)) {
      of(a).sketches.push_back(
          std::make_unique<SketchSkeleton>(std::move(s), t, parts.operands_in_loop_order));
    }
  }
  std::sort(algorithms_.begin(), algorithms_.end(),
            [](const Structures& a, const Structures& b) { return a.algorithm < b.algorithm; });
}

void TaskSkeleton::add_templates(const task::Task& t, bool algorithms) {
  add_template(t, std::nullopt);
  for (int64_t a = 0; algorithms && a <= last_algorithm(); ++a) {
    if (is_asked(a, *t.target)) add_template(t, a);
  }
}

// What is asked for may be what the rule chooses, or nothing that fits.
void TaskSkeleton::add_template(const task::Task& t, std::optional<int64_t> algorithm) {
  templates::Request request = request_;
  request.algorithm = algorithm;
  const templates::Choice c = templates::choose(schedule::State(t.dag, t.target), request);
  if (std::find(known_.begin(), known_.end(), c.trace) != known_.end()) return;
  const int64_t a = algorithm.value_or(*algorithm_of(c.trace));
  known_.push_back(c.trace);
  if (!algorithm) rule_ = a;
  const auto all = templates::templates(*t.target);
  of(a).row = &*std::find_if(all.begin(), all.end(),
                             [&](const templates::Template& row) { return row.name == c.name; });
}

TaskSkeleton::Structures& TaskSkeleton::of(int64_t algorithm) {
  for (Structures& s : algorithms_) {
    if (s.algorithm == algorithm) return s;
  }
  algorithms_.push_back({.algorithm = algorithm, .row = nullptr, .sketches = {}});
  return algorithms_.back();
}

size_t TaskSkeleton::sketches() const {
  size_t n = 0;
  for (const Structures& s : algorithms_) n += s.sketches.size();
  return n;
}

std::vector<space::Choices> TaskSkeleton::seeds() const {
  std::vector<space::Choices> out;
  for (const Structures& s : algorithms_) {
    if (s.row == nullptr) continue;
    const space::Choices seed = {{{HoleKind::kAlgorithm, -1, 0}, s.algorithm},
                                 {{HoleKind::kStructure, -1, 0}, 0}};
    out.insert(s.algorithm == rule_ ? out.begin() : out.end(), seed);
  }
  return out;
}

const TaskSkeleton::Structures& TaskSkeleton::ask_algorithm(space::Builder& b) const {
  std::vector<int64_t> values;
  for (const Structures& s : algorithms_) values.push_back(s.algorithm);
  const auto weights = [&](const Domain& d) {
    const auto others = static_cast<double>(d.size());
    std::vector<double> w(d.size(), (1 - kRuleShare - kDefinitionShare) / others);
    for (size_t i = 0; i < d.size(); ++i) {
      w[i] += (d.at(i) == rule_ ? kRuleShare : 0) + (d.at(i) == 0 ? kDefinitionShare : 0);
    }
    return w;
  };
  const auto read = [](const schedule::Trace& trace) { return algorithm_of(trace); };
  const int64_t a = b.ask({HoleKind::kAlgorithm, -1, 0}, "algorithm", Domain::of(std::move(values)),
                          rule_, weights, read);
  return *std::find_if(algorithms_.begin(), algorithms_.end(),
                       [&](const Structures& s) { return s.algorithm == a; });
}

void TaskSkeleton::write(space::Builder& b) const {
  const Structures& s = ask_algorithm(b);
  const int64_t first = s.row != nullptr ? 0 : 1;
  const auto weights = [&](const Domain& d) {
    const bool both = d.at(0) == 0 && d.size() > 1;
    const double share = b.target().is_cpu() ? kTemplateShare : kGpuTemplateShare;
    std::vector<double> w(d.size(), both ? (1 - share) / static_cast<double>(d.size() - 1) : 1);
    if (both) w[0] = share;
    return w;
  };
  const int64_t which = b.ask({HoleKind::kStructure, -1, 0}, "structure",
                              Domain::range(first, std::ssize(s.sketches)), first, weights);
  if (which > 0) return s.sketches[static_cast<size_t>(which) - 1]->write(b);
  templates::Request request = request_;
  request.algorithm = s.algorithm;
  if (!s.row->write(b, request)) b.refuse(Illegal{.code = IllegalCode::kBadVariant});
}

}  // namespace tenon::search
