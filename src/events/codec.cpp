// SPDX-License-Identifier: Apache-2.0
// Events as JSON and back: a writer and a reader of the fields of fields.h.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "events/events.h"
#include "events/fields.h"

namespace tenon::events {
namespace {

using Json = nlohmann::ordered_json;

// ---- writing ------------------------------------------------------------------------------------

class Writer {
 public:
  explicit Writer(Json& out) : out_(out) {}
  template <class T>
  void operator()(const char* name, T& v) {
    out_[name] = written(v);
  }
  template <class T>
  void decision(const char* name, T& v, const char*) {
    (*this)(name, v);
  }

 private:
  template <class T>
  static Json written(T& v) {
    if constexpr (std::is_constructible_v<Json, T&>) {
      return v;
    } else {
      Json j = Json::object();
      Writer w(j);
      fields(w, v);
      return j;
    }
  }
  static Json written(Seconds& v) {
    return v && std::isfinite(*v) && *v > 0 ? Json(*v) : Json(nullptr);
  }
  static Json written(PlanOf& v) { return Json::parse(v.text); }
  static Json written(std::optional<Ranking>& v) { return v ? written(*v) : Json(nullptr); }
  template <class T>
  static Json written(std::vector<T>& v) {
    Json j = Json::array();
    for (T& one : v) j.push_back(written(one));
    return j;
  }
  template <class T>
  static Json written(std::map<std::string, T>& v) {
    Json j = Json::object();
    for (auto& [name, one] : v) j[name] = written(one);
    return j;
  }

  Json& out_;
};

// ---- reading ------------------------------------------------------------------------------------

class Reader {
 public:
  Reader(const Json& in, std::string& why) : in_(in), why_(why) {}
  template <class T>
  void operator()(const char* name, T& v) {
    const auto it = in_.find(name);
    if (it != in_.end()) read(*it, v);
  }
  template <class T>
  void decision(const char* name, T& v, const char* otherwise) {
    const auto it = in_.find(name);
    if (it == in_.end() || !read(*it, v)) why_ = otherwise;
  }

 private:
  // False: it is of another kind, in whole or in part; what can be read is.
  static bool read(const Json& j, std::string& v) {
    if (j.is_string()) v = j.get<std::string>();
    return j.is_string();
  }
  static bool read(const Json& j, bool& v) {
    v = j == true;
    return j.is_boolean();
  }
  static bool read(const Json& j, double& v) {
    const bool ok = j.is_number() && std::isfinite(j.get<double>());
    if (ok) v = j.get<double>();
    return ok;
  }
  static bool read(const Json& j, Seconds& v) {
    double s = 0;
    if (read(j, s) && s > 0) v = s;
    return true;
  }
  static bool read(const Json& j, int64_t& v) {
    if (j.is_number_integer() && !j.is_number_unsigned()) {
      v = j.get<int64_t>();
      return true;
    }
    constexpr double kMost = 9e18;
    double d = 0;
    if (!read(j, d)) return false;
    v = static_cast<int64_t>(std::clamp(d, -kMost, kMost));
    return true;
  }
  static bool read(const Json& j, uint64_t& v) {
    if (j.is_number_unsigned()) v = j.get<uint64_t>();
    return j.is_number_unsigned();
  }
  bool read(const Json& j, PlanOf& v) {
    if (!j.is_object()) return false;
    v.text = j.dump();
    const auto calls = [&](const char* part, std::map<std::string, std::string>& out) {
      const Json::json_pointer at(std::string("/") + part + "/calls");
      return !j.contains(at) || read(j.at(at), out);
    };
    return calls("pairs", v.pairs) && calls("layouts", v.layouts);
  }
  bool read(const Json& j, std::optional<Ranking>& v) {
    if (!j.is_object() || j.empty()) return false;
    return read(j, v.emplace());
  }
  template <class T>
  bool read(const Json& j, std::vector<T>& v) {
    if (!j.is_array()) return false;
    bool all = true;
    for (const Json& one : j) {
      T element = {};
      const bool read_it = read(one, element);
      // Numbers stand for models by their place; names do not.
      if (read_it || !std::is_same_v<T, std::string>) v.push_back(std::move(element));
      all &= read_it;
    }
    return all;
  }
  template <class T>
  bool read(const Json& j, std::map<std::string, T>& v) {
    if (!j.is_object()) return false;
    bool all = true;
    for (const auto& [name, one] : j.items()) {
      T element = {};
      const bool read_it = read(one, element);
      if (read_it || !std::is_same_v<T, std::string>) v[name] = std::move(element);
      all &= read_it;
    }
    return all;
  }
  template <class T>
  bool read(const Json& j, T& v) {
    if (!j.is_object()) return false;
    Reader r(j, why_);
    fields(r, v);
    return true;
  }

  const Json& in_;
  std::string& why_;
};

template <size_t kIndex = 0>
Event event_named(const std::string& name) {
  if constexpr (kIndex + 1 == std::variant_size_v<Event>) {
    return Unknown{name};
  } else {
    std::variant_alternative_t<kIndex, Event> e;
    return name == name_of(e) ? Event(std::move(e)) : event_named<kIndex + 1>(name);
  }
}

}  // namespace

std::string to_json(const Event& e, std::optional<double> t) {
  Json j = Json::object();
  std::visit(
      [&](auto copy) {
        j["event"] = name_of(copy);
        Writer w(j);
        fields(w, copy);
      },
      e);
  if (t) j["t"] = *t;
  // What an error says may hold bytes of a candidate.
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Parsed parse(const std::string& json) {
  Parsed p;
  const Json j = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (j.is_discarded()) return {.event = {}, .why = "it is no JSON", .t = {}};
  const auto name = j.is_object() ? j.find("event") : j.end();
  if (!j.is_object() || name == j.end() || !name->is_string()) {
    return {.event = {}, .why = "it is no object with the name of an event", .t = {}};
  }
  Event e = event_named(name->get<std::string>());
  Reader r(j, p.why);
  std::visit([&](auto& alternative) { fields(r, alternative); }, e);
  if (const auto t = j.find("t"); t != j.end() && t->is_number()) p.t = t->get<double>();
  p.event = std::move(e);
  return p;
}

}  // namespace tenon::events
