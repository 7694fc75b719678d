// SPDX-License-Identifier: Apache-2.0
#include "schedule/step.h"

#include "schedule/rules.h"
#include "support/hash.h"

namespace tenon::schedule {

namespace {

constexpr PrimitiveRow kRows[] = {
#define TENON_PRIMITIVE(name, Struct, id) {#name, id, [] { return Step(Struct{}); }},
#include "schedule/primitives.def"
#undef TENON_PRIMITIVE
};

struct FieldHash {
  Hasher& h;
  void operator()(const StageRef& v) { h.add(v.id); }
  void operator()(const LoopRef& v) { h.add(v.id); }
  void operator()(int64_t v) { h.add(v); }
  void operator()(bool v) { h.add(static_cast<int32_t>(v)); }
  void operator()(ir::Scope v) { h.add(static_cast<int32_t>(v)); }
  void operator()(ir::ThreadTag v) { h.add(static_cast<int32_t>(v)); }
  void operator()(Dot v) { h.add(static_cast<int32_t>(v)); }
  void operator()(Algorithm v) { h.add(static_cast<int32_t>(v)); }
  template <class T>
  void operator()(const std::vector<T>& v) {
    h.add(static_cast<uint64_t>(v.size()));
    for (const T& x : v) (*this)(x);
  }
};

template <class S>
bool same_fields(const S& a, const S& b) {
  bool same = true;
  std::apply([&](const auto&... f) { ((same = same && a.*(f.member) == b.*(f.member)), ...); },
             S::kFields);
  return same;
}

bool same_shape(int64_t, int64_t) { return true; }
bool same_shape(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  return a.size() == b.size();
}
template <class T>
requires(!std::is_same_v<T, int64_t> &&
         !std::is_same_v<T, std::vector<int64_t>>) bool same_shape(const T& a, const T& b) {
  return a == b;
}

struct TakeNumbers {
  std::vector<int64_t>& out;
  void operator()(int64_t v) const { out.push_back(v); }
  void operator()(const std::vector<int64_t>& v) const {
    out.insert(out.end(), v.begin(), v.end());
  }
  template <class Other>
  requires(!std::is_same_v<Other, int64_t>) void operator()(const Other&) const {}
};

template <class Fn>
auto dispatch(const Step& step, Fn&& fn) {
  return std::visit(
      [&](const auto& p) {
        if constexpr (std::is_same_v<std::decay_t<decltype(p)>, std::monostate>) {
          throw InternalError("a step without a primitive");
          return fn(Split{});
        } else {
          return fn(p);
        }
      },
      step);
}

}  // namespace

Step::Step() = default;
Step::Step(const Step&) = default;
Step::Step(Step&&) noexcept = default;
Step& Step::operator=(const Step&) = default;
Step& Step::operator=(Step&&) noexcept = default;
Step::~Step() = default;

std::span<const PrimitiveRow> primitives() { return kRows; }

const PrimitiveRow& row_of(const Step& step) { return kRows[step.index()]; }

const PrimitiveRow* find_primitive(std::string_view name) {
  for (const PrimitiveRow& r : kRows) {
    if (r.name == name) return &r;
  }
  return nullptr;
}

Result<void> check(const Step& step, const State& s) {
  return dispatch(step, [&](const auto& p) { return p.check(s); });
}

Result<void> check_quickly(const Step& step, const State& s) {
  if (const auto* at = std::get_if<ComputeAt>(&step)) return at->check_place(s);
  if (const auto* to = std::get_if<SetScope>(&step))
    return check_set_scope(s, to->stage, to->scope);
  return check(step, s);
}

void apply(const Step& step, State& s) {
  dispatch(step, [&](const auto& p) { p.apply(s); });
}

bool operator==(const Step& a, const Step& b) {
  if (a.index() != b.index()) return false;
  return dispatch(
      a, [&](const auto& p) { return same_fields(p, std::get<std::decay_t<decltype(p)>>(b)); });
}

bool same_but_numbers(const Step& a, const Step& b) {
  if (a.index() != b.index()) return false;
  return dispatch(a, [&](const auto& p) {
    const auto& q = std::get<std::decay_t<decltype(p)>>(b);
    bool same = true;
    std::apply(
        [&](const auto&... f) { ((same = same && same_shape(p.*(f.member), q.*(f.member))), ...); },
        std::decay_t<decltype(p)>::kFields);
    return same;
  });
}

std::vector<int64_t> numbers_of(const Step& step) {
  std::vector<int64_t> out;
  dispatch(step, [&](const auto& p) {
    for_each_field(p, [&](const auto&, const auto& v) { TakeNumbers{out}(v); });
  });
  return out;
}

uint64_t hash(const Step& step) {
  Hasher h;
  h.add(static_cast<int32_t>(row_of(step).id));
  dispatch(step, [&](const auto& p) {
    for_each_field(p, [&](const auto&, const auto& v) { FieldHash{h}(v); });
  });
  return h.value();
}

}  // namespace tenon::schedule
