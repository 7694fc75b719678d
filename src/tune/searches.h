// SPDX-License-Identifier: Apache-2.0
// The searches of a session before its loops, as contenders for its seconds: first pairs of
// convolutions, then layouts, for joined calls are other operators. What one decides goes into the
// plans, is told, and changes the tasks whose loops are tuned.
//
//   Searches searches(parts, networks, loops, artifacts, shares);
//   searches.restore(1, json);             // what an earlier part of the run told
//   searches.open(contest, halted);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tune/artifacts.h"
#include "tune/layout_search.h"
#include "tune/pair_search.h"
#include "tune/shares.h"

namespace tenon::tune {

class Searches {
 public:
  // All must outlive it.
  Searches(SessionParts& parts, Networks& networks, Loops& loops, Artifacts& artifacts,
           Shares& shares);

  // Decisions that an earlier part of the run told. What cannot be read is decided again.
  void restore(size_t row, const std::string& json);
  // Adds what there is to search. `halted`: the time of the rounds is up.
  void open(Contest& contest, Stop halted);

 private:
  bool may_search() const;
  int64_t pair_trials() const;
  bool searches_pairs() const;
  std::vector<PairNetworks> pair_networks() const;
  void open_pairs();
  void decide_pairs();
  int64_t layout_trials() const;
  bool searches_layouts() const;
  void open_layouts();
  void decide_layouts();
  void decided(const std::string& what, const std::vector<plan::CallDecisions>& chosen);

  SessionParts& parts_;
  Networks& networks_;
  Loops& loops_;
  Artifacts& artifacts_;
  Shares& shares_;
  Contest* contest_ = nullptr;
  Stop halted_;
  bool pairs_decided_ = false, layouts_decided_ = false;
  std::unique_ptr<PairSearch> pair_search_;
  std::unique_ptr<LayoutSearch> layout_search_;
};

}  // namespace tenon::tune
