// SPDX-License-Identifier: Apache-2.0
#include "templates/loops.h"

#include <algorithm>

#include "ir/visit.h"
#include "te/access.h"
#include "templates/anchor.h"

namespace tenon::templates {

namespace {

constexpr int64_t kMinWork = 256;  // vectors

// The axis along which an operand is contiguous while the last one strides through it: square tiles keep both in cache.
std::optional<size_t> transposed_axis(const te::ComputeOp& op,
                                      const std::vector<te::Access>& accesses) {
  for (const te::Access& a : accesses) {
    const size_t last = op.axes.size() - 1;
    if (!a.affine || a.strides[last] <= 1) continue;
    for (size_t d = 0; d < last; ++d) {
      if (a.strides[d] == 1 && op.axes[d].extent > 1) return d;
    }
  }
  return std::nullopt;
}

// Axes that a value or a condition depends on, as in concatenation: they stay loops of their own, to be cut there.
std::vector<bool> used_in_values(const te::ComputeOp& op) {
  std::vector<bool> used(op.axes.size(), false);
  const ir::Expr values = ir::rewrite(op.body, [](const ir::Expr& e) {
    return e.as<ir::Load>() != nullptr ? ir::zero_of(e.dtype()) : e;
  });
  for (size_t d = 0; d < op.axes.size(); ++d) used[d] = ir::uses_var(values, op.axes[d].var.node());
  return used;
}

// Loops d and d+1 may be one when every access moves through memory as through one long dimension, or not at all.
bool joins(const te::ComputeOp& op, const std::vector<te::Access>& accesses, size_t d) {
  for (const te::Access& a : accesses) {
    if (!a.affine || a.strides[d] != a.strides[d + 1] * op.axes[d + 1].extent) return false;
  }
  return true;
}

std::string joined(const std::vector<NamedLoop>& loops) {
  std::string out;
  for (const NamedLoop& l : loops) out += (out.empty() ? "" : "@") + l.name;
  return out;
}

std::vector<std::string> names(const std::vector<NamedLoop>& loops) {
  std::vector<std::string> out;
  for (const NamedLoop& l : loops) out.push_back(l.name);
  return out;
}

// One loop where several join; `last` is set to the innermost axis of each.
std::vector<NamedLoop> join_loops(PlanWriter& p, const std::string& stage, const te::ComputeOp& op,
                                  const std::vector<te::Access>& accesses,
                                  std::vector<size_t>& last) {
  std::vector<NamedLoop> out;
  const std::vector<bool> used = used_in_values(op);
  const auto join = [&](size_t a) { return !used[a] && !used[a + 1] && joins(op, accesses, a); };
  size_t d = 0;
  while (d < op.axes.size()) {
    std::vector<NamedLoop> run{{op.axes[d].var.name(), op.axes[d].extent}};
    int64_t extent = op.axes[d].extent;
    for (; d + 1 < op.axes.size() && join(d); ++d) {
      run.push_back({op.axes[d + 1].var.name(), op.axes[d + 1].extent});
      extent *= op.axes[d + 1].extent;
    }
    last.push_back(d++);
    if (run.size() > 1) p.line("fuse {} [{}]", stage, comma(names(run)));
    out.push_back({joined(run), extent});
  }
  return out;
}

// Lanes for a loop of this extent; 1 if it is too short.
int64_t lanes_for(int64_t extent, int64_t full) {
  int64_t v = full;
  while (v > extent) v /= 2;
  return std::max<int64_t>(v, 1);
}

// Loops that walk through an operand without gaps, innermost first, while the vectors of the stage stride through it: a
// few steps of these are unrolled around the vector, so that whole lines are read and turned in registers.
struct Across {
  std::vector<size_t> whole;  // of the joined loops: unrolled as they are
  std::optional<size_t> cut;  // unrolled in part,
  int64_t steps = 1;          // so many steps of it
};

constexpr int64_t kFar = 4;      // strides up to here are read in one go anyway
constexpr int64_t kTurned = 16;  // most that is turned at once

// The loop, not the last one, that steps through the operand by `stride`.
std::optional<size_t> loop_by(const te::Access& a, const std::vector<NamedLoop>& loops,
                              const std::vector<size_t>& last, int64_t stride) {
  for (size_t i = 0; i + 1 < loops.size(); ++i) {
    if (a.strides[last[i]] == stride && loops[i].extent > 1) return i;
  }
  return std::nullopt;
}

std::optional<Across> find_across(const std::vector<te::Access>& accesses,
                                  const std::vector<NamedLoop>& loops,
                                  const std::vector<size_t>& last) {
  for (const te::Access& a : accesses) {
    if (!a.affine || a.tensor.dtype().bytes() != 4 || a.strides[last.back()] <= kFar) continue;
    Across found;
    int64_t reached = 1;
    while (reached < kTurned && !found.cut) {
      const auto i = loop_by(a, loops, last, reached);
      if (!i) break;
      const int64_t n = loops[*i].extent;
      if (reached * n <= kTurned) {
        found.whole.push_back(*i);
        reached *= n;
        continue;
      }
      while (found.steps * 2 * reached <= kTurned && n % (found.steps * 2) == 0) found.steps *= 2;
      if (found.steps == 1) break;
      found.cut = i;
      reached *= found.steps;
    }
    if (reached >= kFar) return found;
  }
  return std::nullopt;
}

// Vectors of the last loop, the steps across them unrolled, everything else outside.
void turn_tiles(PlanWriter& p, const std::string& stage, const std::vector<NamedLoop>& loops,
                const Across& across, int64_t v) {
  const NamedLoop& inner = loops.back();
  p.knobs()["v"] = v;
  p.line("split {} {} [$v]\nvectorize {} {}.1", stage, inner.name, stage, inner.name);
  std::vector<NamedLoop> outer;
  std::vector<std::string> unrolled;
  for (size_t i = 0; i + 1 < loops.size(); ++i) {
    if (std::find(across.whole.begin(), across.whole.end(), i) != across.whole.end()) continue;
    if (across.cut == i) {
      p.knobs()["across"] = across.steps;
      p.line("split {} {} [$across]", stage, loops[i].name);
      outer.push_back({loops[i].name + ".0", loops[i].extent / across.steps});
    } else {
      outer.push_back(loops[i]);
    }
  }
  outer.push_back({inner.name + ".0", arith::ceil_div(inner.extent, v)});
  if (across.cut) unrolled.push_back(loops[*across.cut].name + ".1");
  for (auto i = across.whole.rbegin(); i != across.whole.rend(); ++i)
    unrolled.push_back(loops[*i].name);
  p.line("reorder {} [{}, {}, {}.1]", stage, comma(names(outer)), comma(unrolled), inner.name);
  int64_t work = 1;
  for (const NamedLoop& l : loops) work *= l.extent;
  for (const std::string& s : unrolled) p.line("unroll {} {}", stage, s);
  deal_out(p, stage, outer, work / v);
}

}  // namespace

void deal_out(PlanWriter& p, const std::string& stage, const std::vector<NamedLoop>& loops,
              int64_t work) {
  const int cores = p.target().cores;
  if (cores < 2 || work < kMinWork) return;
  std::vector<NamedLoop> taken;
  int64_t pieces = 1;
  for (const NamedLoop& l : loops) {
    if (balance(pieces, cores) >= 0.9) break;
    taken.push_back(l);
    pieces *= l.extent;
  }
  if (pieces < 2) return;
  if (taken.size() > 1) p.line("fuse {} [{}]", stage, comma(names(taken)));
  p.line("parallel {} {}", stage, joined(taken));
}

void loop_over_storage(PlanWriter& p, const std::string& stage) {
  if (p.refused()) return;
  const te::ComputeOp op = p.now(stage);
  if (op.axes.empty()) return;
  const auto accesses = te::accesses(op);
  std::vector<size_t> last;
  std::vector<NamedLoop> loops = join_loops(p, stage, op, accesses, last);
  NamedLoop inner = loops.back();
  const int64_t full = std::min<int64_t>(p.target().lanes(op.output.dtype().bytes()), 64);
  const int64_t v = lanes_for(inner.extent, full);
  if (const auto across = find_across(accesses, loops, last);
      across && v >= kFar && inner.extent % v == 0)
    return turn_tiles(p, stage, loops, *across, v);
  loops.pop_back();
  int64_t work = arith::ceil_div(inner.extent, v);
  for (const NamedLoop& l : loops) work *= l.extent;
  if (v < 2) return deal_out(p, stage, loops, work);
  p.knobs()["v"] = v;
  // A long single loop is dealt out in blocks that one core walks through on its own.
  if (loops.empty() && inner.extent >= 16 * kMinWork) {
    p.knobs()["block"] = kMinWork;
    p.line("split {} {} [$block, $v]\nvectorize {} {}.2", stage, inner.name, stage, inner.name);
    return deal_out(p, stage, {{inner.name + ".0", arith::ceil_div(work, kMinWork)}}, work);
  }
  p.line("split {} {} [$v]\nvectorize {} {}.1", stage, inner.name, stage, inner.name);
  const auto across = transposed_axis(op, accesses);
  size_t at = 0;  // of the joined loop that holds the axis
  for (; across && at < loops.size(); ++at) {
    if (loops[at].name == op.axes[*across].var.name()) break;
  }
  if (across && at < loops.size()) {
    const NamedLoop& other = loops[at];
    const bool whole = other.extent <= v;  // short enough to stay as it is
    if (!whole) p.line("split {} {} [$v]", stage, other.name);
    std::vector<NamedLoop> order;
    for (size_t d = 0; d < loops.size(); ++d) {
      if (d != at) order.push_back(loops[d]);
    }
    if (!whole) order.push_back({other.name + ".0", arith::ceil_div(other.extent, v)});
    order.push_back({inner.name + ".0", arith::ceil_div(inner.extent, v)});
    p.line("reorder {} [{}, {}, {}.1]", stage, comma(names(order)),
           whole ? other.name : other.name + ".1", inner.name);
    return deal_out(p, stage, order, work);
  }
  loops.push_back({inner.name + ".0", arith::ceil_div(inner.extent, v)});
  deal_out(p, stage, loops, work);
}

void loop_by_vectors(PlanWriter& p, const std::string& stage) {
  if (p.refused()) return;
  const te::ComputeOp op = p.now(stage);
  if (op.axes.empty()) return;
  const int64_t v = p.target().lanes(4);
  const NamedLoop last{op.axes.back().var.name(), op.axes.back().extent};
  std::vector<NamedLoop> loops;
  int64_t work = 1;
  for (const te::Axis& a : op.axes) {
    loops.push_back({a.var.name(), a.extent});
    work *= a.extent;
  }
  if (last.extent > v) {
    p.knobs()["hv"] = v;
    p.line("split {} {} [$hv]\nvectorize {} {}.1", stage, last.name, stage, last.name);
    loops.back() = {last.name + ".0", arith::ceil_div(last.extent, v)};
  } else {
    if (last.extent > 1) p.line("vectorize {} {}", stage, last.name);
    loops.pop_back();
  }
  deal_out(p, stage, loops, work / v);
}

}  // namespace tenon::templates
