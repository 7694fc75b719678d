// SPDX-License-Identifier: Apache-2.0
#include "onnx/ops/emit.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "onnx/tensor.h"
#include "te/limits.h"

namespace tenon::onnx {

std::string label_of(const Convert& c) {
  std::string label = c.op();
  for (char& letter : label) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return label;
}

int64_t count_elements(const Shape& shape) {
  if (shape.size() > te::kMaxRank) {
    refuse("{} dimensions; at most {} are supported", shape.size(), te::kMaxRank);
  }
  int64_t count = 1;
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0 || extent > te::kMaxExtent) {
      refuse("extent {} is not in 0..2^31", extent);
    }
    if (extent == 0) {
      empty = true;
      continue;
    }
    count *= extent;
    if (count >= te::kMaxElements) {
      refuse("a tensor of 2^40 elements or more");
    }
  }
  return empty ? 0 : count;
}

Shape broadcast_shapes(const std::vector<Shape>& shapes) {
  Shape out;
  for (const Shape& s : shapes) {
    if (s.size() > out.size()) {
      out.insert(out.begin(), s.size() - out.size(), 1);
    }
    for (size_t d = 0; d < s.size(); ++d) {
      int64_t& extent = out[out.size() - s.size() + d];
      if (extent != s[d] && extent != 1 && s[d] != 1) {
        refuse("extents {} and {} cannot be broadcast to each other", extent, s[d]);
      }
      extent = extent == 1 ? s[d] : extent;
    }
  }
  return out;
}

ValueId filled(Convert& c, ir::DType t, Shape shape, ir::Scalar v) {
  const int64_t count = count_elements(shape);
  if (count * t.bytes() > graph::kLargestFolded) {
    refuse("a constant of {} bytes is too large", count * t.bytes());
  }
  ir::Array a(t, std::move(shape));
  if (count > 0) {
    a.set(0, v);
  }
  // What is filled already is copied behind itself.
  for (int64_t done = 1; done < count; done *= 2) {
    const int64_t more = std::min(done, count - done);
    std::memcpy(a.data() + done * t.bytes(), a.data(), static_cast<size_t>(more * t.bytes()));
  }
  return c.b().constant(std::move(a));
}

ValueId filled(Convert& c, ir::DType t, Shape shape, double v) {
  ir::Array one(t, {});
  one.set_double(0, v);
  return filled(c, t, std::move(shape), one.get(0));
}

ValueId broadcast_to(Convert& c, const std::string& label, ValueId x, const Shape& shape) {
  if (c.b().shape(x) == shape) {
    return x;
  }
  if (count_elements(shape) == 0) {
    return c.b().empty(c.b().dtype(x), shape);
  }
  return c.b().compute(label, {x}, [&](te::Builder& t, Tensors in) {
    return t.compute(label, shape, [&](Axes axes) {
      const Shape& own = in[0].shape();
      std::vector<ir::Expr> at;
      for (size_t d = 0; d < own.size(); ++d) {
        const ir::Var& axis = axes[shape.size() - own.size() + d];
        at.push_back(own[d] == 1 ? ir::Expr(0) : ir::Expr(axis));
      }
      return ir::load(in[0], at);
    });
  });
}

ValueId along_axis(Convert& c, ValueId x, int64_t axis, int64_t rank) {
  if (axis < 0 || axis >= rank) {
    refuse("a tensor of {} dimensions has none of number {}", rank, axis);
  }
  Shape shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(axis)] = count_elements(c.b().shape(x));
  return c.b().reshape(x, std::move(shape));
}

ir::DType wide(ir::DType t) { return t.is_float() && t.bits == 16 ? ir::kF32 : t; }

ir::Expr is_extreme(const ir::Expr& v, const ir::Expr& best) {
  const ir::Expr same = ir::eq(v, best);
  return v.dtype().is_float() ? ir::logical_or(same, ir::call(ir::Intrinsic::kIsNan, {v})) : same;
}

ir::Expr literal(const ir::Array& a, int64_t offset) {
  const ir::Scalar v = a.get(offset);
  return a.dtype().is_float() ? ir::make_float(a.dtype(), v.f) : ir::make_int(a.dtype(), v.i);
}

ir::Expr wrapped(const ir::Expr& index, int64_t extent) {
  const ir::Expr i = ir::cast(ir::kI64, index);
  return index.dtype().is_signed() ? ir::select(ir::lt(i, 0), i + ir::Expr(extent), i) : i;
}

ir::Expr clamped(const ir::Expr& index, int64_t extent) {
  return ir::min(ir::max(wrapped(index, extent), 0), extent - 1);
}

std::vector<int64_t> normalized_axes(std::vector<int64_t> axes, int64_t rank) {
  for (int64_t& a : axes) {
    a = Convert::axis(a, rank);
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    refuse("an axis is named twice");
  }
  return axes;
}

std::vector<int64_t> ints_attribute_or_input(Convert& c, const std::string& name, size_t i) {
  if (c.has(name) || !c.has_input(i)) {
    return c.ints_or(name, {});
  }
  return c.constant_ints(i, name);
}

ir::DType type_of_number(int64_t onnx_type) {
  return numeric_type(static_cast<int32_t>(std::clamp<int64_t>(onnx_type, 0, INT32_MAX)));
}

int64_t constant_int(Convert& c, size_t i, std::string_view what) {
  const ir::Array& a = c.constant(i, what);
  if (!a.dtype().is_int() || a.elements() != 1) {
    refuse("{} must be one integer", what);
  }
  return a.get(0).i;
}

void require_float(ir::DType t) {
  if (!t.is_float()) {
    refuse("an operand is {}, not a float", ir::to_string(t));
  }
}

void require_number(ir::DType t) {
  if (t.is_bool()) {
    refuse("an operand is bool, not a number");
  }
}

void require_same_type(Convert& c, const std::vector<ValueId>& values) {
  for (const ValueId v : values) {
    if (c.b().dtype(v) != c.b().dtype(values[0])) {
      refuse("operands are {} and {}", ir::to_string(c.b().dtype(values[0])),
             ir::to_string(c.b().dtype(v)));
    }
  }
}

std::vector<ValueId> all_inputs(Convert& c) {
  std::vector<ValueId> values;
  for (size_t i = 0; i < c.num_inputs(); ++i) {
    values.push_back(c.input(i));
  }
  return values;
}

void copy_element(const ir::Array& source, int64_t from, ir::Array& target, int64_t to) {
  const auto size = static_cast<size_t>(source.dtype().bytes());
  std::memcpy(target.data() + static_cast<size_t>(to) * size,
              source.data() + static_cast<size_t>(from) * size, size);
}

ValueId slice_of_many(graph::GraphBuilder& b, ValueId x, int64_t dim, int64_t begin, int64_t length,
                      int64_t slices) {
  constexpr int64_t kOwnKernels = 256;
  const auto d = static_cast<size_t>(dim);
  Shape shape = b.shape(x);
  const int64_t last = shape[d] - length;
  shape[d] = length;
  if (slices <= kOwnKernels || b.data(x)) {
    Shape from(shape.size(), 0);
    from[d] = begin;
    return b.compute("slice", {x}, [&](te::Builder& t, Tensors in) {
      return te::slice(t, "slice", in[0], from, shape);
    });
  }
  const ValueId start = b.ints({begin, begin});  // two, since one would be written into the kernel
  return b.compute("slice", {x, start}, [&](te::Builder& t, Tensors in) {
    return t.compute("slice", shape, [&](Axes axes) {
      std::vector<ir::Expr> at(axes.begin(), axes.end());
      at[d] = at[d] + ir::min(ir::max(ir::load(in[1], {ir::Expr(0)}), 0), ir::Expr(last));
      return ir::load(in[0], at);
    });
  });
}

ValueId join(graph::GraphBuilder& b, std::vector<ValueId> parts, int64_t dim) {
  constexpr size_t kJoined = 16;
  while (parts.size() > 1) {
    std::vector<ValueId> joined;
    for (size_t i = 0; i < parts.size(); i += kJoined) {
      const std::vector<ValueId> some(
          parts.begin() + static_cast<std::ptrdiff_t>(i),
          parts.begin() + static_cast<std::ptrdiff_t>(std::min(i + kJoined, parts.size())));
      joined.push_back(
          some.size() == 1 ? some[0] : b.compute("concat", some, [&](te::Builder& t, auto in) {
            return te::concat(t, "concat", {in.begin(), in.end()}, dim);
          }));
    }
    parts = std::move(joined);
  }
  return parts.at(0);
}

}  // namespace tenon::onnx
