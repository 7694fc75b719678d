// SPDX-License-Identifier: Apache-2.0
#include "cost/features.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "cost/columns.h"
#include "cost/statements.h"
#include "cost/traffic.h"
#include "support/hash.h"

namespace tenon::cost {

namespace {

using schedule::LoopKind;
using schedule::Mark;

constexpr uint64_t kFormulas = 2;  // raised when a column comes to mean something else
constexpr size_t kBuffers = 5;
constexpr size_t kSamples = 10;
constexpr size_t kPositions = 8;

enum Position : size_t {
  kNowhere,
  kInnerSpatial,
  kMiddleSpatial,
  kOuterSpatial,
  kInnerReduce,
  kMiddleReduce,
  kOuterReduce,
  kMixed
};

// Where the loops with a mark stand among the loops of their kind.
struct MarkedLoops {
  double count = 0, product = 1, innermost = 0;
  Position position = kNowhere;
};

MarkedLoops marked(std::span<const NestLoop> loops, Mark mark) {
  MarkedLoops out;
  const NestLoop *first[2] = {}, *last[2] = {};
  bool kinds[2] = {}, has_first = false, has_last = false;
  for (const NestLoop& l : loops) {
    const size_t k = l.kind == LoopKind::kReduce;
    if (first[k] == nullptr) first[k] = &l;
    last[k] = &l;
  }
  for (const NestLoop& l : loops) {
    if (l.mark != mark) continue;
    const size_t k = l.kind == LoopKind::kReduce;
    ++out.count;
    out.product *= static_cast<double>(l.extent);
    out.innermost = static_cast<double>(l.extent);
    kinds[k] = true;
    has_first |= first[k] == &l;
    has_last |= last[k] == &l;
  }
  if (out.count == 0) return {0, 0, 0, kNowhere};
  if ((kinds[0] && kinds[1]) || (has_first && has_last && out.count > 1)) {
    out.position = kMixed;
  } else {
    const size_t place = has_last ? 0 : has_first ? 2 : 1;
    out.position = static_cast<Position>((kinds[1] ? kInnerReduce : kInnerSpatial) + place);
  }
  return out;
}

void write_marked(ColumnWriter& row, std::span<const NestLoop> loops, Mark mark) {
  const MarkedLoops m = marked(loops, mark);
  row.squashed(m.count);
  row.squashed(m.product);
  row.squashed(m.innermost);
  row.one_hot(m.position, kPositions);
}

void write_threads(ColumnWriter& row, std::span<const NestLoop> loops) {
  double extents[8] = {1, 1, 1, 1, 1, 1, 1, 1};  // by tag; none first
  bool gpu = false;
  for (const NestLoop& l : loops) {
    if (l.mark != Mark::kThread) continue;
    gpu = true;
    double& e = extents[static_cast<size_t>(l.tag)];
    e = l.tag == ir::ThreadTag::kVThread ? e * static_cast<double>(l.extent)
                                         : static_cast<double>(l.extent);
  }
  row.exact(gpu ? 1 : 0);
  for (size_t t = 1; t < 8; ++t) row.squashed(extents[t]);
}

void write_buffer(ColumnWriter& row, const Traffic& t) {
  row.one_hot(t.read && t.written ? 2 : t.written ? 1 : 0, 3);
  row.squashed(t.bytes);
  row.squashed(t.unique_bytes);
  row.squashed(t.lines);
  row.squashed(t.unique_lines);
  row.one_hot(static_cast<size_t>(t.reuse), 3);
  row.squashed(t.distance_iterations);
  row.squashed(t.distance_bytes);
  row.squashed(t.reuse_count);
  const double per = t.reuse_count > 0 ? t.reuse_count : 0.5;
  row.squashed(t.bytes / per);
  row.squashed(t.unique_bytes / per);
  row.squashed(t.lines / per);
  row.squashed(t.unique_lines / per);
  row.squashed(t.stride);
}

// The busiest first; equal ones as they appear.
void write_buffers(ColumnWriter& row, const std::vector<Traffic>& all, std::vector<size_t>& order) {
  order.resize(all.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (all[a].lines != all[b].lines) return all[a].lines > all[b].lines;
    return all[a].bytes != all[b].bytes ? all[a].bytes > all[b].bytes : a < b;
  });
  for (size_t i = 0; i < kBuffers; ++i) {
    if (i < order.size()) {
      write_buffer(row, all[order[i]]);
    } else {
      row.skip(18);
    }
  }
}

// Operations per byte against operations, innermost loop to outermost, sampled at equal steps of the logarithm.
void write_curve(ColumnWriter& row, const std::vector<LevelWork>& levels) {
  if (levels.empty() || levels.back().ops <= 1) return row.skip(kSamples);
  const auto x = [&](size_t p) { return std::log2(std::max(levels[p].ops, 1.0)); };
  const auto y = [&](size_t p) { return std::log2(1 + levels[p].ops / levels[p].bytes); };
  const double end = x(levels.size() - 1);
  size_t p = 0;
  for (size_t i = 0; i < kSamples; ++i) {
    const double at = end * static_cast<double>(i + 1) / static_cast<double>(kSamples);
    while (p < levels.size() && x(p) < at) ++p;
    if (p == 0 || p == levels.size()) {
      row.exact(y(p == 0 ? 0 : p - 1));
    } else {
      const double share = (at - x(p - 1)) / (x(p) - x(p - 1));
      row.exact(y(p - 1) + share * (y(p) - y(p - 1)));
    }
  }
}

void write_allocation(ColumnWriter& row, const Statement& s) {
  if (!s.allocates) return row.skip(4);
  const double around = iterations(std::span(s.loops).first(s.alloc_depth));
  row.squashed(s.alloc_elements * s.uses[0].bytes);
  row.squashed(s.alloc_elements * around);
  row.squashed(around);
  row.squashed(iterations(s.loops) / around);
}

void write_statement(float* values, Statement& s, TrafficMeter& meter, std::vector<size_t>& order) {
  ColumnWriter row(values);
  const double outer = iterations(s.loops);
  for (const double n : s.ops) row.squashed(n * outer);
  for (const Mark m : {Mark::kVectorize, Mark::kUnroll, Mark::kParallel}) {
    write_marked(row, s.loops, m);
  }
  write_threads(row, s.loops);
  meter.measure(s, arithmetic(s.ops));
  write_buffers(row, meter.traffic(), order);
  write_curve(row, meter.levels());
  write_allocation(row, s);
  row.squashed(outer);
  row.squashed(static_cast<double>(s.loops.size()));
  row.squashed(static_cast<double>(s.stage->unroll_limit));
  TENON_DCHECK(row.at() == values + kFeatures);
}

std::array<std::string, kFeatures> make_names() {
  std::array<std::string, kFeatures> names;
  size_t n = 0;
  const auto add = [&](const std::string& prefix, std::initializer_list<const char*> parts) {
    for (const char* p : parts) names[n++] = prefix + p;
  };
  for (const char* type : {"float", "int"}) {
    add(type, {"_mad", "_addsub", "_mul", "_divmod", "_compare", "_math", "_other"});
  }
  add("", {"bool_ops", "selects"});
  for (const char* mark : {"vectorized", "unrolled", "parallel"}) {
    add(mark, {"_loops", "_product", "_innermost", "_at_none", "_at_inner_spatial",
               "_at_middle_spatial", "_at_outer_spatial", "_at_inner_reduce", "_at_middle_reduce",
               "_at_outer_reduce", "_at_mixed"});
  }
  add("",
      {"is_gpu", "block_x", "block_y", "block_z", "thread_x", "thread_y", "thread_z", "vthread"});
  for (size_t b = 0; b < kBuffers; ++b) {
    add("buffer" + std::to_string(b),
        {"_read", "_write", "_read_write", "_bytes", "_unique_bytes", "_lines", "_unique_lines",
         "_reuse_loop", "_reuse_serial", "_reuse_none", "_reuse_iterations", "_reuse_bytes",
         "_reuse_count", "_bytes_per_reuse", "_unique_bytes_per_reuse", "_lines_per_reuse",
         "_unique_lines_per_reuse", "_stride"});
  }
  for (size_t i = 0; i < kSamples; ++i) add("intensity" + std::to_string(i), {""});
  add("alloc", {"_bytes", "_elements_total", "_outer", "_inner"});
  add("", {"outer_product", "loops", "unroll_limit"});
  TENON_CHECK(n == kFeatures) << n << " names";
  return names;
}

}  // namespace

Row extract(const schedule::State& s, const schedule::Bounds& b) {
  Row out;
  out.width = kFeatures;
  TrafficMeter meter(static_cast<double>(s.target().line_bytes()));
  std::vector<size_t> order;
  for_each_statement(s, b, [&](Statement& st) {
    out.values.resize(out.values.size() + kFeatures, 0.0F);
    write_statement(&out.values[out.values.size() - kFeatures], st, meter, order);
  });
  return out;
}

Result<Row> extract(const schedule::State& s) {
  const auto bounds = schedule::infer_bounds(s, -1, schedule::BoundsFor::kSearch);
  if (!bounds) return bounds.illegal();
  return extract(s, *bounds);
}

const std::array<std::string, kFeatures>& feature_names() {
  static const std::array<std::string, kFeatures> names = make_names();
  return names;
}

uint64_t feature_hash() {
  Hasher h;
  h.add(kFormulas);
  for (const std::string& n : feature_names()) h.add(n);
  return h.value();
}

}  // namespace tenon::cost
