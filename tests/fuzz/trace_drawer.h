// SPDX-License-Identifier: Apache-2.0
// The trace that grows, and the two tables that it grows from: one proposal per primitive, and structures of
// several steps.
#pragma once

#include <span>
#include <vector>

#include "fuzz/random_trace.h"

namespace tenon::fuzz {

class TraceDrawer {
 public:
  TraceDrawer(const schedule::State& initial, Rng& random, const TraceOptions& options,
              Counts* counts)
      : rng(random), drawn_{{}, initial, ""}, options_(options), counts_(counts) {}

  Rng& rng;
  const schedule::State& state() const { return drawn_.state; }
  const schedule::Stage& stage(schedule::StageRef s) const { return drawn_.state[s]; }
  bool done() const {
    return !drawn_.problem.empty() || static_cast<int>(drawn_.trace.size()) >= options_.max_steps;
  }
  // Applies the step if it is legal and there is room.
  bool take(const schedule::Step& step);
  Drawn finish() { return std::move(drawn_); }

  // Any stage; one that has loops (-1 if none has); one of its leaves.
  schedule::StageRef any_stage();
  schedule::StageRef loop_stage();
  schedule::LoopRef leaf(schedule::StageRef s);
  schedule::StageRef reader_of(schedule::StageRef s);
  // Those whose rounding cannot decide what is computed from the stage: small tiles do not round whole numbers. Bfloat16
  // rounds more than ops behind it can take.
  std::vector<schedule::AlgorithmRow> algorithms_for(schedule::StageRef s) const;
  int64_t factor(int64_t extent);
  ir::Scope scope();
  template <class T>
  void shuffle(std::vector<T>& v) {
    for (size_t i = v.size(); i > 1; --i) {
      std::swap(v[i - 1], v[static_cast<size_t>(rng.between(0, static_cast<int64_t>(i) - 1))]);
    }
  }

 private:
  Drawn drawn_;
  const TraceOptions& options_;
  Counts* counts_;
};

// A row of a table by its weight.
template <class Row>
const Row& pick_weighted(std::span<const Row> rows, Rng& rng) {
  int64_t total = 0;
  for (const Row& r : rows) {
    total += r.weight;
  }
  int64_t ticket = rng.between(0, total - 1);
  for (const Row& r : rows) {
    ticket -= r.weight;
    if (ticket < 0) {
      return r;
    }
  }
  return rows.back();
}

struct Proposal {
  std::string_view primitive;
  int weight;
  schedule::Step (*draw)(TraceDrawer&);
};
std::span<const Proposal> proposals();

struct Structure {
  std::string_view name;
  int weight;
  void (*build)(TraceDrawer&);
};
std::span<const Structure> loop_structures();
std::span<const Structure> layout_structures();

}  // namespace tenon::fuzz
