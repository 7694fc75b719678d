// SPDX-License-Identifier: Apache-2.0
#include "tune/searches.h"

#include <algorithm>

#include "plan/lean.h"
#include "support/check.h"
#include "tune/events.h"
#include "tune/layout_decision.h"
#include "tune/plan_event.h"

namespace tenon::tune {
namespace {

constexpr int64_t kLeastTrials = 8;   // of a layout or a task of a pair, or its time says little
constexpr int64_t kLeastLayouts = 6;  // that the trials of the search are dealt out to
constexpr double kLeastLayoutsS = 20;
constexpr int64_t kTasksOfPair = 3;  // the pair, and the two that it would replace
constexpr int64_t kUsualPairs = 4;   // that the trials of the search are dealt out to
constexpr double kLeastPairsS = 8;
// What the first seconds of each are taken to gain, of the networks' time.
constexpr double kHopeOfPairs = 0.02, kHopeOfLayouts = 0.03;

bool all_empty(const std::vector<plan::CallDecisions>& chosen) {
  return std::all_of(chosen.begin(), chosen.end(),
                     [](const plan::CallDecisions& c) { return c.calls.empty(); });
}

// A search as a contender: each step ends with the search's share, too.
template <class Search>
Contender contender(const char* name, double hope_s, Search& search, std::function<bool()> used,
                    std::function<void()> decide) {
  return {.name = name,
          .hope_s = hope_s,
          .step =
              [&search, used](const Stop& stop) {
                return search.step([&] { return (stop && stop()) || used(); });
              },
          .gained_s = [&search] { return search.gained_s(); },
          .used_up = used,
          .decide = std::move(decide)};
}

}  // namespace

Searches::Searches(SessionParts& parts, Networks& networks, Loops& loops, Artifacts& artifacts,
                   Shares& shares)
    : parts_(parts), networks_(networks), loops_(loops), artifacts_(artifacts), shares_(shares) {}

void Searches::restore(size_t row, const std::string& json) try {
  const events::Parsed read = events::parse(json);
  if (!read.why.empty()) throw UserError(read.why);
  const auto told = plan_of(*read.event, parts_.models);
  if (!told) return;
  pairs_decided_ |= told->decided == "pairs";
  layouts_decided_ |= told->decided == "layouts";
  for (size_t m = 0; m < networks_.size(); ++m) {
    const plan::NetworkPlan& p = told->plans[m];
    if (told->decided == "pairs") networks_.plans[m].pairs = p.pairs;
    if (told->decided == "layouts") networks_.take_layouts(m, p.layouts);
  }
} catch (const UserError& e) {
  parts_.log.tell(events::Skipped{static_cast<int64_t>(row), e.what()});
}

void Searches::open(Contest& contest, Stop halted) {
  contest_ = &contest;
  halted_ = std::move(halted);
  open_pairs();
}

// They are for whole networks, whose artifacts are made, and decide about the vectors of CPUs.
bool Searches::may_search() const {
  const SessionOptions& o = parts_.options;
  return o.tasks == "*" && o.compile.target.is_cpu() && o.tuner.verify != Verify::kOff &&
         !o.tuner.make_space;
}

// The networks have other tasks, if anything was chosen.
void Searches::decided(const std::string& what, const std::vector<plan::CallDecisions>& chosen) {
  shares_.release();
  parts_.log.tell(plan_decided(what, parts_.models, networks_.plans));
  if (all_empty(chosen)) return;
  loops_.find();
  loops_.begin(shares_.trials_of_loops());
  artifacts_.write_all(loops_);
}

// ---- pairs --------------------------------------------------------------------------------------

// Of each task: fewer where trials are few, so that some pairs fit into the share.
int64_t Searches::pair_trials() const {
  const PairOptions& o = parts_.options.pairs;
  const double each = shares_.of(o.share).trials / (kTasksOfPair * kUsualPairs);
  return static_cast<int64_t>(
      std::clamp(each, static_cast<double>(kLeastTrials), static_cast<double>(o.trials)));
}

// One pair must fit into the share. What a lock file decided stays.
bool Searches::searches_pairs() const {
  const PairOptions& o = parts_.options.pairs;
  const Shares::Share given = shares_.of(o.share);
  if (given.seconds < kLeastPairsS || given.trials < kTasksOfPair * kLeastTrials) return false;
  const compile::Options& c = parts_.options.compile;
  return o.on && !pairs_decided_ && !layouts_decided_ && may_search() && c.fuse && !c.row_major &&
         !c.plan.pairs.decided() &&
         std::any_of(parts_.models.begin(), parts_.models.end(),
                     [](const Model& m) { return may_have_pairs(*m.graph); });
}

std::vector<PairNetworks> Searches::pair_networks() const {
  std::vector<PairNetworks> out(networks_.size());
  for (size_t m = 0; m < networks_.size(); ++m) {
    if (!may_have_pairs(*parts_.models[m].graph)) continue;
    plan::NetworkPlan all = networks_.first_plan();
    all.pairs = {{{"*", ""}}, plan::From::kGiven};
    out[m] = {networks_.decide(m, networks_.first_plan()), networks_.decide(m, all)};
  }
  return out;
}

// Joins the contest where there is a pair to try.
void Searches::open_pairs() {
  PairOptions o = parts_.options.pairs;
  o.trials = pair_trials();
  if (searches_pairs()) {
    pair_search_ =
        std::make_unique<PairSearch>(pair_networks(), parts_.options.tuner, o, parts_.measurer,
                                     &parts_.db, parts_.log.run(), parts_.tell());
  }
  if (pair_search_ == nullptr || pair_search_->pairs() == 0) return open_layouts();
  contest_->add(contender("pairs", kHopeOfPairs * loops_.network_s(), *pair_search_,
                          shares_.keep_for(*pair_search_, o.share, kTasksOfPair * o.trials),
                          [this] { decide_pairs(); }));
}

void Searches::decide_pairs() {
  const std::vector<plan::CallDecisions>& chosen = pair_search_->chosen();
  pairs_decided_ = true;
  for (size_t m = 0; m < networks_.size(); ++m) networks_.plans[m].pairs = chosen[m];
  decided("pairs", chosen);
  open_layouts();
}

// ---- layouts ------------------------------------------------------------------------------------

// Of every layout's loops: fewer where trials are few, so that several layouts fit into the share.
int64_t Searches::layout_trials() const {
  const LayoutOptions& o = parts_.options.layouts;
  if (parts_.options.tuner.trials <= 0) return o.trials;
  return std::min(o.trials, static_cast<int64_t>(shares_.of(o.share).trials) / kLeastLayouts);
}

// A few layouts must fit into the share, or loops alone are the better use of it.
bool Searches::searches_layouts() const {
  const LayoutOptions& o = parts_.options.layouts;
  if (layout_trials() < kLeastTrials) return false;
  if (shares_.of(o.share).seconds < kLeastLayoutsS) return false;
  return o.on() && !layouts_decided_ && may_search();
}

void Searches::open_layouts() {
  if (!searches_layouts()) return;
  LayoutOptions o = parts_.options.layouts;
  o.accuracy = parts_.options.compile.accuracy;
  if (parts_.options.compile.lean) o.without = plan::inflating_algorithms();
  o.trials = layout_trials();
  layout_search_ = std::make_unique<LayoutSearch>(loops_.found.tasks, loops_.found.specs,
                                                  parts_.options.tuner, o, parts_.measurer,
                                                  &parts_.db, parts_.log.run(), parts_.tell());
  contest_->add(contender("layouts", kHopeOfLayouts * loops_.network_s(), *layout_search_,
                          shares_.keep_for(*layout_search_, o.share, o.trials),
                          [this] { decide_layouts(); }));
}

void Searches::decide_layouts() {
  layout_search_->keep_learned();
  std::vector<DecideWithTimes> decide;
  for (size_t m = 0; m < networks_.size(); ++m) {
    decide.push_back([this, m](const plan::LayoutTimes& t) {
      plan::NetworkPlan free = networks_.plans[m];
      free.layouts = {};
      return networks_.decide(m, free, t);
    });
  }
  const std::vector<plan::CallDecisions> chosen =
      tune::decide_layouts(layout_search_->layout_times(), decide, parts_.options.tuner,
                           parts_.measurer, &parts_.db, parts_.log.run(), halted_);
  layouts_decided_ = true;
  for (size_t m = 0; m < networks_.size(); ++m) networks_.take_layouts(m, chosen[m]);
  decided("layouts", chosen);
}

}  // namespace tenon::tune
