// SPDX-License-Identifier: Apache-2.0
// The programs of the template that fits a task, for all values of its free knobs. Candidate::sketch is the number of
// the program: the values, less one, written one after the other in the radix of each knob.
#include <algorithm>

#include "search/spaces.h"
#include "search/trace_mutation.h"
#include "templates/template.h"

namespace tenon::search {
namespace {

class TemplateSpace : public Space {
 public:
  explicit TemplateSpace(const task::Task& t)
      : task_(t), initial_(t.dag, t.target), edges_{t.edges, false, {}} {
    const templates::Choice rule = templates::choose(initial_, edges_);
    family_ = rule.name;
    for (const auto& [knob, most] : rule.plan.free) knobs_.push_back({knob, most});
    start_ = rule.plan.chosen;
    default_ = rule.trace;
  }

  std::string_view name() const override { return "template"; }

  size_t sketches() const override {
    size_t n = 1;
    for (const Knob& k : knobs_) n *= static_cast<size_t>(k.most);
    return n;
  }

  std::vector<Candidate> first() const override {
    auto c = replay_candidate(task_, default_);
    if (!c) return {};
    c.value().sketch = number_of(start_);
    return {std::move(c.value())};
  }

  // The family's own rule now and then: a good place to start from.
  Result<Candidate> sample(Rng& rng) const override {
    templates::Knobs values;
    for (const Knob& k : knobs_) {
      values[k.name] = rng.chance(0.5) ? start_.at(k.name) : draw(k, rng);
    }
    return make(values);
  }

  Result<Candidate> mutate(const Candidate& c, Rng& rng) const override {
    // Numbers that are no knobs may be changed too, where the program still fits.
    if (c.sketch < 0 || knobs_.empty() || rng.chance(0.2)) return mutate_trace(task_, 0, c, rng);
    templates::Knobs values = values_of(c.sketch);
    const Knob& k = rng.pick(knobs_);
    int64_t& value = values[k.name];
    const int64_t before = value;
    // Mostly a neighbour: what is good is rarely alone.
    value = rng.chance(0.5) ? draw(k, rng) : before + (rng.chance(0.5) ? 1 : -1);
    if (value == before || value < 1 || value > k.most)
      return Illegal{.code = IllegalCode::kBadVariant, .value = value, .limit = k.most};
    return make(values);
  }

  Result<Candidate> cross(const Candidate& a, const Candidate& b, Rng& rng) const override {
    if (a.sketch < 0 || b.sketch < 0) return Illegal{.code = IllegalCode::kBadVariant};
    templates::Knobs values = values_of(a.sketch);
    for (const auto& [knob, value] : values_of(b.sketch)) {
      if (rng.chance(0.5)) values[knob] = value;
    }
    return make(values);
  }

  Result<Candidate> adopt(const schedule::Trace& trace) const override {
    return replay_candidate(task_, trace);
  }

 private:
  struct Knob {
    std::string name;
    int64_t most;
  };

  // Small values and large ones alike.
  static int64_t draw(const Knob& k, Rng& rng) {
    return rng.chance(0.5) ? rng.between(1, k.most) : rng.between(1, std::min<int64_t>(k.most, 8));
  }

  templates::Knobs values_of(int32_t sketch) const {
    templates::Knobs values;
    int64_t left = sketch;
    for (const Knob& k : knobs_) {
      values[k.name] = left % k.most + 1;
      left /= k.most;
    }
    return values;
  }
  int32_t number_of(const templates::Knobs& values) const {
    int64_t n = 0;
    for (auto k = knobs_.rbegin(); k != knobs_.rend(); ++k)
      n = n * k->most + values.at(k->name) - 1;
    return n <= INT32_MAX ? static_cast<int32_t>(n) : -1;
  }

  Result<Candidate> make(const templates::Knobs& values) const {
    templates::Edges edges = edges_;
    edges.given = values;
    const templates::Choice c = templates::choose(initial_, edges);
    if (c.name != family_) return Illegal{.code = IllegalCode::kBadVariant};
    auto out = replay_candidate(task_, c.trace);
    if (out) out.value().sketch = number_of(values);
    return out;
  }

  task::Task task_;
  schedule::State initial_;
  templates::Edges edges_;
  templates::Knobs start_;  // the free ones
  schedule::Trace default_;
  std::string_view family_;
  std::vector<Knob> knobs_;
};

}  // namespace

std::unique_ptr<Space> make_template_space(const task::Task& t) {
  return std::make_unique<TemplateSpace>(t);
}

}  // namespace tenon::search
