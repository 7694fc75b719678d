// SPDX-License-Identifier: Apache-2.0
#include "templates/strassen_match.h"

#include <algorithm>

#include "schedule/primitives/variant.h"
#include "templates/algorithm_choice.h"
#include "templates/edges.h"

namespace tenon::templates {

using schedule::Algorithm;
using schedule::half_of;
using schedule::kStrassenProducts;

constexpr int64_t kRowsInBlock = 64;  // at most

std::optional<Dense> find_dense(const schedule::State& initial) {
  const te::ComputeDag& dag = initial.dag();
  Dense d;
  if (const auto operand = te::find_row_operand(dag)) {
    d.rows = rows_before(*operand, initial.target().cpu());
  }
  auto chain = d.rows ? find_chain(dag, d.rows->ops) : find_chain(dag);
  if (!chain) return std::nullopt;
  d.chain = *chain;
  const te::ComputeOp& op = *d.chain.anchor;
  const schedule::Variant step{{initial.find(op.name())}, Algorithm::kStrassen};
  const auto product = schedule::find_product(initial, op);
  if (!product || !step.check(initial)) return std::nullopt;
  d.product = *product;
  d.x = product->x->buffer;
  d.w = product->w->buffer;
  d.columns = op.axes[product->column].extent;
  d.k = op.reduce_axes[product->k].extent;
  for (const te::Axis& a : op.axes) d.outer *= a.extent;
  d.outer /= product->rows * d.columns;
  d.blocked = product->column == 1 && product->first == 2 && product->last == op.axes.size();
  if (!d.blocked && product->column + 1 != op.axes.size()) return std::nullopt;
  if (d.blocked && (dag.producer(d.x) != nullptr || d.x.rank() != op.axes.size()))
    return std::nullopt;
  d.like_output = stored_like_output(dag, d.chain);
  return d;
}

namespace {

double direct_cost(const Dense& d, const target::Cpu& t) {
  const auto weights = static_cast<double>(d.k * d.columns);
  const auto rows = static_cast<double>(d.outer * d.product.rows);
  return overlapped(2 * rows * weights, 4 * weights, t);
}

// Each panel of columns reads the sums of all rows, and waits for memory where the last cache does not hold them beside the
// weights and products that pass through. Of targets that leave their last cache open nothing is known.
double waiting_cost(const Dense& d, const target::Cpu& t) {
  const int64_t half = half_of(d.product.rows), vectors = d.columns / 2 / lanes_of(d, t);
  const int64_t sums = 4 * kStrassenProducts * d.outer * half * half_of(d.k);
  if (vectors == 0 || t.l3_bytes == 0 || sums <= t.l3_bytes / 2) return 0;
  const int64_t panels = vectors / choose_tile(vectors, half, 1, t).kb;
  if (shares_rows(d, t, panels)) return 0;
  return t.rates.flops_per_byte * static_cast<double>(sums * panels) / t.memory_share();
}

double strassen_cost(const Dense& d, const target::Cpu& t) {
  constexpr double kBytes = 12.0;  // of a sum that is made, of a product that is combined
  const auto k = static_cast<double>(half_of(d.k)),
             columns = static_cast<double>(half_of(d.columns));
  const auto rows = static_cast<double>(d.outer * half_of(d.product.rows));
  return overlapped(2 * kStrassenProducts * rows * k * columns, 4 * kStrassenProducts * k * columns,
                    t) +
         t.rates.flops_per_cached_byte * kBytes * kStrassenProducts * rows * (k + columns) /
             t.cores +
         waiting_cost(d, t);
}

}  // namespace

bool is_worth_it(const Dense& d, const Request& request, const target::Cpu& t) {
  constexpr double kWorthIt = 0.96;
  return choose_algorithm(request, direct_share(request, t) * direct_cost(d, t), kWorthIt,
                          [&](Algorithm a) -> std::optional<double> {
                            if (a != Algorithm::kStrassen) return std::nullopt;
                            return strassen_cost(d, t);
                          })
      .has_value();
}

int64_t lanes_of(const Dense& d, const target::Cpu& t) {
  return t.lanes(d.chain.anchor->output.dtype().bytes());
}

bool fits(const Dense& d, const Request& request, const target::Cpu& t) {
  const te::Tensor& y = d.chain.final->output;
  const int64_t lanes = lanes_of(d, t);
  if (lanes < 2 || d.columns % (2 * lanes) != 0 || d.k % (2 * lanes) != 0) return false;
  if (!d.blocked) return may_be_plain(request, y);
  return block_for(request, d.x, lanes) == lanes && block_for(request, y, lanes) == lanes;
}

namespace {

// The sums of a block of rows stay in the second-level cache beside the weights that pass through.
bool keeps_sums(const Dense& d, const target::Cpu& t, int64_t rows) {
  return 4 * kStrassenProducts * rows * (d.k / 2) <= t.l2_bytes / 4 * 3;
}

}  // namespace

int64_t rows_in_block(const Dense& d, const target::Cpu& t) {
  const int64_t half = half_of(d.product.rows);
  int64_t best = 1;
  double least = 1e30;
  for (int64_t n = 1; n <= std::min(half, kRowsInBlock); ++n) {
    if (half % n != 0) continue;
    double cost = 1 / balance(d.outer * (half / n), t.cores) + 2.0 / static_cast<double>(n);
    if (!keeps_sums(d, t, n)) cost += 0.06;
    if (cost >= least) continue;
    least = cost;
    best = n;
  }
  return best;
}

bool shares_rows(const Dense& d, const target::Cpu& t, int64_t panels) {
  const int64_t half = half_of(d.product.rows), block = rows_in_block(d, t);
  const bool even = block >= kRowsInBlock / 2 && half > block &&
                    balance(d.outer * (half / block), t.cores) >= 0.9;
  const bool few = balance(d.outer * panels, t.cores) < 0.9;
  return even && (few || keeps_sums(d, t, block));
}

}  // namespace tenon::templates
