// SPDX-License-Identifier: Apache-2.0
#include "schedule/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
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
  json operator()(Dot v) { return static_cast<int>(v); }
  json operator()(Algorithm v) { return static_cast<int>(v); }
  template <class T>
  json operator()(const std::vector<T>& v) {
    json out = json::array();
    for (const T& x : v) out.push_back((*this)(x));
    return out;
  }
};

// Lists and objects by their kind alone: they may be of any size and depth.
std::string describe(const json& j) {
  return j.is_structured() ? std::string(j.is_array() ? "a list" : "an object") : j.dump();
}

struct FromJson {
  std::string what;  // "split: factors"

  static constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max();
  void read(const json& j, StageRef& v) { v.id = static_cast<int32_t>(number(j, -1, kMaxId)); }
  void read(const json& j, LoopRef& v) { v.id = static_cast<int32_t>(number(j, -1, kMaxId)); }
  void read(const json& j, int64_t& v) {
    v = number(j, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
  }
  void read(const json& j, bool& v) {
    if (!j.is_boolean()) fail("true or false is expected, not " + describe(j));
    v = j.get<bool>();
  }
  void read(const json& j, ir::Scope& v) { v = static_cast<ir::Scope>(number(j, 0, 3)); }
  void read(const json& j, ir::ThreadTag& v) { v = static_cast<ir::ThreadTag>(number(j, 0, 7)); }
  void read(const json& j, Dot& v) {
    v = static_cast<Dot>(number(j, 0, static_cast<int64_t>(dots().size()) - 1));
  }
  void read(const json& j, Algorithm& v) {
    v = static_cast<Algorithm>(number(j, 0, static_cast<int64_t>(algorithms().size()) - 1));
  }
  template <class T>
  void read(const json& j, std::vector<T>& v) {
    if (!j.is_array()) fail("a list is expected, not " + describe(j));
    for (const json& x : j) {
      v.emplace_back();
      read(x, v.back());
    }
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw UserError(what + ": " + why); }
  int64_t number(const json& j, int64_t lo, int64_t hi) const {
    if (!j.is_number_integer()) fail("a whole number is expected, not " + describe(j));
    const bool fits = !j.is_number_unsigned() ||
                      j.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
    if (!fits || j.get<int64_t>() < lo || j.get<int64_t>() > hi) {
      fail(fmt::format("{} is not in {}..{}", j.dump(), lo, hi));
    }
    return j.get<int64_t>();
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

json parse_json(const std::string& text, const std::string& file) {
  try {
    return json::parse(text);
  } catch (const json::parse_error& e) {
    const size_t at = std::min(e.byte == 0 ? 0 : e.byte - 1, text.size());
    const size_t line = static_cast<size_t>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    const size_t start = line == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    throw UserError(file, static_cast<int>(line) + 1, static_cast<int>(at - start) + 1,
                    "this is not JSON");
  } catch (const json::exception&) {
    throw UserError(file, 0, 0, "a number in the trace is too large");
  }
}

Step step_from_json(const json& j) {
  if (!j.is_array() || j.empty() || !j[0].is_string()) {
    throw UserError("a step is a list that starts with the name of a primitive, not " +
                    describe(j));
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
    for_each_field(p, [&](const auto& f, auto& v) {
      FromJson{fmt::format("{}: {}", row->name, f.name)}.read(j[i++], v);
    });
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

Trace trace_from_json(const std::string& text, const std::string& file) {
  const json j = parse_json(text, file);
  if (!j.is_array()) throw UserError(file, 0, 0, "a trace is a list of steps, not " + describe(j));
  Trace trace;
  for (const json& s : j) {
    try {
      trace.push_back(step_from_json(s));
    } catch (const UserError& e) {
      throw UserError(file, 0, 0, fmt::format("step {}: {}", trace.size() + 1, e.what()));
    }
  }
  return trace;
}

}  // namespace tenon::schedule
