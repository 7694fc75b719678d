// SPDX-License-Identifier: Apache-2.0
// Operators that move elements without looking at them.
#include <algorithm>
#include <numeric>

#include "graph_fuzz/rows.h"

namespace tenon::graph_fuzz {
namespace {

// Another shape with as many elements.
Ints refactored(Draft& d, int64_t elements) {
  Ints s;
  while (elements > 1 && s.size() < 4) {
    int64_t f = d.rng().between(2, std::min<int64_t>(elements, 12));
    while (elements % f != 0) ++f;
    s.push_back(f);
    elements /= f;
    if (d.rng().chance(0.15)) s.push_back(1);
  }
  if (elements > 1 || s.empty()) s.push_back(elements);
  return s;
}

bool reshape(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 0, 5);
  Ints to = refactored(d, x.data.elements());
  const auto at = static_cast<size_t>(d.rng().between(0, static_cast<int64_t>(to.size()) - 1));
  if (d.rng().chance(0.3)) to[at] = -1;
  for (size_t i = 0; i < to.size() && i < x.shape().size(); ++i) {
    if (to[i] == x.shape()[i] && d.rng().chance(0.3)) to[i] = 0;  // as it was
  }
  return d.node(row.name(), {x.name, d.ints(to).name});
}

bool flatten(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 5);
  return d.node(row.name(), {x.name}, {{"axis", d.rng().between(0, x.rank())}});
}

bool transpose(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 5);
  if (d.rng().chance(0.2)) return d.node(row.name(), {x.name});
  return d.node(row.name(), {x.name}, {{"perm", d.permutation(x.rank())}});
}

// Where the arguments of an operator stand: in attributes, or in operands from some opset on.
bool with_axes(Draft& d, const Row& row, const std::string& x, const Ints& axes, int64_t moved) {
  if (d.opset() < moved) return d.node(row.name(), {x}, {{"axes", axes}});
  return d.node(row.name(), {x, d.ints(axes).name});
}

bool unsqueeze(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 0, 3);
  const int64_t n = d.rng().between(1, 2);
  Ints axes = d.permutation(x.rank() + n);
  axes.resize(static_cast<size_t>(n));
  if (d.opset() >= 11 && d.rng().chance(0.3)) axes[0] -= x.rank() + n;
  return with_axes(d, row, x.name, axes, 13);
}

bool squeeze(Draft& d, const Row& row) {
  const auto has_one = [](const Drawn& v) {
    return v.rank() <= 5 && v.data.elements() > 0 &&
           std::count(v.shape().begin(), v.shape().end(), 1) > 0;
  };
  const Drawn x = d.pick(row.types, has_one, [&] {
    Shape s = d.shape(0, 3);
    s.insert(s.begin() + d.rng().between(0, static_cast<int64_t>(s.size())), 1);
    return d.leaf(d.type_among(row.types), s);
  });
  if (d.rng().chance(0.2)) return d.node(row.name(), {x.name});
  Ints axes;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (x.extent(i) == 1 && (axes.empty() || d.rng().chance(0.5))) axes.push_back(i);
  }
  return with_axes(d, row, x.name, axes, 13);
}

bool concat(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 5);
  const int64_t axis = d.plain_axis(x);
  const auto fits = [&](const Drawn& v) {
    if (v.type() != x.type() || v.rank() != x.rank()) return false;
    for (int64_t i = 0; i < x.rank(); ++i) {
      if (i != axis && v.extent(i) != x.extent(i)) return false;
    }
    return true;
  };
  Names in{x.name};
  const int64_t more = d.rng().chance(0.03) ? 40 : d.rng().between(0, 4);
  for (int64_t n = more; n > 0; --n) {
    in.push_back(d.pick(row.types, fits, [&] {
                    Shape s = x.shape();
                    s[static_cast<size_t>(axis)] = d.rng().between(1, 3);
                    return d.leaf(x.type(), s);
                  }).name);
  }
  return d.node(row.name(), in, {{"axis", axis}});
}

bool split(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 5);
  const int64_t axis = d.plain_axis(x);
  const int64_t extent = x.extent(axis);
  Ints parts;
  for (int64_t left = extent; left > 0; left -= parts.back()) {
    parts.push_back(d.rng().between(1, std::max<int64_t>(1, std::min<int64_t>(left, 4))));
  }
  Attributes a{{"axis", axis}};
  if (d.rng().chance(0.3) && d.opset() < 18) {
    Ints divisors;
    for (int64_t n = 1; n <= extent; ++n) {
      if (extent % n == 0) divisors.push_back(n);
    }
    return d.node(row.name(), {x.name}, a, static_cast<size_t>(d.rng().pick(divisors)));
  }
  if (d.rng().chance(0.3) && d.opset() >= 18) {
    // The last part is the smaller one, and none is empty.
    int64_t n = d.rng().between(1, extent);
    while ((extent + n - 1) / n * (n - 1) >= extent) --n;
    a.emplace_back("num_outputs", n);
    return d.node(row.name(), {x.name}, a, static_cast<size_t>(n));
  }
  if (d.opset() < 13) {
    a.emplace_back("split", parts);
    return d.node(row.name(), {x.name}, a, parts.size());
  }
  return d.node(row.name(), {x.name, d.ints(parts).name}, a, parts.size());
}

struct Cut {
  Ints starts, ends, axes, steps;
};

Cut random_cut(Draft& d, const Drawn& x, bool steps) {
  Cut c;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (d.rng().chance(0.4)) continue;
    const int64_t n = x.extent(i);
    const int64_t step = steps && d.rng().chance(0.4) ? d.rng().between(1, 3) : 1;
    const int64_t low = d.rng().between(0, n - 1), high = d.rng().between(low + 1, n);
    const bool backward = steps && d.rng().chance(0.25);
    c.axes.push_back(i);
    c.steps.push_back(backward ? -step : step);
    c.starts.push_back(backward ? high - 1 : d.rng().chance(0.3) ? low - n : low);
    const int64_t before = low == 0 ? -n - 1 : low - 1;
    c.ends.push_back(backward ? before : high == n && d.rng().chance(0.5) ? INT64_MAX : high);
  }
  return c;
}

bool slice(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 5);
  const Cut c = random_cut(d, x, d.opset() >= 10);
  if (c.axes.empty()) return false;
  if (d.opset() < 10) {
    return d.node(row.name(), {x.name}, {{"starts", c.starts}, {"ends", c.ends}, {"axes", c.axes}});
  }
  return d.node(row.name(), {x.name, d.ints(c.starts).name, d.ints(c.ends).name,
                             d.ints(c.axes).name, d.ints(c.steps).name});
}

bool expand(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 0, 4);
  Ints to = x.shape();
  for (int64_t& e : to) e = e == 1 ? d.rng().between(1, 4) : d.rng().chance(0.3) ? 1 : e;
  if (d.rng().chance(0.4)) to.insert(to.begin(), d.rng().between(1, 3));
  return d.node(row.name(), {x.name, d.ints(to).name});
}

bool tile(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 4);
  Ints times;
  for (int64_t i = 0; i < x.rank(); ++i) times.push_back(d.rng().between(1, 3));
  return d.node(row.name(), {x.name, d.ints(times).name});
}

bool depth_to_space(Draft& d, const Row& row) {
  const int64_t b = d.rng().between(2, 3);
  const bool wider = row.op == "DepthToSpace";
  const auto fits = [&](const Drawn& v) {
    if (v.rank() != 4) return false;
    return wider ? v.extent(1) % (b * b) == 0 : v.extent(2) % b == 0 && v.extent(3) % b == 0;
  };
  const Drawn x = d.pick(row.types, fits, [&] {
    Shape s{d.rng().between(1, 2), d.rng().between(1, 3), d.rng().between(1, 3),
            d.rng().between(1, 3)};
    if (wider) s[1] *= b * b;
    if (!wider) s[2] *= b, s[3] *= b;
    return d.leaf(d.type_among(row.types), s);
  });
  Attributes a{{"blocksize", b}};
  if (wider && d.opset() >= 11 && d.rng().chance(0.5)) a.emplace_back("mode", std::string("CRD"));
  return d.node(row.name(), {x.name}, a);
}

bool shape_of(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types);
  Attributes a;
  if (row.op == "Shape" && d.opset() >= 15 && x.rank() > 0 && d.rng().chance(0.5)) {
    a.emplace_back("start", d.rng().between(0, x.rank() - 1));
    if (d.rng().chance(0.3)) a.emplace_back("end", d.rng().between(1, x.rank()));
  }
  return d.node(row.name(), {x.name}, a);
}

bool constant_of_shape(Draft& d, const Row& row) {
  const ir::DType t = d.type_among(row.types);
  Attributes a;
  if (d.rng().chance(0.8)) a.emplace_back("value", d.random_array(t, {1}, {}));
  return d.node(row.name(), {d.ints(d.shape(0, 3, 60)).name}, a);
}

bool constant(Draft& d, const Row& row) {
  return d.node(row.name(), {},
                {{"value", d.random_array(d.type_among(row.types), d.shape(0, 3, 60), {})}});
}

bool eye_like(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 2, 2);
  Attributes a;
  if (d.rng().chance(0.5)) a.emplace_back("k", d.rng().between(-2, 2));
  if (d.rng().chance(0.5)) a.emplace_back("dtype", int64_t{onnx_number(d.type_among(kNumbers))});
  return d.node(row.name(), {x.name}, a);
}

bool trilu(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 2, 4);
  Names in{x.name};
  if (d.rng().chance(0.5)) in.push_back(d.int_scalar(d.rng().between(-2, 2)).name);
  return d.node(row.name(), in, {{"upper", d.rng().between(0, 1)}});
}

bool reverse_sequence(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 2, 4);
  const int64_t time = d.rng().between(0, 1);
  const Drawn lengths =
      d.leaf(ir::kI64, {x.extent(1 - time)}, {1, static_cast<double>(x.extent(time)), true});
  return d.node(row.name(), {x.name, lengths.name},
                {{"time_axis", time}, {"batch_axis", 1 - time}});
}

bool range(Draft& d, const Row& row) {
  const ir::DType t = d.type_among(row.types);
  ir::Array start(t, {}), limit(t, {}), step(t, {});
  const double by = static_cast<double>(d.rng().between(1, 3)), from = 1;
  start.set_double(0, from);
  step.set_double(0, by);
  limit.set_double(0, from + by * static_cast<double>(d.rng().between(1, 20)));
  return d.node(row.name(),
                {d.constant(start).name, d.constant(limit).name, d.constant(step).name});
}

std::string pad_mode(Draft& d, const Drawn& x, int64_t& most) {
  const int64_t smallest = *std::min_element(x.shape().begin(), x.shape().end());
  const int64_t which = d.rng().between(0, 3);
  if (which == 0 && smallest > 1) {
    most = std::min<int64_t>(2, smallest - 1);
    return "reflect";
  }
  return which == 1 ? "edge" : "constant";
}

bool pad(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 4);
  int64_t most = 2;
  const std::string mode = pad_mode(d, x, most);
  Ints pads;
  for (int64_t i = 0; i < 2 * x.rank(); ++i) pads.push_back(d.rng().between(0, most));
  Attributes a{{"mode", mode}};
  if (d.opset() < 11) {
    a.emplace_back("pads", pads);
    if (mode == "constant") a.emplace_back("value", 1.5F);
    return d.node(row.name(), {x.name}, a);
  }
  Names in{x.name, d.ints(pads).name};
  if (mode == "constant" && d.rng().chance(0.5)) in.push_back(d.constant(x.type(), {}).name);
  return d.node(row.name(), in, a);
}

bool center_crop_pad(Draft& d, const Row& row) {
  const Drawn x = d.pick(row.types, 1, 4);
  Ints to;
  for (int64_t i = 0; i < x.rank(); ++i) to.push_back(d.rng().between(1, 8));
  return d.node(row.name(), {x.name, d.ints(to).name});
}

const Row kShapeRows[] = {
    {"CenterCropPad", 18, 21, kAll, center_crop_pad},
    {"Concat", 7, 21, kAll, concat},
    {"Constant", 7, 8, kFloats, constant},
    {"Constant", 9, 21, kAll, constant},
    {"ConstantOfShape", 9, 21, kAll, constant_of_shape},
    {"DepthToSpace", 7, 21, kAll, depth_to_space},
    {"Expand", 8, 21, kAll, expand},
    {"EyeLike", 9, 21, kNumbers, eye_like},
    {"Flatten", 7, 8, kFloats, flatten},
    {"Flatten", 9, 21, kAll, flatten},
    {"Pad", 7, 10, kFloats, pad},
    {"Pad", 11, 12, kNumbers, pad},
    {"Pad", 13, 21, kNumbers, pad},
    {"Range", 11, 21, kF32 | kF64 | kI16 | kI32 | kI64, range},
    {"Reshape", 7, 21, kAll | kBF16, reshape},
    {"ReverseSequence", 10, 21, kAll, reverse_sequence},
    {"Shape", 7, 21, kAll, shape_of},
    {"Size", 7, 21, kAll, shape_of},
    {"Slice", 7, 21, kAll, slice},
    {"SpaceToDepth", 7, 21, kAll, depth_to_space},
    {"Split", 7, 21, kAll, split},
    {"Squeeze", 7, 21, kAll, squeeze},
    {"Tile", 7, 21, kAll, tile},
    {"Transpose", 7, 21, kAll | kBF16, transpose},
    {"Trilu", 14, 21, kAll, trilu},
    {"Unsqueeze", 7, 21, kAll, unsqueeze},
};

}  // namespace

std::span<const Row> rows_shape() { return kShapeRows; }

}  // namespace tenon::graph_fuzz
