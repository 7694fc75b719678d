// SPDX-License-Identifier: Apache-2.0
#include "onnx_suite/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "onnx/import.h"

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
      text.insert(text.size() - 1, fmt::format(" ({} with bound inputs)", bound));
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

namespace {

// What the suite tells of one operator.
struct Use {
  int64_t cases = 0, passed = 0;
  std::set<std::string> bound;  // inputs, as the standard calls them
};

std::map<std::string, Use> uses_of(const std::vector<Case>& cases,
                                   const std::vector<Outcome>& outcomes) {
  std::map<std::string, Use> uses;
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::vector<std::string> ops = summarize(cases[i].model()).ops;
    for (const std::string& op : ops) {
      Use& use = uses[op];
      ++use.cases;
      use.passed += outcomes[i].status == Status::kPassed ? 1 : 0;
    }
    if (outcomes[i].bound.empty()) continue;
    const std::map<std::string, std::string> names = formal_names(cases[i].model());
    for (const std::string& input : outcomes[i].bound) {
      if (names.contains(input)) uses[ops.at(0)].bound.insert(names.at(input));
    }
  }
  return uses;
}

struct Note {
  std::string_view op, text;
};
constexpr Note kNotes[] = {
    {":Dropout", "inference, or a ratio of 0"},
    {":GRU", "unrolled, up to 4096 steps"},
    {":LSTM", "unrolled, up to 4096 steps"},
    {":Loop", "unrolled, up to 4096 turns; each condition must be known too"},
    {":RNN", "unrolled, up to 4096 steps"},
    {":Scan", "unrolled, up to 4096 turns"},
    {":TfIdfVectorizer", "integers"},
};

std::string note_of(const std::string& op, const Use& use) {
  std::string text;
  if (!use.bound.empty()) {
    text = fmt::format("known when compiling: {}", fmt::join(use.bound, ", "));
  }
  for (const Note& n : kNotes) {
    if (n.op == op) text += (text.empty() ? "" : "; ") + std::string(n.text);
  }
  return text;
}

std::string plain_name(const std::string& op) { return op.starts_with(':') ? op.substr(1) : op; }

}  // namespace

std::string ops_page(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes) {
  const std::map<std::string, Use> uses = uses_of(cases, outcomes);
  std::map<std::string, std::vector<int>> versions;
  for (const onnx::Supported& s : onnx::supported()) {
    versions[s.domain + ":" + s.op].push_back(s.since);
  }
  std::string text = R"(# Operators

Written by `onnx_suite --ops docs/ops.md --update-ops`; `./dev test` checks that it is current.

"Since" lists the opset versions at which the import of an operator changes; opsets 7 to 21 are read. "Suite" is how
many of the cases of ONNX's backend test suite that use the operator pass; the others are out of scope, most of them
because of another operator. Inputs that must be known when compiling can be computed inside the model from constants
and shapes, or be given with `--bind NAME=@file.npy`.

| Operator | Since | Suite | Note |
|---|---|---|---|
)";
  for (const auto& [op, since] : versions) {
    const auto use = uses.find(op);
    const bool tested = use != uses.end();
    text +=
        fmt::format("| {} | {} | {} | {} |\n", plain_name(op), fmt::join(since, ", "),
                    tested ? fmt::format("{} of {}", use->second.passed, use->second.cases) : "-",
                    note_of(op, tested ? use->second : Use{}));
  }
  text += "\n## Not supported\n\nOperators of the suite that cannot be imported:\n\n";
  for (const auto& [op, use] : uses) {
    if (versions.contains(op)) continue;
    text +=
        fmt::format("- {} ({} {})\n", plain_name(op), use.cases, use.cases == 1 ? "case" : "cases");
  }
  return text;
}

}  // namespace tenon::onnx_suite
