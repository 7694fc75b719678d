// SPDX-License-Identifier: Apache-2.0
// What of a tuning run's events people are told in words, each kind of thing once.
//
//   {"event":"refused","task":"9f0c...","records":3,"why":"..."}   =>   "task 9f0c...: 3 records are not used, ..."
#pragma once

#include <optional>
#include <set>
#include <string>

namespace tenon::tools {

class TuneWarnings {
 public:
  // Nothing: not worth a word, or said before.
  std::optional<std::string> take(const std::string& event);

 private:
  std::set<std::string> said_;
};

// What the cost model knew before the run, if the event is about that.
std::optional<std::string> history_line(const std::string& event);

}  // namespace tenon::tools
