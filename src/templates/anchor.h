// SPDX-License-Identifier: Apache-2.0
// What the contraction templates share: finding the one op that does the work, and sizing its
// register tile.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/dots.h"
#include "space/domain.h"
#include "target/target.h"
#include "te/access.h"
#include "te/dag.h"

namespace tenon::templates {

// One reduction (the anchor), cheap ops before it, element-wise ops after it that end in the only
// output.
struct Chain {
  const te::ComputeOp* anchor = nullptr;
  const te::ComputeOp* final = nullptr;  // may be the anchor itself
  std::vector<const te::ComputeOp*>
      inlined;  // every op but the final one; the anchor too, once cache_write made it a copy
};
// `apart`: ops before the anchor that are left out, since they are computed on their own.
std::optional<Chain> find_chain(const te::ComputeDag& dag, std::span<const te::OpRef> apart = {});

// The op is of the shape of `t`, and reads it at its own axes, in order, or not at all.
bool reads_in_place(const te::ComputeOp& op, const te::Tensor& t);

// Names of the final op and of the inputs that the ops after the anchor read element by element (a
// residual): all of them are best stored alike.
std::vector<std::string> stored_like_output(const te::ComputeDag& dag, const Chain& chain);

// The dot product of such operands, of 8 bits both, in groups of four; nothing for any others.
std::optional<schedule::Dot> dot_of_bytes(ir::DType x, ir::DType w);

// It calls a function (an exponential, a root): not repeated for each reader.
bool has_call(const te::ComputeOp& op);

// sum of x[..] * w[..]: the two reads of a contraction, `w` the one whose indices are all plain
// axes and, of two such, the constant one or the one that holds the last axis. With `any_map` two
// places of one tensor count too, and it is enough that one index of `w` is the last axis.
struct Contraction {
  te::Access x, w;
};
std::optional<Contraction> find_contraction(const te::ComputeDag& dag, const te::ComputeOp& op,
                                            bool any_map = false);

// The axis an index is, if it is just one: position in op.axes, or axes.size() + position in
// reduce_axes.
std::optional<size_t> plain_axis(const ir::Expr& index, const te::ComputeOp& op);

// The padding op that an access goes through, and the tensor behind it.
struct Padding {
  const te::ComputeOp* op = nullptr;
  te::Tensor source;
  std::vector<int64_t> before, after;  // per dimension
  bool zero = true;                    // what is beside the image
};
// `any_value`: other numbers than 0 may be beside the image.
std::optional<Padding> find_padding(const te::ComputeDag& dag, const te::Tensor& t,
                                    bool any_value = false);

// The share of the taps of a convolution that do not fall on padding, in spatial dimensions
// begin..end-1: n k spatial.. = sum over c kernel.. of x[n, c, spatial*stride + kernel*dilation].
// Each column of padding costs one of the taps that lie side by side, whatever the stride.
double used_taps(const te::ComputeOp& op, const te::Access& x, const Padding& p, size_t begin,
                 size_t end);

// `vectors` x `positions` accumulators. xn and yn are numbers of near-equal parts of the two
// innermost position dimensions.
struct RegisterTile {
  int64_t kb = 1;
  int64_t xn = 1, yn = 1;
};
// kvecs: vectors of channels; limit: most positions in a tile, 0 for none.
RegisterTile choose_tile(int64_t kvecs, int64_t x, int64_t y, const target::Cpu& t,
                         int64_t limit = 0);
// kb need not divide kvecs: the last tile is computed whole. y is 1.
RegisterTile choose_round_tile(int64_t kvecs, int64_t vector_bytes, int64_t x, const target::Cpu& t,
                               int64_t limit = 0);

// Rows so many bytes apart that do not drive each other out of the first-level cache, where they
// fall into few of its sets; 0: any number.
int64_t rows_in_first_cache(int64_t stride_bytes, const target::Cpu& t);

// Numbers of near-equal parts of a loop such that a part fits the registers, of which each iteration
// needs `vectors` and the operands two. The rule's number always belongs to them.
space::Domain parts_in_registers(int64_t extent, int64_t vectors, int64_t rule,
                                 const target::Cpu& t);

// Lanes for `channels`: the full vector unless a half one wastes less.
int64_t choose_lanes(int64_t channels, int64_t element_bytes, const target::Cpu& t);

// For columns that are more than v but fit one vector of twice as many lanes: that, where it costs as
// much as either of the two that would be needed otherwise.
int64_t lanes_for_rest(int64_t v, int64_t columns, int64_t element_bytes, const target::Cpu& t);

// The largest divisor of n that is at most `most`, which is at least 1.
int64_t divisor(int64_t n, int64_t most);

// Share of the cores that are busy when n equal pieces are dealt out.
double balance(int64_t n, int cores);

}  // namespace tenon::templates
