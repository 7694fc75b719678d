// SPDX-License-Identifier: Apache-2.0
#include "cost/loop_features.h"

#include <algorithm>
#include <cmath>

#include "cost/columns.h"
#include "cost/statements.h"
#include "support/check.h"
#include "support/hash.h"

namespace tenon::cost {

namespace {

using schedule::Mark;

constexpr uint64_t kFormulas = 1;  // raised when a column comes to mean something else

enum Annotation : size_t { kUnrolled = 6, kVectorized, kParallel, kSerial, kVirtualThread };

size_t annotation_of(const NestLoop& l) {
  switch (l.mark) {
    case Mark::kThread:
      return l.tag == ir::ThreadTag::kVThread ? static_cast<size_t>(kVirtualThread)
                                              : static_cast<size_t>(l.tag) - 1;
    case Mark::kUnroll:
      return kUnrolled;
    case Mark::kVectorize:
      return kVectorized;
    case Mark::kParallel:
      return kParallel;
    default:
      return kSerial;
  }
}

// Blocks stand above threads, those above what one thread runs.
int level_of(size_t annotation) {
  if (annotation < 3) return 2;
  return annotation < kUnrolled || annotation == kParallel ? 1 : 0;
}

void add_loops(const Statement& s, LoopContext& c) {
  double topdown = 1, bottomup = iterations(s.loops);
  for (const NestLoop& l : s.loops) {
    const auto length = static_cast<double>(l.extent);
    topdown *= length;
    c.loops.push_back({length, topdown, bottomup, annotation_of(l)});
    bottomup /= length;
  }
}

// From the innermost loop outwards. Where a parallel loop encloses one of the level below, what the
// inner one touches is the base of all loops of its level.
void add_access(const Statement& s, const Access& a, size_t column, LoopContext& c) {
  AccessFacts now;
  double base_count[3] = {}, base_reuse[3] = {};  // by level
  for (size_t i = c.loops.size(); i-- > 0;) {
    now.stride = stride_of(s, a, i);
    (now.stride != 0 ? now.count : now.reuse) *= c.loops[i].length;
    const int level = level_of(c.loops[i].annotation);
    AccessFacts& out = c.touched[i * c.accesses + column];
    out = now;
    if (base_count[level] > 0) {
      out.thread_count = std::floor(now.count / base_count[level]);
      out.thread_reuse = std::floor(now.reuse / base_reuse[level]);
    }
    if (i > 0 && level_of(c.loops[i - 1].annotation) == level + 1) {
      base_count[level + 1] = now.count;
      base_reuse[level + 1] = now.reuse;
    }
  }
}

void add_accesses(const Statement& s, LoopContext& c) {
  c.accesses = s.accesses.size();
  c.touched.resize(c.loops.size() * c.accesses);
  for (size_t a = 0; a < c.accesses; ++a) add_access(s, s.accesses[a], a, c);
  c.last.resize(s.uses.size());
  for (size_t a = 0; a < c.accesses; ++a) c.last[s.accesses[a].use] = a;
}

void write_own_tail(const Statement& s, LoopContext& c) {
  double products[kAnnotations];
  std::fill_n(products, kAnnotations, 1.0);
  double threads = 1;
  for (const LoopFacts& l : c.loops) {
    products[l.annotation] *= l.length;
    if (l.annotation < kUnrolled) threads *= l.length;
  }
  ColumnWriter tail(c.tail);
  tail.squashed(s.ops[kAddSub] + s.ops[kMulAdd]);
  tail.squashed(s.ops[kMul] + s.ops[kMulAdd]);
  tail.squashed(s.ops[kDivMod]);
  for (const Annotation a : {kVectorized, kUnrolled, kParallel}) tail.squashed(products[a]);
  tail.squashed(threads);
  tail.squashed(static_cast<double>(s.stage->unroll_limit));
  tail.squashed(s.allocates ? s.alloc_elements : 0);
  tail.squashed(iterations(s.loops));
}

void write_loop(ColumnWriter& row, const LoopContext& c, size_t i) {
  const LoopFacts& l = c.loops[i];
  row.squashed(l.length);
  row.exact(static_cast<double>(i + 1));
  row.squashed(l.topdown);
  row.squashed(l.bottomup);
  row.one_hot(l.annotation, kAnnotations);
  const size_t shown = std::min(c.accesses, kAccesses);
  for (size_t a = 0; a < shown; ++a) {
    const AccessFacts& f = c.at(i, a);
    for (const double v : {f.stride, f.count, f.reuse, f.thread_count, f.thread_reuse}) {
      row.squashed(v);
    }
  }
  row.skip(5 * (kAccesses - shown));
}

using Curve = std::vector<double>;

// At each threshold the last point of x below it: what y is there, and how far below it is.
void write_relation(const Curve& x, const Curve& y, std::vector<float>& out) {
  size_t j = 0;
  for (size_t i = 0; i < kThresholds; ++i) {
    const auto threshold = static_cast<double>(i);
    while (j + 1 < x.size() && x[j + 1] <= threshold) ++j;
    out.push_back(static_cast<float>(y[j]));
    out.push_back(static_cast<float>(threshold - x[j]));
  }
}

Row row_of(uint32_t width) { return {std::vector<float>(width), width, {}}; }

}  // namespace

LoopContext loop_context(const schedule::State& s, const schedule::Bounds& b) {
  LoopContext c;
  double most = -1, all = 0, statements = 0;
  for_each_statement(
      s, b,
      [&](Statement& st) {
        const double runs = iterations(st.loops), work = runs * (1 + arithmetic(st.ops));
        all += runs;
        ++statements;
        if (work <= most) return;
        most = work;
        c = {};
        add_loops(st, c);
        add_accesses(st, c);
        write_own_tail(st, c);
      },
      UnitLoops::kKept);
  c.tail[kTail - 2] = slog(all);
  c.tail[kTail - 1] = slog(statements);
  return c;
}

Row itervar_features(const schedule::State& s, const schedule::Bounds& b) {
  const LoopContext c = loop_context(s, b);
  Row out = row_of(kItervarColumns);
  ColumnWriter row(out.values.data());
  const size_t shown = std::min(c.loops.size(), kLoops);
  for (size_t i = 0; i < shown; ++i) write_loop(row, c, c.loops.size() - 1 - i);
  std::copy_n(c.tail, kTail, out.values.end() - kTail);
  return out;
}

std::vector<float> curve_of(const LoopContext& c, size_t access) {
  Curve count{0}, reuse{0}, topdown{0};
  for (size_t i = 0; i < c.loops.size(); ++i) {
    count.push_back(std::log2(c.at(i, access).count));
    reuse.push_back(std::log2(c.at(i, access).reuse));
    topdown.push_back(std::log2(c.loops[i].topdown));
  }
  for (Curve* curve : {&count, &reuse, &topdown}) std::sort(curve->begin(), curve->end());
  std::vector<float> out;
  write_relation(count, reuse, out);
  write_relation(reuse, count, out);
  write_relation(count, topdown, out);
  write_relation(topdown, count, out);
  return out;
}

Row curve_features(const schedule::State& s, const schedule::Bounds& b) {
  const LoopContext c = loop_context(s, b);
  Row out = row_of(kCurveColumns);
  const size_t shown = std::min(c.last.size(), kAccesses);
  for (size_t u = 0; u < shown; ++u) {
    const std::vector<float> curve = curve_of(c, c.last[u]);
    TENON_DCHECK(curve.size() == kCurveOfBuffer);
    std::copy(curve.begin(), curve.end(),
              out.values.begin() + static_cast<std::ptrdiff_t>(u * kCurveOfBuffer));
  }
  std::copy_n(c.tail, kTail, out.values.end() - kTail);
  return out;
}

uint64_t loop_feature_hash() {
  Hasher h;
  for (const uint64_t v : {kFormulas, uint64_t{kItervarColumns}, uint64_t{kCurveColumns}}) h.add(v);
  return h.value();
}

}  // namespace tenon::cost
