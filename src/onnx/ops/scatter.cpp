// SPDX-License-Identifier: Apache-2.0
// Writing by index. Each element of the result looks for the updates that aim at it: without a reduction
// the last one wins, otherwise they are combined.
//
//   place[p] = max over k of (index[k] == p ? k : -1);  out[p] = place[p] < 0 ? data[p] : updates[place[p]]
#include <algorithm>

#include "onnx/ops/emit.h"
#include "onnx/ops/inside.h"

namespace tenon::onnx {
namespace {

using ir::BinaryOp;
using ir::Expr;

// Nothing: later updates replace earlier ones.
std::optional<BinaryOp> reduction_of(Convert& c) {
  const std::string name = c.string_or("reduction", "none");
  if (name == "none") {
    return std::nullopt;
  }
  if (name == "add") {
    return BinaryOp::kAdd;
  }
  if (name == "mul") {
    return BinaryOp::kMul;
  }
  const bool floats = c.dtype(0).is_float();
  if (name == "max") {
    return floats ? BinaryOp::kMaximum : BinaryOp::kMax;
  }
  if (name == "min") {
    return floats ? BinaryOp::kMinimum : BinaryOp::kMin;
  }
  refuse("reduction '{}' is not known", name);
}

// How updates find their element: which of the `candidates` aims at p, and where the update lies.
struct Aim {
  int64_t candidates = 1;
  // Whether candidate k aims at p; holds only where `update` may be read.
  std::function<Expr(Axes p, const Expr& k)> hits;
  // Whether p has candidates at all; guards the read of the winner.
  std::function<Expr(Axes p)> reachable;
  std::function<Expr(Axes p, const Expr& k)> update;
};

te::Tensor replace(te::Builder& t, const te::Tensor& data, const Aim& aim) {
  const te::Tensor place =
      t.reduce("scatter.place", data.shape(), BinaryOp::kMax, {aim.candidates},
               [&](Axes p, Axes k) { return ir::select(aim.hits(p, k[0]), k[0], -1); });
  return t.compute("scatter", data.shape(), [&](Axes p) {
    const std::vector<Expr> at(p.begin(), p.end());
    const Expr winner = ir::load(place, at);
    const Expr inside = ir::min(ir::max(winner, 0), aim.candidates - 1);
    return ir::select(ir::logical_and(aim.reachable(p), ir::le(0, winner)), aim.update(p, inside),
                      ir::load(data, at));
  });
}

te::Tensor combine(te::Builder& t, const te::Tensor& data, const Aim& aim, BinaryOp combiner) {
  const ir::DType type = wide(data.dtype());
  const te::Tensor all =
      t.reduce("scatter.updates", data.shape(), combiner, {aim.candidates}, [&](Axes p, Axes k) {
        return ir::select(aim.hits(p, k[0]), ir::cast(type, aim.update(p, k[0])),
                          ir::identity_of(combiner, type));
      });
  return t.compute("scatter", data.shape(), [&](Axes p) {
    const std::vector<Expr> at(p.begin(), p.end());
    return ir::cast(data.dtype(), ir::make_binary(combiner, ir::cast(type, ir::load(data, at)),
                                                  ir::load(all, at)));
  });
}

te::Tensor scatter(te::Builder& t, const te::Tensor& data, const Aim& aim,
                   std::optional<BinaryOp> reduction) {
  return reduction ? combine(t, data, aim, *reduction) : replace(t, data, aim);
}

void check_operands(Convert& c, std::optional<BinaryOp> reduction) {
  require_same_type(c, {c.input(0), c.input(2)});
  if (!c.dtype(1).is_int()) {
    refuse("indices are {}, not integers", ir::to_string(c.dtype(1)));
  }
  if (reduction && c.dtype(0).is_bool()) {
    refuse("a reduction of bool");
  }
}

// Candidates of p are the updates on the line through p along the axis.
std::vector<ValueId> convert_scatter_elements(Convert& c) {
  const auto reduction = reduction_of(c);
  check_operands(c, reduction);
  const auto axis = static_cast<size_t>(Convert::axis(c.int_or("axis", 0), c.rank(0)));
  const Shape shape = c.shape(0);
  const Shape given = c.shape(1);
  if (given.size() != shape.size() || c.shape(2) != given) {
    refuse("indices, updates and data do not fit each other");
  }
  if (is_empty(c, c.input(0)) || is_empty(c, c.input(1))) {
    return {c.input(0)};
  }
  const auto reachable = [&](Axes p) {
    Expr all = ir::make_bool(true);
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d != axis && given[d] < shape[d]) {
        all = ir::logical_and(all, ir::lt(p[d], given[d]));
      }
    }
    return all;
  };
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d != axis && given[d] > shape[d]) {
      refuse("indices have extent {} in dimension {}, the data {}", given[d], d, shape[d]);
    }
  }
  require_inside(c.b().data(c.input(1)), shape[axis], "index");
  return {c.b().compute(
      "scatter", {c.input(0), c.input(1), c.input(2)}, [&](te::Builder& t, Tensors in) {
        const auto at = [&](Axes p, const Expr& k) {
          std::vector<Expr> place(p.begin(), p.end());
          place[axis] = k;
          return place;
        };
        Aim aim{given[axis], {}, reachable, {}};
        aim.hits = [&](Axes p, const Expr& k) {
          const Expr target = wrapped(ir::load(in[1], at(p, k)), shape[axis]);
          return ir::logical_and(reachable(p), ir::eq(target, p[axis]));
        };
        aim.update = [&](Axes p, const Expr& k) { return ir::load(in[2], at(p, k)); };
        return scatter(t, in[0], aim, reduction);
      })};
}

// For each place of the leading dimensions the number of the last tuple that names it, or -1.
ir::Array inverse_of(const ir::Array& tuples, const Shape& leading) {
  ir::Array inverse(ir::kI64, leading);
  for (int64_t i = 0; i < inverse.elements(); ++i) {
    inverse.set(i, {-1, 0});
  }
  const auto width = static_cast<int64_t>(leading.size());
  const int64_t count = tuples.elements() / std::max<int64_t>(width, 1);
  for (int64_t q = 0; q < count; ++q) {
    int64_t offset = 0;
    for (int64_t k = 0; k < width; ++k) {
      const int64_t extent = leading[static_cast<size_t>(k)];
      int64_t i = tuples.get(q * width + k).i;
      i += i < 0 ? extent : 0;
      if (i < 0 || i >= extent) {
        refuse("index {} is outside of an extent of {}", tuples.get(q * width + k).i, extent);
      }
      offset = offset * extent + i;
    }
    inverse.set(offset, {q, 0});
  }
  return inverse;
}

// The sizes of a ScatterND: tuples of `width` indices, each with a block of updates.
struct Tuples {
  int64_t count = 0;
  size_t width = 0;
  Shape leading, block;  // of the data: named by a tuple, and behind it
};

Tuples tuples_of(Convert& c) {
  const Shape data = c.shape(0);
  const Shape index = c.shape(1);
  if (index.empty() || index.back() < 1 || index.back() > c.rank(0)) {
    refuse("indices of rank {} for data of rank {}", index.size(), data.size());
  }
  Tuples s;
  s.count = count_elements({index.begin(), index.end() - 1});
  s.width = static_cast<size_t>(index.back());
  s.leading.assign(data.begin(), data.begin() + index.back());
  s.block.assign(data.begin() + index.back(), data.end());
  Shape updates(index.begin(), index.end() - 1);
  updates.insert(updates.end(), s.block.begin(), s.block.end());
  if (updates != c.shape(2)) {
    refuse("indices, updates and data do not fit each other");
  }
  return s;
}

// With known indices nothing is searched: the place of each element's update is a constant.
ValueId scatter_known(Convert& c, const Tuples& s, ValueId updates) {
  const ValueId inverse =
      c.b().constant(inverse_of(*c.b().data(c.input(1)), s.leading), "scatter.inverse");
  return c.b().compute("scatter", {c.input(0), inverse, updates}, [&](te::Builder& t, Tensors in) {
    return t.compute("scatter", in[0].shape(), [&](Axes p) {
      const auto split = p.begin() + static_cast<std::ptrdiff_t>(s.width);
      const Expr winner = ir::load(in[1], {p.begin(), split});
      std::vector<Expr> at(split, p.end());
      at.insert(at.begin(), ir::min(ir::max(winner, 0), s.count - 1));
      return ir::select(ir::le(0, winner), ir::load(in[2], at),
                        ir::load(in[0], {p.begin(), p.end()}));
    });
  });
}

std::vector<ValueId> convert_scatter_nd(Convert& c) {
  const auto reduction = reduction_of(c);
  check_operands(c, reduction);
  const Tuples s = tuples_of(c);
  if (is_empty(c, c.input(0)) || s.count == 0) {
    return {c.input(0)};
  }
  Shape flat = s.block;
  flat.insert(flat.begin(), s.count);
  const ValueId updates = c.b().reshape(c.input(2), flat);
  const bool fits = count_elements(s.leading) * ir::kI64.bytes() <= graph::kLargestFolded;
  if (!reduction && fits && c.b().data(c.input(1)) != nullptr) {
    return {scatter_known(c, s, updates)};
  }
  const ValueId index = c.b().reshape(c.input(1), {s.count, static_cast<int64_t>(s.width)});
  return {c.b().compute("scatter", {c.input(0), index, updates}, [&](te::Builder& t, Tensors in) {
    Aim aim{s.count, {}, [](Axes) { return ir::make_bool(true); }, {}};
    aim.hits = [&](Axes p, const Expr& k) {
      Expr all = ir::make_bool(true);
      for (size_t d = 0; d < s.width; ++d) {
        const Expr i = ir::load(in[1], {k, static_cast<int64_t>(d)});
        all = ir::logical_and(all, ir::eq(wrapped(i, s.leading[d]), p[d]));
      }
      return all;
    };
    aim.update = [&](Axes p, const Expr& k) {
      std::vector<Expr> at(p.begin() + static_cast<std::ptrdiff_t>(s.width), p.end());
      at.insert(at.begin(), k);
      return ir::load(in[2], at);
    };
    return scatter(t, in[0], aim, reduction);
  })};
}

// A cache with an update written into it, for each element of the batch from a place of its own on.
std::vector<ValueId> convert_tensor_scatter(Convert& c) {
  require_same_type(c, {c.input(0), c.input(1)});
  const Shape shape = c.shape(0);
  const std::string mode = c.string_or("mode", "linear");
  const bool circular = mode == "circular";
  if (!circular && mode != "linear") refuse("mode '{}' is not known", mode);
  const auto axis = static_cast<size_t>(Convert::axis(c.int_or("axis", -2), c.rank(0)));
  Shape fits = shape;
  if (c.shape(1).size() == shape.size()) fits[axis] = c.shape(1)[axis];
  if (axis == 0 || c.shape(1) != fits || fits[axis] > shape[axis]) {
    refuse("the update does not fit the cache");
  }
  const bool placed = c.has_input(2);
  if (placed && (c.dtype(2) != ir::kI64 || c.shape(2) != Shape{shape[0]})) {
    refuse("the places to write to are no {} numbers of type i64", shape[0]);
  }
  if (is_empty(c, c.input(0)) || is_empty(c, c.input(1))) return {c.input(0)};
  const int64_t length = fits[axis];
  const graph::Data places = placed && !circular ? c.b().data(c.input(2)) : nullptr;
  for (int64_t i = 0; places && i < places->elements(); ++i) {
    const int64_t place = places->get(i).i;
    if (place < 0 || place + length > shape[axis]) {
      refuse("{} places from {} on are outside of a cache of {}", length, place, shape[axis]);
    }
  }
  std::vector<ValueId> operands{c.input(0), c.input(1)};
  if (placed) operands.push_back(c.input(2));
  return {c.b().compute("tensor_scatter", operands, [&](te::Builder& t, Tensors in) {
    return t.compute("tensor_scatter", shape, [&](Axes p) {
      Expr from = placed ? p[axis] - ir::load(in[2], {p[0]}) : Expr(p[axis]);
      if (circular) from = ir::floor_mod(from, shape[axis]);
      const Expr written = ir::logical_and(ir::le(0, from), ir::lt(from, length));
      std::vector<Expr> at(p.begin(), p.end());
      at[axis] = ir::min(ir::max(from, 0), length - 1);
      return ir::select(written, ir::load(in[1], at), ir::load(in[0], {p.begin(), p.end()}));
    });
  })};
}

constexpr Row kScatterRows[] = {
    {"", "Scatter", 9, convert_scatter_elements},
    {"", "ScatterElements", 11, convert_scatter_elements},
    {"", "ScatterND", 11, convert_scatter_nd},
    {"", "TensorScatter", 24, convert_tensor_scatter},
};

}  // namespace

std::span<const Row> rows_scatter() { return kScatterRows; }

}  // namespace tenon::onnx
