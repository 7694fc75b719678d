// SPDX-License-Identifier: Apache-2.0
// Operators whose result is as long as the data say: NonZero, Compress, Unique. They are computed while
// the model is read, so what decides about the length must be known then.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "onnx/ops/emit.h"

namespace tenon::onnx {
namespace {

bool is_nonzero(const ir::Array& a, int64_t i) {
  const ir::Scalar v = a.get(i);
  return a.dtype().is_float() ? v.f != 0 : v.i != 0;
}

ir::Array int_array(const std::vector<int64_t>& v) {
  ir::Array a(ir::kI64, {static_cast<int64_t>(v.size())});
  for (size_t i = 0; i < v.size(); ++i) {
    a.set(static_cast<int64_t>(i), {v[i], 0});
  }
  return a;
}

// What is counted is listed in integers of 64 bits, which must not take too much memory.
void require_countable(const ir::Array& a) {
  const auto width = static_cast<int64_t>(a.shape().size()) + 1;
  if (a.elements() > graph::kLargestFolded / ir::kI64.bytes() / width) {
    refuse("{} elements are too many to be counted", a.elements());
  }
}

std::vector<ValueId> convert_non_zero(Convert& c) {
  const ir::Array& x = c.decisive(0, "the operand");
  require_countable(x);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < x.elements(); ++i) {
    if (is_nonzero(x, i)) {
      places.push_back(i);
    }
  }
  const auto count = static_cast<int64_t>(places.size());
  ir::Array out(ir::kI64, {static_cast<int64_t>(x.shape().size()), count});
  const std::vector<int64_t> strides = ir::row_major_strides(x.shape());
  for (size_t d = 0; d < strides.size(); ++d) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = places[static_cast<size_t>(i)] / strides[d] % x.shape()[d];
      out.set(static_cast<int64_t>(d) * count + i, {place, 0});
    }
  }
  return {c.b().constant(std::move(out))};
}

std::vector<ValueId> convert_compress(Convert& c) {
  const ir::Array& condition = c.decisive(1, "the condition");
  const bool flat = !c.has("axis");
  const ValueId x = flat ? c.b().reshape(c.input(0), {count_elements(c.shape(0))}) : c.input(0);
  Shape shape = c.b().shape(x);
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = flat ? 0 : Convert::axis(c.int_or("axis", 0), rank);
  int64_t& extent = shape[static_cast<size_t>(axis)];
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < std::min(condition.elements(), extent); ++i) {
    if (is_nonzero(condition, i)) {
      kept.push_back(i);
    }
  }
  extent = static_cast<int64_t>(kept.size());
  if (count_elements(shape) == 0) {
    return {c.b().empty(c.dtype(0), shape)};
  }
  return {c.b().compute("compress", {x, c.b().ints(kept)}, [&](te::Builder& t, Tensors in) {
    return te::gather(t, "compress", in[0], in[1], axis);
  })};
}

// An array as a list of slices along an axis, ordered element by element.
class Slices {
 public:
  Slices(const ir::Array& a, int64_t axis) : a_(a) {
    const Shape& s = a.shape();
    count_ = s[static_cast<size_t>(axis)];
    inner_ = std::accumulate(s.begin() + axis + 1, s.end(), int64_t{1}, std::multiplies<>());
    outer_ = std::accumulate(s.begin(), s.begin() + axis, int64_t{1}, std::multiplies<>());
  }
  int64_t count() const { return count_; }
  int64_t length() const { return outer_ * inner_; }
  // Where element e of slice s lies in an array with `count` slices.
  int64_t offset(int64_t s, int64_t e, int64_t count) const {
    return (e / inner_ * count + s) * inner_ + e % inner_;
  }
  int compare(int64_t s, int64_t r) const {
    for (int64_t e = 0; e < length(); ++e) {
      const ir::Scalar x = a_.get(offset(s, e, count_));
      const ir::Scalar y = a_.get(offset(r, e, count_));
      if (const int order = compare(x, y); order != 0) {
        return order;
      }
    }
    return 0;
  }

 private:
  template <class T>
  static int order(T x, T y) {
    return x < y ? -1 : y < x ? 1 : 0;
  }
  int compare(ir::Scalar x, ir::Scalar y) const {
    if (a_.dtype().is_float()) {
      const int nans = order(std::isnan(x.f), std::isnan(y.f));  // behind all numbers
      return nans != 0 ? nans : order(x.f, y.f);
    }
    return a_.dtype() == ir::kU64 ? order(static_cast<uint64_t>(x.i), static_cast<uint64_t>(y.i))
                                  : order(x.i, y.i);
  }

  const ir::Array& a_;
  int64_t count_ = 0, inner_ = 1, outer_ = 1;
};

// The distinct slices in the order of the result.
struct Distinct {
  std::vector<int64_t> first, inverse, counts;
};

Distinct distinct(const Slices& slices, bool sorted) {
  std::vector<int64_t> order(static_cast<size_t>(slices.count()));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t s, int64_t r) {
    const int by_value = slices.compare(s, r);
    return by_value != 0 ? by_value < 0 : s < r;
  });
  Distinct d;
  d.inverse.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || slices.compare(order[i - 1], order[i]) != 0) {
      d.first.push_back(order[i]);
      d.counts.push_back(0);
    }
    ++d.counts.back();
    d.inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(d.first.size()) - 1;
  }
  if (sorted) {
    return d;
  }
  std::vector<size_t> by_appearance(d.first.size());
  std::iota(by_appearance.begin(), by_appearance.end(), 0);
  std::sort(by_appearance.begin(), by_appearance.end(),
            [&](size_t a, size_t b) { return d.first[a] < d.first[b]; });
  Distinct out = d;
  std::vector<int64_t> renamed(d.first.size());
  for (size_t i = 0; i < by_appearance.size(); ++i) {
    out.first[i] = d.first[by_appearance[i]];
    out.counts[i] = d.counts[by_appearance[i]];
    renamed[by_appearance[i]] = static_cast<int64_t>(i);
  }
  for (int64_t& i : out.inverse) {
    i = renamed[static_cast<size_t>(i)];
  }
  return out;
}

std::vector<ValueId> convert_unique(Convert& c) {
  const bool flat = !c.has("axis");
  require_countable(c.decisive(0, "the operand"));
  const ValueId v = flat ? c.b().reshape(c.input(0), {count_elements(c.shape(0))}) : c.input(0);
  const graph::Data x = c.b().data(v);
  const auto rank = static_cast<int64_t>(x->shape().size());
  const int64_t axis = flat ? 0 : Convert::axis(c.int_or("axis", 0), rank);
  const Slices slices(*x, axis);
  const Distinct d = distinct(slices, c.int_or("sorted", 1) != 0);
  Shape shape = x->shape();
  const auto count = static_cast<int64_t>(d.first.size());
  shape[static_cast<size_t>(axis)] = count;
  ir::Array values(x->dtype(), shape);
  for (int64_t s = 0; s < count; ++s) {
    for (int64_t e = 0; e < slices.length(); ++e) {
      copy_element(*x, slices.offset(d.first[static_cast<size_t>(s)], e, slices.count()), values,
                   slices.offset(s, e, count));
    }
  }
  return {c.b().constant(std::move(values)), c.b().constant(int_array(d.first)),
          c.b().constant(int_array(d.inverse)), c.b().constant(int_array(d.counts))};
}

constexpr Row kCountedRows[] = {
    {"", "Compress", 9, convert_compress},
    {"", "NonZero", 9, convert_non_zero},
    {"", "Unique", 11, convert_unique},
};

}  // namespace

std::span<const Row> rows_counted() { return kCountedRows; }

}  // namespace tenon::onnx
