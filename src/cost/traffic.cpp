// SPDX-License-Identifier: Apache-2.0
#include "cost/traffic.h"

#include <algorithm>
#include <limits>

namespace tenon::cost {
namespace {

template <typename Fn>
void for_each_index(const Statement& s, const Dim& d, Fn fn) {
  for (int32_t i = d.first_index; i >= 0; i = s.distinct[static_cast<size_t>(i)].next) {
    fn(s.distinct[static_cast<size_t>(i)].form);
  }
}

}  // namespace

void TrafficMeter::measure(Statement& s, double ops_per_iteration) {
  traffic_.assign(s.uses.size(), {});
  find_moves(s);
  touch(s, ops_per_iteration);
  const double total = iterations(s.loops);
  for (size_t u = 0; u < s.uses.size(); ++u) {
    traffic_[u].read = s.uses[u].read;
    traffic_[u].written = s.uses[u].written;
    traffic_[u].bytes = total * s.uses[u].bytes;
    find_lines(s, u);
    find_unique_lines(s, u);
    find_reuse(s, u);
  }
}

void TrafficMeter::find_moves(const Statement& s) {
  const size_t n = s.loops.size();
  moves_.assign(s.uses.size() * n, 0);
  for (size_t u = 0; u < s.uses.size(); ++u) {
    for (size_t d = 0; d < s.uses[u].rank; ++d) {
      for_each_index(s, s.dims[s.uses[u].first_dim + d], [&](FormId f) {
        for (size_t l = 0; l < n; ++l) {
          char& m = moves_[u * n + l];
          if (m == 0 && s.forms.uses(f, l)) m = 1;
        }
      });
    }
  }
}

// From the innermost loop outwards: what is touched while this loop and those inside it run.
void TrafficMeter::touch(Statement& s, double ops_per_iteration) {
  levels_.clear();
  region_.assign(s.dims.size(), 1);
  for (size_t u = 0; u < s.uses.size(); ++u) {
    traffic_[u].unique_bytes = touched(s, u) * s.uses[u].bytes;
  }
  double ops = ops_per_iteration;
  for (size_t i = s.loops.size(); i-- > 0;) {
    s.forms.run_loop(i);
    ops *= static_cast<double>(s.loops[i].extent);
    double bytes = 0;
    for (size_t u = 0; u < s.uses.size(); ++u) {
      if (moves(s, u, i)) traffic_[u].unique_bytes = touched(s, u) * s.uses[u].bytes;
      record(s.loops[i].id, s.uses[u], traffic_[u].unique_bytes / s.uses[u].bytes);
      bytes += traffic_[u].unique_bytes;
    }
    levels_.push_back({ops, bytes});
  }
}

// Elements of the box around all accesses, cut off where the tensor ends.
double TrafficMeter::touched(const Statement& s, size_t use) {
  const Use& u = s.uses[use];
  double elements = 1;
  for (size_t d = 0; d < u.rank; ++d) {
    Range box{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    for_each_index(s, s.dims[u.first_dim + d], [&](FormId f) {
      const Range r = s.forms.range(f);
      box = {std::min(box.lo, r.lo), std::max(box.hi, r.hi)};
    });
    const double width = std::clamp(box.hi - box.lo + 1, 1.0, s.dims[u.first_dim + d].whole);
    region_[u.first_dim + d] = width;
    elements *= width;
  }
  return elements;
}

void TrafficMeter::record(int32_t loop, const Use& u, double elements) {
  if (loops_.size() <= static_cast<size_t>(loop)) loops_.resize(static_cast<size_t>(loop) + 1);
  LoopTouches& l = loops_[static_cast<size_t>(loop)];
  touches_.push_back({u.buffer, elements, l.first});
  l.first = static_cast<int32_t>(touches_.size()) - 1;
  l.bytes += elements * u.bytes;
}

// How far one step of the loop goes in memory: the least over the accesses that it moves.
double TrafficMeter::least_stride(const Statement& s, size_t use, size_t loop) const {
  double least = std::numeric_limits<double>::infinity();
  for (const Access& a : s.accesses) {
    if (a.use != use) continue;
    if (const double far = stride_of(s, a, loop); far > 0) least = std::min(least, far);
  }
  return least;
}

void TrafficMeter::find_lines(const Statement& s, size_t use) {
  Traffic& t = traffic_[use];
  double steps = iterations(s.loops);
  double share = 1;
  for (size_t i = s.loops.size(); i-- > 0;) {
    if (moves(s, use, i)) {
      const double stride = least_stride(s, use, i);
      share = std::min(1.0, stride * s.uses[use].bytes / line_bytes_);
      if (i + 1 == s.loops.size()) t.stride = stride;
      break;
    }
    steps /= static_cast<double>(s.loops[i].extent);
  }
  t.lines = std::max(1.0, steps * share);
}

void TrafficMeter::find_unique_lines(const Statement& s, size_t use) {
  const Use& u = s.uses[use];
  double run = u.bytes;  // contiguous bytes
  for (size_t d = u.rank; d-- > 0;) {
    const Dim& dim = s.dims[u.first_dim + d];
    const double width = std::min(region_[u.first_dim + d], dim.held);
    run *= width;
    if (width < dim.held) break;
  }
  Traffic& t = traffic_[use];
  t.unique_lines = std::max(1.0, t.unique_bytes / std::min(line_bytes_, run));
}

void TrafficMeter::find_reuse(const Statement& s, size_t use) {
  Traffic& t = traffic_[use];
  double distance = 1, bytes = 0;
  for (const Use& u : s.uses) bytes += u.bytes;
  for (size_t i = s.loops.size(); i-- > 0;) {
    const NestLoop& loop = s.loops[i];
    if (!moves(s, use, i)) {
      t.reuse = Reuse::kLoop;
      t.distance_iterations = distance;
      t.distance_bytes = bytes;
      t.reuse_count = static_cast<double>(loop.extent);
      return;
    }
    distance *= static_cast<double>(loop.extent);
    bytes = loops_[static_cast<size_t>(loop.id)].bytes;
    if (find_serial_reuse(loop, s.uses[use], t)) return;
  }
}

bool TrafficMeter::find_serial_reuse(const NestLoop& loop, const Use& u, Traffic& t) const {
  const LoopTouches& all = loops_[static_cast<size_t>(loop.id)];
  double count = 0, least = std::numeric_limits<double>::infinity();
  for (int32_t i = all.first; i >= 0; i = touches_[static_cast<size_t>(i)].next) {
    const Touch& touch = touches_[static_cast<size_t>(i)];
    if (touch.buffer != u.buffer) continue;
    ++count;
    least = std::min(least, touch.elements);
  }
  if (count < 2) return false;
  t.reuse = Reuse::kSerial;
  t.distance_iterations = least / static_cast<double>(loop.extent);
  t.distance_bytes = all.bytes / static_cast<double>(loop.extent);
  t.reuse_count = count - 1;
  return true;
}

}  // namespace tenon::cost
