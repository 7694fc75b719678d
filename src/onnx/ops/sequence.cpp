// SPDX-License-Identifier: Apache-2.0
// Sequences: lists of tensors whose lengths are known while the model is read, so that nothing of them is left.
#include <algorithm>

#include "onnx/ops/emit.h"
#include "onnx/ops/turns.h"

namespace tenon::onnx {
namespace {

using graph::GraphBuilder;

const std::vector<Piece>& sequence(Convert& c, size_t i) {
  const std::vector<Piece>* pieces = c.sequences().find(c.any_input(i));
  if (pieces == nullptr) refuse("input {} is no sequence", i);
  return *pieces;
}

// Its tensors, one by one.
std::vector<ValueId> items(Convert& c, size_t i) {
  std::vector<ValueId> list;
  for (const Piece p : std::vector<Piece>(sequence(c, i))) {
    require_sized(c, p);
    if (p.rows == Piece::kOne) list.push_back(p.value);
    if (p.rows < Piece::kOne) {
      throw Unsupported(
          "how long the sequence is depends on data",
          "inside of a loop a sequence can grow at its end, and be read behind the loop "
          "if the number of turns is known when compiling");
    }
    for (int64_t k = 0; k < p.rows; ++k) list.push_back(element(c.b(), p.value, 0, k, p.rows));
  }
  return list;
}

ValueId make(Convert& c, const std::vector<ValueId>& list) {
  std::vector<Piece> pieces;
  for (const ValueId v : list) pieces.push_back({v, Piece::kOne});
  return c.make_sequence(std::move(pieces));
}

// A position that is known, among 0..most.
int64_t position(Convert& c, size_t i, int64_t length, int64_t most) {
  int64_t at = constant_int(c, i, "the position");
  if (at < 0) at += length;
  if (at < 0 || at > most) refuse("position {} is outside of a sequence of {}", at, length);
  return at;
}

std::vector<ValueId> convert_construct(Convert& c) { return {make(c, all_inputs(c))}; }

std::vector<ValueId> convert_empty(Convert& c) { return {c.make_sequence({})}; }

// One of several tensors of equal size, chosen when the model runs. A position outside is the nearest one inside.
ValueId chosen(Convert& c, const std::vector<ValueId>& list, ValueId at) {
  GraphBuilder& b = c.b();
  for (const ValueId v : list) {
    if (b.shape(v) != b.shape(list[0]) || b.dtype(v) != b.dtype(list[0]) ||
        b.value(v).elements() == 0) {
      refuse(
          "which tensor of the sequence is wanted depends on data, and they have different sizes");
    }
  }
  const auto many = static_cast<int64_t>(list.size());
  const Shape shape = b.shape(list[0]);
  const ValueId all = stack(b, list, 0);
  return b.compute("at", {all, b.reshape(at, {1})}, [&](te::Builder& t, Tensors in) {
    return t.compute("at", shape, [&](Axes axes) {
      std::vector<ir::Expr> place{clamped(ir::load(in[1], {0}), many)};
      place.insert(place.end(), axes.begin(), axes.end());
      return ir::load(in[0], place);
    });
  });
}

std::vector<ValueId> convert_at(Convert& c) {
  const std::vector<ValueId> list = items(c, 0);
  const auto length = static_cast<int64_t>(list.size());
  if (list.empty()) refuse("the sequence is empty");
  if (!c.b().data(c.input(1))) return {chosen(c, list, c.input(1))};
  return {list[static_cast<size_t>(position(c, 1, length, length - 1))]};
}

std::vector<ValueId> convert_insert(Convert& c) {
  const ValueId x = c.input(1);
  if (!c.has_input(2)) {
    std::vector<Piece> pieces = sequence(c, 0);
    pieces.push_back({x, Piece::kOne});
    return {c.make_sequence(std::move(pieces))};
  }
  std::vector<ValueId> list = items(c, 0);
  const auto length = static_cast<int64_t>(list.size());
  list.insert(list.begin() + position(c, 2, length, length), x);
  return {make(c, list)};
}

std::vector<ValueId> convert_erase(Convert& c) {
  std::vector<ValueId> list = items(c, 0);
  const auto length = static_cast<int64_t>(list.size());
  if (list.empty()) refuse("the sequence is empty");
  list.erase(list.begin() + (c.has_input(1) ? position(c, 1, length, length - 1) : length - 1));
  return {make(c, list)};
}

// How large its tensors are does not matter.
std::vector<ValueId> convert_length(Convert& c) {
  int64_t length = 0;
  for (const Piece& p : sequence(c, 0)) {
    const bool is_one = p.rows == Piece::kOne || p.rows == Piece::kUnsized;
    if (!is_one && p.rows < 0) items(c, 0);  // says why not
    length += is_one ? 1 : p.rows;
  }
  return {c.b().scalar(ir::kI64, static_cast<double>(length))};
}

// How long the parts are.
std::vector<int64_t> part_lengths(Convert& c, int64_t extent) {
  std::vector<int64_t> parts;
  if (!c.has_input(1)) return std::vector<int64_t>(static_cast<size_t>(extent), 1);
  const bool one = c.shape(1).empty();
  const std::vector<int64_t> split = c.constant_ints(1, "the split");
  if (!one) return split;
  if (split[0] < 1) refuse("parts of {} elements", split[0]);
  for (int64_t at = 0; at < extent; at += split[0])
    parts.push_back(std::min(split[0], extent - at));
  return parts;
}

// As many parts as the split has numbers, which the run decides about.
ValueId parts_of_run(Convert& c) {
  return c.make_sequence(
      std::vector<Piece>(static_cast<size_t>(c.shape(1)[0]), {c.input(1), Piece::kUnsized}));
}

std::vector<ValueId> convert_split(Convert& c) {
  GraphBuilder& b = c.b();
  if (c.has_input(1) && c.rank(1) == 1 && !b.data(c.input(1))) return {parts_of_run(c)};
  const ValueId x = c.input(0);
  const Shape shape = c.shape(0);
  const int64_t axis = Convert::axis(c.int_or("axis", 0), c.rank(0));
  const int64_t extent = shape[static_cast<size_t>(axis)];
  const std::vector<int64_t> parts = part_lengths(c, extent);
  std::vector<ValueId> list;
  int64_t at = 0;
  for (const int64_t length : parts) {
    if (length < 0 || at + length > extent) refuse("the parts do not fit {} elements", extent);
    Shape part = shape;
    part[static_cast<size_t>(axis)] = length;
    ValueId v = count_elements(part) == 0
                    ? b.empty(b.dtype(x), part)
                    : slice_of_many(b, x, axis, at, length, static_cast<int64_t>(parts.size()));
    if (!c.has_input(1) && c.int_or("keepdims", 1) == 0) {
      part.erase(part.begin() + axis);
      v = b.reshape(v, part);
    }
    list.push_back(v);
    at += length;
  }
  if (at != extent) refuse("the parts do not fit {} elements", extent);
  return {make(c, list)};
}

ValueId joined(Convert& c, std::vector<ValueId> list, int64_t axis) {
  GraphBuilder& b = c.b();
  require_same_type(c, list);
  Shape shape = b.shape(list[0]);
  for (size_t i = 1; i < list.size(); ++i) {
    Shape other = b.shape(list[i]);
    if (other.size() != shape.size()) refuse("the tensors have different ranks");
    shape[static_cast<size_t>(axis)] += other[static_cast<size_t>(axis)];
    other[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)];
    if (other != shape) refuse("the tensors have different sizes");
  }
  if (count_elements(shape) == 0) return b.empty(b.dtype(list[0]), shape);
  std::erase_if(list, [&](ValueId v) { return b.value(v).elements() == 0; });
  return list.size() == 1 ? list[0] : join(b, list, axis);
}

// The rows of a loop as they would be if they had been put together along `axis` one by one.
ValueId rows_along(GraphBuilder& b, ValueId rows, int64_t axis, bool new_axis) {
  const auto rank = static_cast<int64_t>(b.shape(rows).size());
  std::vector<int64_t> perm;
  for (int64_t d = 1; d < rank; ++d) perm.push_back(d);
  perm.insert(perm.begin() + axis, 0);
  const ValueId moved = b.transpose(rows, perm);
  if (new_axis) return moved;
  Shape shape = b.shape(moved);
  shape[static_cast<size_t>(axis) + 1] *= shape[static_cast<size_t>(axis)];
  shape.erase(shape.begin() + axis);
  return b.reshape(moved, shape);
}

std::vector<ValueId> convert_concat(Convert& c) {
  GraphBuilder& b = c.b();
  const std::vector<Piece> pieces = sequence(c, 0);
  const bool new_axis = c.int_or("new_axis", 0) != 0;
  if (pieces.empty()) refuse("the sequence is empty");
  for (const Piece& p : pieces) require_sized(c, p);
  const bool is_one = pieces[0].rows == Piece::kOne;
  const int64_t rank = std::ssize(b.shape(pieces[0].value)) - (is_one ? 0 : 1) + (new_axis ? 1 : 0);
  const int64_t axis = Convert::axis(c.int_or("axis", 0), rank);
  if (pieces.size() == 1 && pieces[0].rows == Piece::kCounted && new_axis && axis == 0) {
    return {pieces[0].value};
  }
  std::vector<ValueId> list;
  for (const Piece& p : pieces) {
    if (p.rows < Piece::kOne) return {joined(c, items(c, 0), axis)};  // says why not
    const int64_t own = std::ssize(b.shape(p.value)) - (p.rows == Piece::kOne ? 0 : 1);
    if (own + (new_axis ? 1 : 0) != rank) refuse("the tensors of the sequence differ in rank");
    if (p.rows == Piece::kOne) list.push_back(new_axis ? stack(b, {p.value}, axis) : p.value);
    if (p.rows > 0) list.push_back(rows_along(b, p.value, axis, new_axis));
  }
  return {joined(c, std::move(list), axis)};
}

// The body for each place of the sequences; tensors are the same for all.
std::vector<ValueId> convert_map(Convert& c) {
  std::vector<std::vector<ValueId>> inputs;
  const auto length = items(c, 0).size();
  for (size_t i = 0; i < c.num_inputs(); ++i) {
    const bool is_sequence = c.sequences().find(c.any_input(i)) != nullptr;
    inputs.push_back(is_sequence ? items(c, i) : std::vector<ValueId>(length, c.input(i)));
    if (inputs.back().size() != length) refuse("the sequences have different lengths");
  }
  std::vector<std::vector<ValueId>> outputs(c.num_outputs());
  for (size_t k = 0; k < length; ++k) {
    std::vector<ValueId> arguments;
    for (const std::vector<ValueId>& list : inputs) arguments.push_back(list[k]);
    const std::vector<ValueId> out = c.subgraph("body", arguments);
    if (out.size() < outputs.size()) refuse("the body has too few outputs");
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].push_back(out[i]);
  }
  std::vector<ValueId> result;
  for (const std::vector<ValueId>& list : outputs) result.push_back(make(c, list));
  return result;
}

constexpr Row kSequenceRows[] = {
    {"", "ConcatFromSequence", 11, convert_concat},   {"", "SequenceAt", 11, convert_at},
    {"", "SequenceConstruct", 11, convert_construct}, {"", "SequenceEmpty", 11, convert_empty},
    {"", "SequenceErase", 11, convert_erase},         {"", "SequenceInsert", 11, convert_insert},
    {"", "SequenceLength", 11, convert_length},       {"", "SequenceMap", 17, convert_map},
    {"", "SplitToSequence", 11, convert_split},
};

}  // namespace

std::span<const Row> rows_sequence() { return kSequenceRows; }

}  // namespace tenon::onnx
