// SPDX-License-Identifier: Apache-2.0
#include "onnx_suite/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

namespace tenon::onnx_suite {
namespace {

// Names and numbers differ from case to case; what stays is the reason.
std::string general(const std::string& reason) {
  static const std::regex kQuoted("'[^']*'");
  return std::regex_replace(reason.substr(0, reason.find('\n')), kQuoted, "'..'");
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char ch : text) {
    switch (ch) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(ch) < ' ' ? ' ' : ch;
    }
  }
  return out;
}

}  // namespace

bool failed(const Outcome& o) {
  return o.status != Status::kPassed && o.status != Status::kUnsupported;
}

int64_t count(const std::vector<Outcome>& outcomes, Status s) {
  return std::count_if(outcomes.begin(), outcomes.end(),
                       [&](const Outcome& o) { return o.status == s; });
}

int64_t count_open(const std::vector<Outcome>& outcomes) {
  return std::count_if(outcomes.begin(), outcomes.end(), [](const Outcome& o) {
    return o.status == Status::kPassed && !o.open.empty();
  });
}

std::string summary(const std::vector<Outcome>& outcomes) {
  std::map<std::string, std::vector<std::string>> reasons;
  std::string failures;
  int64_t bound = 0;
  for (const Outcome& o : outcomes) {
    if (o.status == Status::kUnsupported) reasons[general(o.reason)].push_back(o.name);
    if (o.status == Status::kPassed && !o.bound.empty()) ++bound;
    if (failed(o)) failures += fmt::format("{} {}: {}\n", to_string(o.status), o.name, o.reason);
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> sorted(reasons.begin(),
                                                                       reasons.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::pair(b.second.size(), a.first) < std::pair(a.second.size(), b.first);
  });
  std::string text = failures + (failures.empty() ? "" : "\n") + "unsupported, by reason:\n";
  for (const auto& [reason, names] : sorted) {
    text += fmt::format("  {:4} {} ({}{})\n", names.size(), reason, names[0],
                        names.size() > 1 ? ", .." : "");
  }
  text += fmt::format("{} cases:", outcomes.size());
  for (const Status s : {Status::kPassed, Status::kUnsupported, Status::kWrong, Status::kError,
                         Status::kCrashed, Status::kHung}) {
    text +=
        fmt::format(" {} {}{}", count(outcomes, s), to_string(s), s == Status::kHung ? "" : ",");
    if (s == Status::kPassed)
      text.insert(text.size() - 1, fmt::format(" ({} with bound inputs, {} with open sizes)", bound,
                                               count_open(outcomes)));
  }
  return text + "\n";
}

std::string to_json(const std::vector<Outcome>& outcomes) {
  nlohmann::ordered_json j;
  for (const Status s : {Status::kPassed, Status::kUnsupported, Status::kWrong, Status::kError,
                         Status::kCrashed, Status::kHung}) {
    j[std::string(to_string(s))] = count(outcomes, s);
  }
  for (const Outcome& o : outcomes) {
    j["cases"].push_back({{"name", o.name},
                          {"status", to_string(o.status)},
                          {"reason", o.reason},
                          {"bound", o.bound},
                          {"open", o.open},
                          {"seconds", o.seconds}});
  }
  return j.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string to_xml(const std::vector<Outcome>& outcomes) {
  std::string text = "<testsuites><testsuite name=\"onnx_suite\">\n";
  for (const Outcome& o : outcomes) {
    text += fmt::format("<testcase name=\"{}\" result=\"{}\">", escaped(o.name),
                        o.status == Status::kUnsupported ? "skipped" : "completed");
    if (failed(o)) text += fmt::format("<failure message=\"{}\"/>", escaped(o.reason));
    text += "</testcase>\n";
  }
  return text + "</testsuite></testsuites>\n";
}

}  // namespace tenon::onnx_suite
