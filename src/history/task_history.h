// SPDX-License-Identifier: Apache-2.0
// What is known of the programs of one task: the last word on each trace, and which of them is best.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "task/record.h"

namespace tenon::history {

class TaskHistory {
 public:
  // Measured again: the newer time counts, for it was taken beside others or with more repetitions. Found wrong once:
  // wrong for ever. Verified once: verified.
  void add(const task::Measurement& m);

  bool has(const std::string& trace) const { return by_trace_.contains(trace); }
  const task::Measurement* find(const std::string& trace) const;
  // The fastest that ran right; among the verified alone, or among all.
  const task::Measurement* best(bool verified_only) const;
  // The fastest `n` that ran and were never found wrong, fastest first.
  std::vector<const task::Measurement*> fastest(size_t n) const;

  // Those whose last word is that they failed.
  std::vector<const task::Measurement*> failed_programs() const;

  int64_t measured() const { return measured_; }
  int64_t failed() const;
  const std::map<std::string, int64_t>& failures() const { return failures_; }  // by outcome

 private:
  std::map<std::string, task::Measurement> by_trace_;
  std::map<std::string, int64_t> failures_;
  int64_t measured_ = 0;
};

}  // namespace tenon::history
