// SPDX-License-Identifier: Apache-2.0
// Direct convolution to few output channels, or in groups of few: too few for a vector, so vectors
// are of columns of plain images. The register tile is all channels (of a group, a divisor of many)
// times a few rows, or times a few vectors where positions are one dimension. Padded rows of a
// block are copied first, so that no tap is tested.
#include <algorithm>

#include "templates/conv_form.h"
#include "templates/edges.h"
#include "templates/loops.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

namespace {

using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

constexpr int64_t kMostChannels = 6;    // of a register tile
constexpr int64_t kMostUnrolled = 448;  // multiplications of the unrolled kernel
constexpr int64_t kLeastRows = 4;       // that hide the latency of each other

struct Form {
  int64_t channels = 1;  // that share an input: all, or those of a group
  int64_t columns = 1;   // positions of a row, or all where they are one dimension
  int64_t v = 1;         // lanes, of columns
  int64_t kb = 1;        // channels of a tile
  int64_t steps = 1;     // rows of a tile, or vectors of columns where there are no rows
  bool has_rows = false;
};

// Lanes that do work, of those that a full vector has at the same cost.
double used_by_channels(int64_t channels, int64_t bytes, const target::Cpu& t) {
  const int64_t cheapest = std::max<int64_t>(1, t.datapath_bytes / bytes);
  return std::min(1.0, static_cast<double>(channels) / static_cast<double>(cheapest));
}

double used_by_columns(int64_t columns, int64_t v, int64_t bytes, const target::Cpu& t) {
  const int64_t lanes = std::max<int64_t>(v, t.datapath_bytes / bytes);
  return static_cast<double>(columns) / static_cast<double>(arith::ceil_div(columns, v) * lanes);
}

int64_t bytes_of(const te::Tensor& t, size_t first) {
  int64_t bytes = t.dtype().bytes();
  for (size_t d = first; d < t.rank(); ++d) bytes *= t.shape()[d];
  return bytes;
}

// Single elements of so many planes, or single lanes, would drive each other out of the first-level
// cache; rows of planes do not.
bool planes_collide(const te::Tensor& image, const target::Cpu& t) {
  const int64_t planes = rows_in_first_cache(bytes_of(image, 2), t);
  return planes > 0 && planes < image.shape()[1];
}

// How much better vectors of columns are where they are used as well as those of channels: at least
// as good where planes collide, unless the input is read too often, once for each tile of channels.
double advantage_of_columns(const Conv& c, const target::Cpu& t) {
  constexpr double kOfOverlap = 1 / 1.5;
  constexpr int64_t kReadsForAWrite = 4;
  const te::Tensor& y = c.chain.final->output;
  if (!c.pointwise || c.group > 0 || !planes_collide(c.x, t) || !planes_collide(y, t))
    return kOfOverlap;
  const int64_t channels = y.shape()[1], tiles = channels / divisor(channels, kMostChannels);
  return bytes_of(c.x, 0) * tiles <= kReadsForAWrite * bytes_of(y, 0) ? 1.0 : kOfOverlap;
}

std::optional<Form> choose_form(const Conv& c, const target::Cpu& t) {
  const te::ComputeOp& op = *c.chain.anchor;
  const int64_t bytes = op.output.dtype().bytes();
  Form f;
  f.channels = c.group > 0 ? c.group : op.axes[1].extent;
  f.has_rows = c.rank > 1 && !c.pointwise;
  f.columns = op.axes.back().extent;
  for (size_t d = 2; c.pointwise && d + 1 < op.axes.size(); ++d) f.columns *= op.axes[d].extent;
  f.v = choose_lanes(f.columns, bytes, t);
  while (f.v > f.columns) f.v /= 2;
  if (f.v < 4 || used_by_channels(f.channels, bytes, t) >
                     advantage_of_columns(c, t) * used_by_columns(f.columns, f.v, bytes, t))
    return std::nullopt;
  f.v = lanes_for_rest(f.v, f.columns, bytes, t);
  f.kb = divisor(f.channels, kMostChannels);
  const int64_t most = (t.vector_registers - 1) / (f.kb + 1);
  const int64_t all =
      f.has_rows ? op.axes[op.axes.size() - 2].extent : arith::ceil_div(f.columns, f.v);
  f.steps = std::min(all, most);
  // Rows of an unrolled kernel share what they read.
  int64_t taps = f.kb;
  for (size_t d = 1; d < op.reduce_axes.size(); ++d) taps *= op.reduce_axes[d].extent;
  if (f.has_rows && kMostUnrolled / taps >= kLeastRows)
    f.steps = std::min(f.steps, kMostUnrolled / taps);
  f.steps = arith::ceil_div(all, arith::ceil_div(all, f.steps));
  return f;
}

class Writer {
 public:
  Writer(const Conv& c, const Form& form, space::Builder& b, const Request& request)
      : c_(c), f_(form), b_(b), request_(request), op_(*c.chain.anchor) {
    out_ = b.stage(c.chain.final->name());
    positions_ = c.pointwise ? 1 : c.rank;
  }

  Written run() {
    acc_ = b_.cache_write(b_.stage(op_.name()), ir::Scope::kRegister);
    for (const te::ComputeOp* i : c_.chain.inlined) {
      if (!c_.padding || i != c_.padding->op) b_.compute_inline(b_.stage(i->name()));
    }
    store_all();
    tile_output();
    tile_sum();
    return {};
  }

 private:
  void store_all() {
    std::vector<std::string> done{c_.x.name(), c_.w.name()};
    b_.store(b_.stage(c_.x.name()), in_blocks(c_, layout::Layout(c_.x.shape()), 1));
    const layout::Layout plain(op_.output.shape());
    for (const std::string& s : store_alike(b_, request_, c_.like_output, 1, [&](int64_t block) {
           return in_blocks(c_, plain, block);
         }))
      done.push_back(s);
    store_fixed_inputs(b_, request_, done);
    b_.store(acc_, in_blocks(c_, plain, 1));
    // Whole vectors, which stay in registers: what lies beyond the last column is not stored.
    const auto last = static_cast<int64_t>(1 + positions_);
    b_.layout_split(acc_, last, {arith::ceil_div(f_.columns, f_.v), f_.v});
  }

  // Places of the padded image from one output to the next.
  int64_t step_of(size_t d) const {
    const ir::VarNode* at = op_.axes[2 + d].var.node();
    return arith::to_linear(c_.window.indices[2 + d]).coefficient(at);
  }

  // Bytes that a block of so many rows reads of the padded image.
  int64_t bytes_of(int64_t rows) const {
    const te::Tensor& padded = c_.padding->op->output;
    int64_t bytes = padded.dtype().bytes() * op_.reduce_axes[0].extent;
    for (size_t d = 0; d < c_.rank; ++d) {
      const int64_t all = padded.shape()[2 + d], out = op_.axes[2 + d].extent;
      const int64_t step = step_of(d), beyond = all - out * step;
      const bool whole = d + 2 > c_.rank, cut = d + 2 == c_.rank;
      bytes *= whole ? all : std::min(all, (cut ? rows : 1) * step + beyond);
    }
    return bytes;
  }

  // Rows whose input stays in the second-level cache; 0: there are no such blocks.
  int64_t rows_of_block() const {
    const int64_t all = op_.axes[op_.axes.size() - 2].extent;
    int64_t rows = arith::ceil_div(all, f_.steps) * f_.steps;
    while (rows > f_.steps && bytes_of(rows) > b_.target().cpu().l2_bytes / 2)
      rows = arith::ceil_div(rows / f_.steps, 2) * f_.steps;
    return bytes_of(rows) <= b_.target().limits.local_bytes ? rows : 0;
  }

  void tile_output() {
    const Loop n = b_.axis(out_, 0);
    const auto [groups, ko, ki] = b_.split<3>(b_.axis(out_, 1), {f_.channels / f_.kb, f_.kb});
    std::vector<Loop> shared{n, groups}, rest, inner;
    for (size_t d = 0; d + 2 < positions_; ++d) shared.push_back(b_.axis(out_, 2 + d));
    Loop at = f_.has_rows ? split_rows(shared, rest, inner) : groups;
    rest.insert(rest.begin(), ko);
    const Loop lanes = split_columns(rest, inner);
    inner.push_back(ki);
    std::vector<Loop> order = shared;
    for (const auto* some : {&rest, &inner}) order.insert(order.end(), some->begin(), some->end());
    order.push_back(lanes);
    b_.reorder(order);
    for (const Loop& l : inner) b_.unroll(l);
    b_.vectorize(lanes);
    b_.compute_at(acc_, rest.back());
    share_out(shared, at);
  }

  // Blocks of rows, tiles of a block, rows of a tile. Returns the loop over blocks.
  Loop split_rows(std::vector<Loop>& shared, std::vector<Loop>& rest, std::vector<Loop>& inner) {
    const Loop all = b_.axis(out_, positions_);
    block_ = c_.padding ? rows_of_block() : f_.steps;
    const int64_t tiles = std::max<int64_t>(1, block_ / f_.steps);
    const auto [blocks, in_block, row] = b_.split<3>(all, {tiles, f_.steps});
    shared.push_back(blocks);
    rest.push_back(in_block);
    inner.push_back(row);
    return blocks;
  }

  // Returns the lanes.
  Loop split_columns(std::vector<Loop>& rest, std::vector<Loop>& inner) {
    const Loop all = b_.axis(out_, 1 + positions_);
    if (f_.v > f_.columns) return all;
    if (f_.has_rows) {
      const auto [columns, lanes] = b_.split<2>(all, {f_.v});
      rest.push_back(columns);
      return lanes;
    }
    const auto [columns, vectors, lanes] = b_.split<3>(all, {f_.steps, f_.v});
    rest.push_back(columns);
    inner.push_back(vectors);
    return lanes;
  }

  void share_out(const std::vector<Loop>& shared, Loop at) {
    int64_t work = 1;
    for (const te::Axis& a : op_.axes) work *= a.extent;
    for (const te::Axis& a : op_.reduce_axes) work *= a.extent;
    const bool attached = c_.padding && (!f_.has_rows || block_ > 0);
    Loop all = at;
    if (attached) {
      all = b_.fuse(shared);
      if (work / f_.v >= b_.target().cpu().parallel_vectors) b_.parallel(all);
      const StageRef pad = b_.stage(c_.padding->op->name());
      const int64_t stride = step_of(c_.rank - 1);
      store_by_phases(b_, pad, stride);
      b_.compute_at(pad, all);
      copy_by_vectors(b_, pad, stride, f_.v);
      return;
    }
    deal_out(b_, shared, work / f_.v);
    if (c_.padding) loop_over_storage(b_, b_.stage(c_.padding->op->name()));
  }

  // n k positions.. lanes | c taps..
  void tile_sum() {
    if (b_.refused()) return;
    const size_t rank = 3 + positions_;
    std::vector<Loop> order, unrolled;
    int64_t copies = f_.steps * f_.kb;
    for (size_t d = 0; d < op_.reduce_axes.size(); ++d) order.push_back(b_.axis(acc_, rank + d));
    for (size_t d = order.size(); d-- > 1;) {
      copies *= op_.reduce_axes[d].extent;
      if (copies > kMostUnrolled) break;
      unrolled.push_back(order[d]);
    }
    if (f_.has_rows) unrolled.push_back(b_.axis(acc_, rank - 3));
    for (const Loop& l : {b_.axis(acc_, rank - 2), b_.axis(acc_, 1)}) unrolled.push_back(l);
    const size_t taps = unrolled.size() - (f_.has_rows ? 3 : 2);
    order.insert(order.end(), unrolled.begin() + static_cast<std::ptrdiff_t>(taps), unrolled.end());
    order.push_back(b_.axis(acc_, rank - 1));
    b_.reorder(order);
    for (const Loop& l : unrolled) b_.unroll(l);
    b_.vectorize(order.back());
  }

  const Conv& c_;
  const Form& f_;
  space::Builder& b_;
  const Request& request_;
  const te::ComputeOp& op_;
  size_t positions_ = 1;  // dimensions of the storage
  int64_t block_ = 1;     // rows of a block
  StageRef out_, acc_;
};

}  // namespace

std::optional<Written> write_conv_columns(const Conv& c, space::Builder& b,
                                          const Request& request) {
  if (c.scaled != nullptr || block_for(request, c.x, 1) != 1 ||
      block_for(request, c.chain.final->output, 1) != 1)
    return std::nullopt;
  const auto form = choose_form(c, b.target().cpu());
  if (!form) return std::nullopt;
  return Writer(c, *form, b, request).run();
}

}  // namespace tenon::templates
