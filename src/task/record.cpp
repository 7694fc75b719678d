// SPDX-License-Identifier: Apache-2.0
#include "task/record.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/check.h"

namespace tenon::task {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 9> kOutcomes = {
    "ok",        "refused",     "compile-error", "compile-timeout", "compile-memory",
    "run-crash", "run-timeout", "wrong",         "undecided"};

// A list where writing it again gives the same text, else the text: what comes back is what was there.
Json list_to_json(const std::string& list) {
  Json j = Json::parse(list, nullptr, false);
  return j.is_array() && j.dump() == list ? j : Json(list);
}

// JSON has no infinity; it is written as null.
double real(const Json& j) {
  return j.is_null() ? std::numeric_limits<double>::infinity() : j.get<double>();
}

}  // namespace

std::string to_string(Outcome o) { return kOutcomes.at(static_cast<size_t>(o)); }

std::optional<Outcome> parse_outcome(const std::string& text) {
  for (size_t i = 0; i < kOutcomes.size(); ++i) {
    if (text == kOutcomes[i]) return static_cast<Outcome>(i);
  }
  return std::nullopt;
}

std::string to_string(const Protocol& p) {
  return fmt::format("v{} threads={} {}", p.version, p.threads, p.cold ? "cold" : "warm");
}

Protocol parse_protocol(const std::string& text) {
  std::istringstream in(text);
  std::string version, threads, cache;
  in >> version >> threads >> cache;
  Protocol p;
  try {
    p.version = std::stoi(version.substr(1));
    p.threads = std::stoi(threads.substr(std::string("threads=").size()));
  } catch (const std::exception&) {
    throw UserError("\"" + text + "\" is no protocol; one looks like \"v1 threads=2 cold\"");
  }
  p.cold = cache == "cold";
  if (to_string(p) != text) throw UserError("\"" + text + "\" is no protocol");
  return p;
}

bool has_time(const Measurement& m) {
  return m.outcome == Outcome::kOk && std::isfinite(m.median_s) && m.median_s > 0;
}

std::string to_json(const Measurement& m) {
  const Json j = {{"task", m.task},
                  {"target", m.target},
                  {"protocol", m.protocol},
                  {"trace", list_to_json(m.trace)},
                  {"choices", list_to_json(m.choices)},
                  {"outcome", to_string(m.outcome)},
                  {"seconds", m.seconds},
                  {"best_s", m.best_s},
                  {"median_s", m.median_s},
                  {"low_s", m.low_s},
                  {"high_s", m.high_s},
                  {"build_s", m.build_s},
                  {"run_s", m.run_s},
                  {"error", m.error},
                  {"verified", m.verified},
                  {"load1", m.load1},
                  {"mhz", m.mhz},
                  {"handoff_ns", m.handoff_ns},
                  {"run", m.run},
                  {"time", m.time}};
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Measurement measurement_from_json(const std::string& line) {
  try {
    const Json j = Json::parse(line);
    Measurement m;
    m.task = j.at("task").get<std::string>();
    m.target = j.at("target").get<std::string>();
    m.protocol = j.at("protocol").get<std::string>();
    const Json& trace = j.at("trace");
    m.trace = trace.is_string() ? trace.get<std::string>() : trace.dump();
    if (j.contains("choices")) {  // not in older exports
      const Json& choices = j.at("choices");
      m.choices = choices.is_string() ? choices.get<std::string>() : choices.dump();
    }
    const auto outcome = parse_outcome(j.at("outcome").get<std::string>());
    if (!outcome) throw UserError("unknown outcome " + j.at("outcome").dump());
    m.outcome = *outcome;
    for (const Json& s : j.at("seconds")) m.seconds.push_back(real(s));
    m.best_s = real(j.at("best_s"));
    m.median_s = real(j.at("median_s"));
    m.low_s = real(j.at("low_s"));
    m.high_s = real(j.at("high_s"));
    m.build_s = real(j.at("build_s"));
    m.run_s = real(j.at("run_s"));
    m.error = j.at("error").get<std::string>();
    m.verified = j.at("verified");
    m.load1 = real(j.at("load1"));
    m.mhz = real(j.at("mhz"));
    if (j.contains("handoff_ns")) m.handoff_ns = real(j.at("handoff_ns"));  // not in older exports
    m.run = j.at("run").get<std::string>();
    m.time = j.at("time");
    return m;
  } catch (const nlohmann::json::exception& e) {
    throw UserError(std::string("this is no measurement: ") + e.what());
  }
}

}  // namespace tenon::task
