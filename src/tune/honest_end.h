// SPDX-License-Identifier: Apache-2.0
// The end of a session: each tuned network is compared with its default as a whole, and what is not
// faster beyond doubt is not kept.
//
//   HonestEnd end(parts, networks, loops, artifacts, ending);
//   ModelSummary s = end.judge(0);   // s.kept: "tuned", or "default: why"
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tune/ending.h"

namespace tenon::tune {

class HonestEnd {
 public:
  // All must outlive it.
  HonestEnd(SessionParts& parts, Networks& networks, Loops& loops, Artifacts& artifacts,
            Ending& ending);

  // Geometric means need a time to compare with: that of the default, where none is given.
  void find_references();
  // Afterwards the better of the two lies in the model's directory.
  ModelSummary judge(size_t m);
  // The default stays: what was found came too late to be compared with it.
  ModelSummary leave(size_t m) const;

 private:
  ModelSummary summary_of(size_t m, const std::string& kept) const;
  void compare_once(size_t m, const std::filesystem::path& plain, ModelSummary& s);
  void compare(size_t m, const std::filesystem::path& plain, ModelSummary& s, Programs& chosen);
  bool has_time() const;
  std::vector<std::string> losers(size_t m, const measure::NetworkTimes& t) const;
  Programs without_searches(size_t m);
  Programs settle(size_t m, const std::filesystem::path& plain, ModelSummary& s);

  SessionParts& parts_;
  Networks& networks_;
  Loops& loops_;
  Artifacts& artifacts_;
  Ending& ending_;
};

}  // namespace tenon::tune
