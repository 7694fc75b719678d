// SPDX-License-Identifier: Apache-2.0
#include "templates/anchor.h"

#include <algorithm>
#include <numeric>

#include "arith/linear.h"
#include "ir/visit.h"
#include "te/limited.h"

namespace tenon::templates {

bool reads_in_place(const te::ComputeOp& op, const te::Tensor& t) {
  bool ok = op.output.shape() == t.shape();
  ir::visit_loads(op.body, [&](const ir::Load& l) {
    if (!l.buffer.same_as(t)) return;
    for (size_t d = 0; d < l.indices.size() && ok; ++d) {
      ok = l.indices[d].same_as(op.axes[d].var) || op.axes[d].extent == 1;
    }
  });
  return ok;
}

std::optional<Chain> find_chain(const te::ComputeDag& dag, std::span<const te::OpRef> apart) {
  Chain c;
  const auto is_apart = [&](const te::OpRef& op) {
    return std::find(apart.begin(), apart.end(), op) != apart.end();
  };
  if (dag.outputs.size() != 1) return std::nullopt;
  c.final = dag.producer(dag.outputs[0]);
  for (const te::OpRef& op : dag.ops) {
    if (!op->is_reduction() || is_apart(op)) continue;
    if (c.anchor != nullptr) return std::nullopt;
    c.anchor = op.get();
  }
  if (c.anchor == nullptr) return std::nullopt;
  std::vector<const te::ComputeOp*> after{c.anchor};
  for (const te::OpRef& op : dag.ops) {
    if (op.get() == c.anchor || is_apart(op)) continue;
    bool behind = false;
    for (const te::ComputeOp* a : after) {
      if (!ir::reads(op->body, a->output)) continue;
      behind = true;
      if (!reads_in_place(*op, a->output)) return std::nullopt;
    }
    if (behind) after.push_back(op.get());
    if (!behind && has_call(*op)) return std::nullopt;  // too dear to repeat for every output
    if (op.get() != c.final) c.inlined.push_back(op.get());
  }
  if (std::find(after.begin(), after.end(), c.final) == after.end()) return std::nullopt;
  if (c.final != c.anchor) c.inlined.push_back(c.anchor);
  return c;
}

std::vector<std::string> stored_like_output(const te::ComputeDag& dag, const Chain& chain) {
  std::vector<std::string> names{chain.final->name()};
  for (const te::Input& in : dag.inputs) {
    const auto readers = dag.readers(in.tensor);
    const bool in_place = std::all_of(readers.begin(), readers.end(), [&](const te::ComputeOp* op) {
      return op != chain.anchor && reads_in_place(*op, in.tensor);
    });
    if (!readers.empty() && in_place && in.tensor.shape() == chain.final->output.shape()) {
      names.push_back(in.tensor.name());
    }
  }
  return names;
}

std::optional<schedule::Dot> dot_of_bytes(ir::DType x, ir::DType w) {
  for (const schedule::DotRow& row : schedule::dots()) {
    const bool fits = (row.a == x && row.b == w) || (row.a == w && row.b == x);
    if (fits && row.a.bits == 8) return row.dot;
  }
  return std::nullopt;
}

std::optional<size_t> plain_axis(const ir::Expr& index, const te::ComputeOp& op) {
  for (size_t d = 0; d < op.axes.size(); ++d) {
    if (index.same_as(op.axes[d].var)) return d;
  }
  for (size_t d = 0; d < op.reduce_axes.size(); ++d) {
    if (index.same_as(op.reduce_axes[d].var)) return op.axes.size() + d;
  }
  return std::nullopt;
}

bool has_call(const te::ComputeOp& op) {
  bool found = false;
  ir::visit(op.body, [&](const ir::Expr& e) { found = found || e.as<ir::Call>() != nullptr; });
  return found;
}

std::optional<Contraction> find_contraction(const te::ComputeDag& dag, const te::ComputeOp& op,
                                            bool any_map) {
  if (op.combiner != ir::BinaryOp::kAdd || op.axes.empty()) return std::nullopt;
  const ir::Expr body = op.body;
  const auto* product = body.as<ir::Binary>();
  if (product == nullptr || product->op != ir::BinaryOp::kMul) return std::nullopt;
  auto all = te::factors(op);
  if (all.size() != 2 || (all[0].tensor.same_as(all[1].tensor) && !any_map)) return std::nullopt;
  const auto plain = [&](const te::Access& a) {
    return std::all_of(a.indices.begin(), a.indices.end(), [&](const ir::Expr& i) {
      return plain_axis(i, op).has_value() || ir::const_int(i).has_value();
    });
  };
  const auto constant = [&](const te::Access& a) {
    for (const te::Input& in : dag.inputs) {
      if (in.tensor.same_as(a.tensor)) return in.constant;
    }
    return false;
  };
  const auto holds_last = [&](const te::Access& a) {
    return std::any_of(a.indices.begin(), a.indices.end(),
                       [&](const ir::Expr& i) { return i.same_as(op.axes.back().var); });
  };
  const auto rank = [&](const te::Access& a) {
    return (plain(a) ? 4 : 0) + (constant(a) ? 2 : 0) + (holds_last(a) ? 1 : 0);
  };
  const size_t w = rank(all[1]) >= rank(all[0]) ? 1 : 0;
  if (any_map ? !holds_last(all[w]) : !plain(all[w])) return std::nullopt;
  return Contraction{all[1 - w], all[w]};
}

std::optional<Padding> find_padding(const te::ComputeDag& dag, const te::Tensor& t,
                                    bool any_value) {
  const te::ComputeOp* op = dag.producer(t);
  if (op == nullptr || op->is_reduction()) return std::nullopt;
  const auto* sel = op->body.as<ir::Select>();
  if (sel == nullptr) return std::nullopt;
  const auto* load = sel->on_true.as<ir::Load>();
  if (load == nullptr || dag.producer(load->buffer) != nullptr) return std::nullopt;
  if (load->indices.size() != op->axes.size()) return std::nullopt;
  Padding p{op, load->buffer, {}, {}, ir::is_zero(sel->on_false)};
  if (!p.zero && !any_value) return std::nullopt;
  for (size_t d = 0; d < load->indices.size(); ++d) {
    const arith::Linear l = arith::to_linear(load->indices[d]);
    if (l.terms.size() != 1 || l.coefficient(op->axes[d].var.node()) != 1 || l.constant > 0)
      return std::nullopt;
    p.before.push_back(-l.constant);
    p.after.push_back(op->axes[d].extent + l.constant - load->buffer.shape()[d]);
  }
  return p;
}

namespace {

// Positions of `at`, summed over the taps, whose tap does not fall on padding.
int64_t taps_inside(const te::Axis& at, const te::Axis& tap, const arith::Linear& l, int64_t before,
                    int64_t length) {
  const int64_t stride = l.coefficient(at.var.node()), step = l.coefficient(tap.var.node());
  int64_t used = 0;
  for (int64_t t = 0; t < tap.extent; ++t) {
    const int64_t from = before - t * step - l.constant;  // of i*stride
    const int64_t lo = std::clamp<int64_t>(arith::ceil_div(from, stride), 0, at.extent);
    const int64_t hi = std::clamp<int64_t>(arith::ceil_div(from + length, stride), 0, at.extent);
    used += std::max<int64_t>(0, hi - lo);
  }
  return used;
}

}  // namespace

double used_taps(const te::ComputeOp& op, const te::Access& x, const Padding& p, size_t begin,
                 size_t end) {
  double share = 1;
  for (size_t d = begin; d < end; ++d) {
    const te::Axis& at = op.axes[2 + d];
    const te::Axis& tap = op.reduce_axes[1 + d];
    const arith::Linear l = arith::to_linear(x.indices[2 + d]);
    const int64_t all = at.extent * tap.extent, before = p.before[2 + d];
    int64_t used = all - std::min(before + p.after[2 + d], tap.extent);
    if (l.coefficient(tap.var.node()) > 1)
      used = taps_inside(at, tap, l, before, p.source.shape()[2 + d]);
    share *= static_cast<double>(used) / static_cast<double>(all);
  }
  return share;
}

RegisterTile choose_tile(int64_t kvecs, int64_t x, int64_t y, const target::Cpu& t, int64_t limit) {
  RegisterTile best;
  double best_cost = 1e30;
  const int64_t widest = x * y <= 2 ? 8 : 4;  // with few positions, vectors hide the latency
  for (int64_t kb = 1; kb <= std::min(widest, kvecs); ++kb) {
    if (kvecs % kb != 0) continue;
    int64_t most = (t.vector_registers - kb - 1) / kb;
    if (limit > 0) most = std::min(most, limit);
    if (most < 1) continue;
    RegisterTile r{kb, arith::ceil_div(x, std::min(x, most)), y};
    if (r.xn == 1) r.yn = arith::ceil_div(y, std::min(y, std::max<int64_t>(1, most / x)));
    const double positions = static_cast<double>(x * y) / static_cast<double>(r.xn * r.yn);
    // Vectors come from the second-level cache and are reused over positions; broadcasts come from
    // the first.
    double cost = 3.0 / positions + 1.0 / static_cast<double>(kb);
    if (x % r.xn != 0 || y % r.yn != 0) cost *= 1.08;
    if (static_cast<double>(kb) * positions < 8) cost *= 2;
    if (cost < best_cost) {
      best_cost = cost;
      best = r;
    }
  }
  return best;
}

RegisterTile choose_round_tile(int64_t kvecs, int64_t vector_bytes, int64_t x, const target::Cpu& t,
                               int64_t limit) {
  RegisterTile best;
  double best_cost = 1e30;
  // Units narrower than a vector are kept busy by fewer loads. Of vectors that fill them, as many are
  // read in a cycle as are multiplied.
  const bool narrow = t.datapath_bytes < t.vector_bytes;
  const bool fills = narrow && vector_bytes <= t.datapath_bytes;
  const int64_t least = fills ? 12 : 8;  // sums that hide the latency of each other
  const auto cost_of = [&](double kb, double positions) {
    const double loads = 1 / positions + 1 / kb;
    if (fills) return std::max(1.0, loads) + 0.05 * loads;
    return 1 + (narrow ? 0.15 : 1.0) * (3 / positions + 1 / kb);
  };
  const int64_t widest = x <= 2 ? 8 : 4;
  for (int64_t kb = 1; kb <= std::min(widest, kvecs); ++kb) {
    int64_t most = (t.vector_registers - kb - 1) / kb;
    if (limit > 0) most = std::min(most, limit);
    if (most < 1) continue;
    const RegisterTile r{kb, arith::ceil_div(x, std::min(x, most)), 1};
    const double positions = static_cast<double>(x) / static_cast<double>(r.xn);
    const double waste =
        static_cast<double>(arith::ceil_div(kvecs, kb) * kb) / static_cast<double>(kvecs);
    double cost = waste * cost_of(static_cast<double>(kb), positions);
    if (x % r.xn != 0) cost *= 1.02;
    if (static_cast<double>(kb) * positions < static_cast<double>(least)) cost *= 2;
    if (cost < best_cost) {
      best_cost = cost;
      best = r;
    }
  }
  return best;
}

int64_t rows_in_first_cache(int64_t stride_bytes, const target::Cpu& t) {
  constexpr int64_t kPerSet = 8, kMany = 32;
  const int64_t rows = kPerSet * (t.alias_bytes / std::gcd(stride_bytes, t.alias_bytes));
  return rows < kMany ? rows : 0;
}

space::Domain parts_in_registers(int64_t extent, int64_t vectors, int64_t rule,
                                 const target::Cpu& t) {
  constexpr int64_t kOperands = 2;
  const int64_t most = std::max<int64_t>(1, (t.vector_registers - kOperands) / vectors);
  return space::Domain::range(std::min(rule, arith::ceil_div(extent, most)), extent);
}

int64_t choose_lanes(int64_t channels, int64_t element_bytes, const target::Cpu& t) {
  const int64_t full = t.lanes(element_bytes);
  const auto cost = [&](int64_t lanes) {
    const double waste = static_cast<double>(arith::ceil_div(channels, lanes) * lanes) /
                         static_cast<double>(channels);
    // A half vector costs half only where the units are that narrow.
    const bool half_is_cheap = lanes * element_bytes >= t.datapath_bytes;
    return half_is_cheap ? waste : waste * 1.5;
  };
  // Fewer, wider vectors are worth a few lanes.
  if (t.vector_bytes > 32 && channels >= full / 2 && cost(full / 2) < 0.95 * cost(full))
    return full / 2;
  int64_t lanes = std::max<int64_t>(full, 2);
  while (lanes > 2 && lanes / 2 >= channels) lanes /= 2;
  return lanes;
}

int64_t lanes_for_rest(int64_t v, int64_t columns, int64_t element_bytes, const target::Cpu& t) {
  const int64_t bytes = 2 * v * element_bytes;
  return columns > v && columns < 2 * v &&
                 bytes <= std::min<int64_t>(t.datapath_bytes, t.vector_bytes)
             ? 2 * v
             : v;
}

int64_t divisor(int64_t n, int64_t most) {
  int64_t d = std::min(n, most);
  while (n % d != 0) --d;
  return d;
}

double balance(int64_t n, int cores) {
  return static_cast<double>(n) / static_cast<double>(arith::ceil_div(n, cores) * cores);
}

}  // namespace tenon::templates
