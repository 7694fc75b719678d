// SPDX-License-Identifier: Apache-2.0
#include "history/recorded.h"

#include "cost/features.h"
#include "search/space/spaces.h"
#include "support/rng.h"
#include "te/text.h"

namespace tenon::history {
namespace {

// Something that follows from the features, the same for every task.
double made_up_seconds(const schedule::State& s) {
  const auto row = cost::extract(s);
  double sum = 0;
  for (size_t i = 0; i < row->values.size(); ++i) {
    sum += row->values[i] * static_cast<double>(1 + i % 7);
  }
  return 1e-6 * (1 + sum);
}

}  // namespace

task::Task product(int64_t columns, int64_t depth) {
  return search::make_task([=](te::Builder& b) {
    const auto x = b.input("A", ir::kF32, {32, depth});
    b.output(te::matmul(b, "C", x, b.constant("W", ir::kF32, {depth, columns})));
  });
}

Where where(const task::Task& t) { return {t.target, kMachine, kHow}; }

void Recorded::add_row(const task::Task& t) {
  db->add_task({t.key, te::to_text(*t.dag), task::edges_text(t.edges), t.label, t.flops});
}

void Recorded::add(const task::Task& t, const std::string& trace, double seconds,
                   task::Outcome outcome) {
  task::Measurement m;
  m.task = t.key;
  m.target = kMachine;
  m.protocol = kHow;
  m.trace = trace;
  m.outcome = outcome;
  if (outcome == task::Outcome::kOk) {
    m.seconds = {seconds};
    m.best_s = m.median_s = m.low_s = m.high_s = seconds;
  } else {
    m.error = "it did not run";
  }
  db->record({m});
}

void Recorded::add(const task::Task& t, size_t n, uint64_t seed) {
  add_row(t);
  const auto space = search::make_space("sketch", t);
  Rng rng(seed);
  std::vector<task::Measurement> all;
  while (all.size() < n) {
    const auto p = space->sample(rng);
    if (!p) continue;
    task::Measurement m;
    m.task = t.key;
    m.target = kMachine;
    m.protocol = kHow;
    m.trace = schedule::to_json(p->trace);
    m.choices = to_json(p->choices);
    m.seconds = {made_up_seconds(p->state)};
    m.best_s = m.median_s = m.low_s = m.high_s = m.seconds[0];
    all.push_back(std::move(m));
  }
  db->record(all);
}

}  // namespace tenon::history
