// SPDX-License-Identifier: Apache-2.0
#include "measure/answers.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>

#include "measure/build.h"

namespace tenon::measure {
namespace {

using task::Outcome;

Outcome outcome_of_death(const Answer& a) {
  // What a file does to those that write or map it when there is no room for it.
  if (a.signal == SIGBUS || a.signal == SIGXFSZ) return Outcome::kUndecided;
  // Killed again and again by others: most likely by the kernel, for memory.
  const bool memory = a.signal == SIGKILL || a.said.find(kOutOfMemoryText) != std::string::npos;
  return memory ? Outcome::kCompileMemory : Outcome::kCompileError;
}

}  // namespace

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

Built read_build(const Answer& a, double limit_s) {
  Built b;
  if (a.kind == Answer::Kind::kLate) {
    b.outcome = Outcome::kCompileTimeout;
    b.error = fmt::format("the compiler was stopped after {:.3g} s", limit_s);
    return b;
  }
  if (a.kind == Answer::Kind::kDied) {
    b.outcome = outcome_of_death(a);
    b.error = "the compiler " + one_line(a.how);
    return b;
  }
  const Message& m = a.message;
  const bool built = m.size() >= 3 && m[0] == kBuilt;
  if (!built) {
    const std::string kind = m.size() == 2 ? m[0] : "";
    b.outcome = kind == kRefused  ? Outcome::kRefused
                : kind == kUnable ? Outcome::kUndecided
                                  : Outcome::kCompileError;
    b.error = m.size() == 2 ? one_line(m[1]) : "the compiler gave no answer that can be read";
    return b;
  }
  b.job.library = m[1];
  b.job.workspace_bytes = std::strtoll(m[2].c_str(), nullptr, 10);
  b.job.params.resize(m.size() - 3);
  for (size_t i = 3; i < m.size(); ++i) {
    if (parse_param(m[i], b.job.params[i - 3])) continue;
    b.outcome = Outcome::kCompileError;
    b.error = "the compiler gave no answer that can be read";
  }
  return b;
}

Ran read_run(const Answer& a, double limit_s) {
  Ran r;
  if (a.kind == Answer::Kind::kLate) {
    r.outcome = Outcome::kRunTimeout;
    r.error = fmt::format("stopped after {:.3g} s", limit_s);
    return r;
  }
  const Message& m = a.message;
  if (a.kind == Answer::Kind::kDied || m.empty() || (m[0] != "ok" && m.size() != 2)) {
    r.outcome = Outcome::kRunCrash;
    r.error = a.kind == Answer::Kind::kDied ? one_line(a.how) : "gave no answer that can be read";
    return r;
  }
  if (m[0] != "ok") {
    r.outcome = m[0] == "wrong"   ? Outcome::kWrong
                : m[0] == kUnable ? Outcome::kUndecided
                                  : Outcome::kRunCrash;
    r.error = one_line(m[1]);
    return r;
  }
  for (size_t i = 1; i < m.size(); ++i) r.seconds.push_back(std::strtod(m[i].c_str(), nullptr));
  return r;
}

}  // namespace tenon::measure
