// SPDX-License-Identifier: Apache-2.0
#include "report/network/runs.h"

#include <algorithm>

namespace tenon::report {
namespace {

constexpr size_t kLongest = 64;    // steps of one repetition
constexpr size_t kLeastTimes = 3;  // that are worth a row of their own
constexpr size_t kLeastSaved = 4;  // rows

bool same_tensor(const StoredTensor& a, const StoredTensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.steps == b.steps;
}

// Node i does what node j does, to what lies as far above it.
bool alike(const Network& n, size_t i, size_t j) {
  const NetworkNode &a = n.nodes[i], &b = n.nodes[j];
  if (a.kind == NodeKind::kInput || a.kind != b.kind || a.task != b.task || a.name != b.name ||
      !a.gives.empty() || !b.gives.empty()) {
    return false;
  }
  return std::equal(a.reads.begin(), a.reads.end(), b.reads.begin(), b.reads.end(),
                    [&](size_t x, size_t y) { return i - x == j - y; }) &&
         std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(),
                    same_tensor);
}

// How often the steps from `begin` are there one after the other, if a repetition has `steps` of them.
size_t times_from(const Network& n, size_t begin, size_t steps) {
  size_t at = begin + steps;
  while (at < n.nodes.size() && alike(n, at, at - steps)) ++at;
  return (at - begin) / steps;
}

struct Run {
  size_t steps = 0, times = 0;
  size_t saved() const { return times < kLeastTimes ? 0 : steps * (times - 1); }
};

Run best_run(const Network& n, size_t begin) {
  Run best;
  for (size_t steps = 1; steps <= kLongest && begin + 2 * steps <= n.nodes.size(); ++steps) {
    const Run run{steps, times_from(n, begin, steps)};
    if (run.saved() > best.saved()) best = run;
  }
  return best.saved() >= kLeastSaved ? best : Run{};
}

}  // namespace

PictureRows collapse_runs(const Network& n) {
  PictureRows out;
  out.of.resize(n.nodes.size());
  for (size_t i = 0; i < n.nodes.size();) {
    const Run run = best_run(n, i);
    const size_t shown = run.times > 0 ? run.steps : 1;
    for (size_t s = 0; s < shown; ++s, ++i) {
      out.of[i] = out.rows.size();
      out.rows.push_back({i});
    }
    if (run.times == 0) continue;
    const size_t hidden = run.steps * (run.times - 1);
    for (size_t h = 0; h < hidden; ++h) out.of[i + h] = out.rows.size();
    out.rows.push_back({i, run.steps, run.times - 1});
    i += hidden;
  }
  return out;
}

}  // namespace tenon::report
