// SPDX-License-Identifier: Apache-2.0
#include "tune/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "measure/cores.h"
#include "support/check.h"
#include "te/text.h"

namespace tenon::tune {
namespace {

using task::Measurement;
using task::Outcome;

constexpr int64_t kMostUndecided = 64;  // one after the other
constexpr size_t kMostWrong = 8;        // bests of a task that are compared at most

int threads_beside(const measure::Measurer& m, const GatherOptions& o) {
  if (o.threads > 0) return o.threads;
  const auto spare = m.spare_cpus();
  return spare.empty() ? threads_of({}) : static_cast<int>(spare.size());
}

}  // namespace

Gatherer::Gatherer(std::vector<TaskToGather> tasks, const GatherOptions& options,
                   measure::Measurer& measurer, db::Database& db, std::string run,
                   std::function<void(const Gathered&)> tell,
                   std::function<void(const std::string&)> warn)
    : given_(std::move(tasks)),
      options_(options),
      measurer_(measurer),
      db_(db),
      run_(std::move(run)),
      tell_(std::move(tell)),
      warn_(std::move(warn)),
      in_flight_(measurer) {
  options_.threads = threads_beside(measurer, options);
  sum_.tasks = std::ssize(given_);
}

std::vector<Measurement> Gatherer::records_of(const task::Task& t) const {
  return db_.measurements({t.key, measurer_.target(*t.target), measurer_.protocol(), ""});
}

void Gatherer::open_next() {
  const size_t i = next_++;
  const task::Task& t = given_[i].task.task;
  db_.add_task({t.key, te::to_text(*t.dag), task::edges_text(t.edges), t.label, t.flops});
  auto opened = std::make_unique<GatherTask>(std::move(given_[i]), options_, options_.threads);
  opened->read(records_of(opened->task()));
  sum_.known += opened->known();
  open_[i] = std::move(opened);
}

// A fault of ours ends this task alone. False: it has nothing more to measure.
bool Gatherer::begin_batch(size_t i) {
  GatherTask& t = *open_.at(i);
  Batch batch{.entry = i};
  try {
    batch.proposed = t.next(options_.batch);
  } catch (const InternalError& e) {
    warn_(fmt::format("task {} ({}) is left: {}", t.task().key, t.task().label, e.what()));
  }
  if (batch.proposed.empty()) return false;
  std::vector<schedule::Trace> traces;
  for (const space::Program& p : batch.proposed) traces.push_back(p.trace);
  const Measurement* best = t.history().best(false);
  busy_.insert(i);
  in_flight_.submit(std::move(batch), t.task(), traces, best == nullptr ? 0 : best->median_s);
  return true;
}

void Gatherer::fill() {
  for (;;) {
    while (open_.size() < options_.open_tasks && next_ < given_.size()) open_next();
    std::vector<size_t> ended;
    for (const auto& [i, t] : open_) {
      if (!busy_.contains(i) && !begin_batch(i)) ended.push_back(i);
    }
    for (const size_t i : ended) close(i, true);
    if (ended.empty() || next_ >= given_.size()) return;
  }
}

// What the machine failed to find out is no record. One that finds out nothing any more is of no
// use.
void Gatherer::record(const std::vector<Measurement>& batch) {
  std::vector<Measurement> decided;
  for (const Measurement& m : batch) {
    const bool open = m.outcome == Outcome::kUndecided;
    undecided_ = open ? undecided_ + 1 : 0;
    if (undecided_ >= kMostUndecided) {
      throw UserError(fmt::format("{} programs in a row could not be judged; the last: {}",
                                  undecided_, m.error),
                      "what was recorded is safe; the same command goes on from there");
    }
    if (open) continue;
    ++sum_.measured;
    ++sum_.outcomes[to_string(m.outcome)];
    if (m.outcome != Outcome::kOk) ++sum_.failed;
    decided.push_back(m);
  }
  db_.record(decided);
}

void Gatherer::finish_batch() {
  Batch b = in_flight_.take();
  busy_.erase(b.entry);
  GatherTask& t = *open_.at(b.entry);
  std::vector<Measurement> got = b.answers();
  for (size_t i = 0; i < got.size(); ++i) {
    got[i].run = run_;
    if (b.proposed[i].choices.empty()) got[i].choices.clear();  // they are not known
  }
  record(got);
  const int64_t before = t.known();
  t.learn(b.proposed, got);
  sum_.known += t.known() - before;
  if (tell_) tell_(sum_);
}

// A wrong one is recorded as wrong, and the next best has its turn.
void Gatherer::verify_best(GatherTask& t) {
  for (size_t tries = 0; tries < kMostWrong; ++tries) {
    const auto fastest = t.history().fastest(1);
    if (fastest.empty() || fastest[0]->verified) return;
    Measurement m = *fastest[0];
    const measure::Verdict v = measurer_.verify(t.task(), schedule::trace_from_json(m.trace));
    if (!v.right() && !v.wrong()) return;
    m.run = run_;
    m.verified = v.right();
    if (v.wrong()) {
      m.outcome = Outcome::kWrong;
      m.error = v.why;
      m.seconds.clear();
      warn_(
          fmt::format("task {} ({}): a program is wrong: {}", t.task().key, t.task().label, v.why));
    }
    db_.record({m});
    t.correct(m);
    ++(v.right() ? sum_.verified : sum_.wrong);
    if (v.right()) return;
  }
}

void Gatherer::close(size_t i, bool complete) {
  const auto it = open_.find(i);
  if (options_.verify) verify_best(*it->second);
  sum_.refused += it->second->refused();
  sum_.complete += complete ? 1 : 0;
  open_.erase(it);
}

const Gathered& Gatherer::run(const std::function<bool()>& stop) {
  const measure::KeepTo here(measurer_.spare_cpus());
  while (!(stop && stop())) {
    fill();
    if (in_flight_.batches() == 0) return sum_;
    if (!in_flight_.await(stop)) break;
    finish_batch();
  }
  in_flight_.drain();
  while (in_flight_.batches() > 0) finish_batch();
  return sum_;
}

void Gatherer::verify_open(const std::function<bool()>& stop) {
  while (!open_.empty() && !(stop && stop())) close(open_.begin()->first, false);
}

}  // namespace tenon::tune
