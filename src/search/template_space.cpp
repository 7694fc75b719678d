// SPDX-License-Identifier: Apache-2.0
// The programs of the template that fits a task, for all values of its free knobs, and those of the templates that fit
// when another algorithm is asked for. Candidate::sketch is the number of the program: the values, less one, written
// one after the other in the radix of each knob, and last which template.
#include <algorithm>
#include <mutex>
#include <unordered_set>

#include "search/spaces.h"
#include "search/trace_mutation.h"
#include "templates/template.h"

namespace tenon::search {
namespace {

class TemplateSpace : public Space {
 public:
  explicit TemplateSpace(const task::Task& t)
      : task_(t), initial_(t.dag, t.target), request_{t.edges, false} {
    add_family({});
    for (int64_t a = 1; a <= templates::kAlgorithms; ++a) {
      add_family({{std::string(templates::kAlgorithmKnob), a}});
    }
    for (size_t f = 0; f < families_.size(); ++f) {
      auto c = replay_candidate(task_, families_[f].trace);
      if (!c) continue;
      c.value().sketch = number_of(f, families_[f].start);
      families_[f].first = std::move(c.value());
    }
  }

  std::string_view name() const override { return "template"; }

  size_t sketches() const override {
    size_t n = 0;
    for (const Family& f : families_) n += f.programs();
    return n;
  }

  std::vector<Candidate> first() const override {
    std::vector<Candidate> out;
    for (const Family& f : families_) {
      if (f.first) out.push_back(*f.first);
    }
    return out;
  }

  // The family's own rule now and then: a good place to start from.
  Result<Candidate> sample(Rng& rng) const override {
    const size_t f = rng.chance(0.5) ? 0 : any_family(rng);
    if (families_[f].knobs.empty() && families_[f].first) return *families_[f].first;
    templates::Knobs values;
    for (const Knob& k : families_[f].knobs) {
      values[k.name] = rng.chance(0.5) ? families_[f].start.at(k.name) : draw(k, rng);
    }
    return make(f, values);
  }

  Result<Candidate> mutate(const Candidate& c, Rng& rng) const override {
    const size_t f = family_of(c);
    // Numbers that are no knobs may be changed too, where the program still fits.
    if (c.sketch < 0 || families_[f].knobs.empty() || rng.chance(0.2)) {
      return mutate_trace(task_, 0, c, rng);
    }
    templates::Knobs values = values_of(c.sketch);
    const Knob& k = rng.pick(families_[f].knobs);
    int64_t& value = values[k.name];
    const int64_t before = value;
    // Mostly a neighbour: what is good is rarely alone.
    value = rng.chance(0.5) ? draw(k, rng) : before + (rng.chance(0.5) ? 1 : -1);
    if (value == before || value < 1 || value > k.most) return no_program();
    return make(f, values);
  }

  Result<Candidate> cross(const Candidate& a, const Candidate& b, Rng& rng) const override {
    if (a.sketch < 0 || b.sketch < 0 || family_of(a) != family_of(b)) return no_program();
    templates::Knobs values = values_of(a.sketch);
    for (const auto& [knob, value] : values_of(b.sketch)) {
      if (rng.chance(0.5)) values[knob] = value;
    }
    return make(family_of(a), values);
  }

  Result<Candidate> adopt(const schedule::Trace& trace) const override {
    return replay_candidate(task_, trace);
  }

 private:
  struct Knob {
    std::string name;
    int64_t most;
  };
  struct Family {
    const templates::Template* row;
    templates::Knobs asked;  // given besides the knobs
    std::vector<Knob> knobs;
    templates::Knobs start;  // what the family's rule chooses for them
    schedule::Trace trace;
    std::optional<Candidate> first;  // its program
    size_t programs() const {
      size_t n = 1;
      for (const Knob& k : knobs) n *= static_cast<size_t>(k.most);
      return n;
    }
  };

  static Illegal no_program() { return Illegal{.code = IllegalCode::kBadVariant}; }

  // What is asked for may be what the rule chooses, or nothing that fits.
  void add_family(const templates::Knobs& asked) {
    templates::Request request = request_;
    request.given = asked;
    const templates::Choice rule = templates::choose(initial_, request);
    for (const Family& f : families_) {
      if (f.trace == rule.trace) return;
    }
    const auto row =
        std::find_if(templates::templates().begin(), templates::templates().end(),
                     [&](const templates::Template& t) { return t.name == rule.name; });
    Family f{&*row, asked, {}, rule.plan.chosen, rule.trace, {}};
    for (const auto& [knob, most] : rule.plan.free) f.knobs.push_back({knob, most});
    families_.push_back(std::move(f));
  }

  size_t any_family(Rng& rng) const {
    return static_cast<size_t>(rng.between(0, static_cast<int64_t>(families_.size()) - 1));
  }

  // Small values and large ones alike.
  static int64_t draw(const Knob& k, Rng& rng) {
    return rng.chance(0.5) ? rng.between(1, k.most) : rng.between(1, std::min<int64_t>(k.most, 8));
  }

  size_t family_of(const Candidate& c) const {
    return c.sketch < 0 ? 0 : static_cast<size_t>(c.sketch) % families_.size();
  }
  templates::Knobs values_of(int32_t sketch) const {
    templates::Knobs values;
    const auto count = static_cast<int64_t>(families_.size());
    int64_t left = sketch / count;
    for (const Knob& k : families_[static_cast<size_t>(sketch % count)].knobs) {
      values[k.name] = left % k.most + 1;
      left /= k.most;
    }
    return values;
  }
  int32_t number_of(size_t family, const templates::Knobs& values) const {
    const auto& knobs = families_[family].knobs;
    int64_t n = 0;
    for (auto k = knobs.rbegin(); k != knobs.rend(); ++k) n = n * k->most + values.at(k->name) - 1;
    n = n * static_cast<int64_t>(families_.size()) + static_cast<int64_t>(family);
    return n <= INT32_MAX ? static_cast<int32_t>(n) : -1;
  }

  Result<Candidate> make(size_t family, const templates::Knobs& values) const {
    const int32_t number = number_of(family, values);
    if (is_refused(number)) return no_program();
    auto out = build(families_[family], values);
    if (out) {
      out.value().sketch = number;
    } else {
      const std::scoped_lock lock(lock_);
      refused_.insert(number);
    }
    return out;
  }

  bool is_refused(int32_t number) const {
    const std::scoped_lock lock(lock_);
    return number >= 0 && refused_.contains(number);
  }

  Result<Candidate> build(const Family& family, const templates::Knobs& values) const {
    templates::Request request = request_;
    request.given = values;
    for (const auto& [knob, value] : family.asked) request.given[knob] = value;
    const auto plan = family.row->plan(initial_, request);
    const auto skeleton = plan ? skeleton_of(*plan) : nullptr;
    if (skeleton == nullptr) return no_program();
    return replay_quickly(task_, skeleton->fill(plan->knobs), skeleton->fixed(),
                          skeleton->fixed_steps());
  }

  // Few texts serve all values; null where these values are refused before the text was read once.
  std::shared_ptr<const templates::Skeleton> skeleton_of(const templates::Plan& plan) const {
    const std::scoped_lock lock(lock_);
    auto& known = skeletons_[plan.text];
    if (known == nullptr) {
      try {
        known = std::make_shared<const templates::Skeleton>(plan, initial_);
      } catch (const UserError&) {
        return nullptr;
      }
    }
    return known;
  }

  task::Task task_;
  schedule::State initial_;
  templates::Request request_;
  std::vector<Family> families_;  // the rule's choice first
  mutable std::mutex lock_;
  mutable std::map<std::string, std::shared_ptr<const templates::Skeleton>> skeletons_;  // by text
  mutable std::unordered_set<int32_t> refused_;  // numbers of programs that do not fit
};

}  // namespace

std::unique_ptr<Space> make_template_space(const task::Task& t) {
  return std::make_unique<TemplateSpace>(t);
}

}  // namespace tenon::search
