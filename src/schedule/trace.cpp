// SPDX-License-Identifier: Apache-2.0
#include "schedule/trace.h"

#include <nlohmann/json.hpp>

#include "support/hash.h"

namespace tenon::schedule {

namespace {

using nlohmann::json;

struct ToJson {
  json operator()(const StageRef& v) { return v.id; }
  json operator()(const LoopRef& v) { return v.id; }
  json operator()(int64_t v) { return v; }
  json operator()(bool v) { return v; }
  json operator()(ir::Scope v) { return static_cast<int>(v); }
  json operator()(ir::ThreadTag v) { return static_cast<int>(v); }
  template <class T>
  json operator()(const std::vector<T>& v) {
    json out = json::array();
    for (const T& x : v) out.push_back((*this)(x));
    return out;
  }
};

struct FromJson {
  static void read(const json& j, StageRef& v) { v.id = j.get<int32_t>(); }
  static void read(const json& j, LoopRef& v) { v.id = j.get<int32_t>(); }
  static void read(const json& j, int64_t& v) { v = j.get<int64_t>(); }
  static void read(const json& j, bool& v) { v = j.get<bool>(); }
  static void read(const json& j, ir::Scope& v) { v = static_cast<ir::Scope>(checked(j, 3)); }
  static void read(const json& j, ir::ThreadTag& v) {
    v = static_cast<ir::ThreadTag>(checked(j, 7));
  }
  template <class T>
  static void read(const json& j, std::vector<T>& v) {
    if (!j.is_array()) throw UserError("a list is expected, not " + j.dump());
    for (const json& x : j) {
      v.emplace_back();
      read(x, v.back());
    }
  }
  static int checked(const json& j, int limit) {
    const int v = j.get<int>();
    if (v < 0 || v > limit)
      throw UserError("value " + std::to_string(v) + " is not in 0.." + std::to_string(limit));
    return v;
  }
};

template <class Variant, class Fn>
void with_primitive(Variant& step, Fn&& fn) {
  std::visit(
      [&](auto& p) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(p)>, std::monostate>) fn(p);
      },
      step);
}

Step step_from_json(const json& j) {
  if (!j.is_array() || j.empty() || !j[0].is_string()) {
    throw UserError("a step is a list that starts with the name of a primitive, not " + j.dump());
  }
  const PrimitiveRow* row = find_primitive(j[0].get<std::string>());
  if (row == nullptr) throw UserError("unknown primitive " + j[0].dump());
  Step step = row->make();
  with_primitive(step, [&](auto& p) {
    constexpr size_t n = std::tuple_size_v<std::decay_t<decltype(p.kFields)>>;
    if (j.size() != n + 1) {
      throw UserError(std::string(row->name) + " takes " + std::to_string(n) + " arguments, not " +
                      std::to_string(j.size() - 1));
    }
    size_t i = 1;
    for_each_field(p, [&](const auto&, auto& v) { FromJson::read(j[i++], v); });
  });
  return step;
}

}  // namespace

Replayed replay_steps(State initial, const Trace& trace) {
  Replayed r{std::move(initial), std::nullopt};
  if (trace.size() > kMaxSteps) {
    r.refusal = {kMaxSteps, {.code = IllegalCode::kTooManySteps, .limit = kMaxSteps}};
    return r;
  }
  for (size_t i = 0; i < trace.size(); ++i) {
    if (auto ok = check(trace[i], r.state); !ok) {
      r.refusal = {i, ok.illegal()};
      return r;
    }
    schedule::apply(trace[i], r.state);
  }
  return r;
}

Result<State> replay(const State& initial, const Trace& trace) {
  Replayed r = replay_steps(initial, trace);
  if (r.refusal) return r.refusal->why;
  return std::move(r.state);
}

uint64_t hash(const Trace& trace) {
  Hasher h;
  for (const Step& s : trace) h.add(hash(s));
  return h.value();
}

std::string to_json(const Trace& trace) {
  json out = json::array();
  for (const Step& s : trace) {
    json one = json::array({std::string(row_of(s).name)});
    with_primitive(s, [&](const auto& p) {
      for_each_field(p, [&](const auto&, const auto& v) { one.push_back(ToJson{}(v)); });
    });
    out.push_back(std::move(one));
  }
  return out.dump();
}

Trace trace_from_json(const std::string& text) {
  try {
    const json j = json::parse(text);
    if (!j.is_array()) throw UserError("a trace is a list of steps");
    Trace trace;
    for (const json& s : j) trace.push_back(step_from_json(s));
    return trace;
  } catch (const json::exception& e) {
    throw UserError(std::string("not a trace: ") + e.what());
  }
}

}  // namespace tenon::schedule
