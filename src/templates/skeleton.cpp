// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "templates/template.h"

namespace tenon::templates {

namespace {

// Stands for the knob with this number while holes are looked for; no step has such numbers of its own.
constexpr int64_t kSentinel = int64_t{1} << 40;

template <class Fn>
struct EachNumber {
  Fn& fn;
  void operator()(int64_t& v) const { fn(v); }
  void operator()(std::vector<int64_t>& v) const {
    for (int64_t& x : v) fn(x);
  }
  template <class Other>
  void operator()(Other&) const {}
};

// The numbers of a step in their order; not stages, loops or other words.
template <class Fn>
void for_each_number(schedule::Step& step, Fn&& fn) {
  std::visit(
      [&](auto& s) {
        if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(s)>, std::monostate>) {
          schedule::for_each_field(s, [&](const auto&, auto& value) {
            EachNumber<std::remove_reference_t<Fn>>{fn}(value);
          });
        }
      },
      step);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    if (end > start) out.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return out;
}

}  // namespace

Skeleton::Skeleton(const Plan& plan, const schedule::State& initial) : fixed_(initial) {
  Knobs sentinels;
  std::vector<std::string> names;
  for (const auto& [name, value] : plan.knobs) {
    sentinels[name] = kSentinel + static_cast<int64_t>(names.size());
    names.push_back(name);
  }
  schedule::State state = initial;
  for (const std::string& line : lines_of(plan.text)) {
    const schedule::Step step = schedule::parse_step(templates::fill(line, plan.knobs), state);
    const auto ok = schedule::check(step, state);
    if (!ok) throw UserError(schedule::render_illegal(state, ok.illegal()));
    schedule::Step open = schedule::parse_step(templates::fill(line, sentinels), state);
    size_t number = 0;
    for_each_number(open, [&](int64_t v) {
      if (v >= kSentinel) {
        holes_.push_back({steps_.size(), number, names[static_cast<size_t>(v - kSentinel)]});
      }
      ++number;
    });
    schedule::apply(step, state);
    steps_.push_back(step);
    if (holes_.empty()) {
      fixed_ = state;
      fixed_steps_ = steps_.size();
    }
  }
}

schedule::Trace Skeleton::fill(const Knobs& knobs) const {
  schedule::Trace out = steps_;
  for (const Hole& h : holes_) {
    const int64_t value = knobs.at(h.knob);
    size_t number = 0;
    for_each_number(out[h.step], [&](int64_t& v) {
      if (number++ == h.number) v = value;
    });
  }
  return out;
}

}  // namespace tenon::templates
