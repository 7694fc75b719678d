// SPDX-License-Identifier: Apache-2.0
// Plain n-dimensional doubles, to write each operator a second time as naive loops.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "support/rng.h"
#include "te/dag.h"
#include "te/ops.h"
#include "te/text.h"

namespace tenon::te {

using Index = std::vector<int64_t>;

struct Nd {
  std::vector<int64_t> shape;
  std::vector<double> data;

  explicit Nd(std::vector<int64_t> s = {}, double fill = 0) : shape(std::move(s)) {
    size_t n = 1;
    for (const int64_t e : shape) {
      n *= static_cast<size_t>(e);
    }
    data.assign(n, fill);
  }
  bool inside(const Index& at) const {
    for (size_t d = 0; d < shape.size(); ++d) {
      if (at[d] < 0 || at[d] >= shape[d]) {
        return false;
      }
    }
    return true;
  }
  double& operator()(const Index& at) { return data.at(offset(at)); }
  double operator()(const Index& at) const { return data.at(offset(at)); }
  double or_else(const Index& at, double outside) const {
    return inside(at) ? (*this)(at) : outside;
  }

 private:
  size_t offset(const Index& at) const {
    EXPECT_EQ(at.size(), shape.size());
    EXPECT_TRUE(inside(at));
    int64_t o = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      o = o * shape[d] + at[d];
    }
    return static_cast<size_t>(o);
  }
};

// Every index below `extents`, last fastest.
inline void for_each(const std::vector<int64_t>& extents,
                     const std::function<void(const Index&)>& fn) {
  for (const int64_t e : extents) {
    if (e < 1) {
      return;
    }
  }
  Index at(extents.size(), 0);
  while (true) {
    fn(at);
    size_t d = extents.size();
    while (d > 0 && ++at[d - 1] == extents[d - 1]) {
      at[--d] = 0;
    }
    if (d == 0) {
      return;
    }
  }
}

inline Nd make(std::vector<int64_t> shape, const std::function<double(const Index&)>& fn) {
  Nd out(shape);
  for_each(shape, [&](const Index& at) { out(at) = fn(at); });
  return out;
}

// Whole numbers in [lo, hi].
inline Nd random_nd(Rng& rng, std::vector<int64_t> shape, int64_t lo = -4, int64_t hi = 4) {
  Nd out(std::move(shape));
  for (double& v : out.data) {
    v = static_cast<double>(rng.between(lo, hi));
  }
  return out;
}

inline ir::Array to_array(const Nd& x, ir::DType t) {
  ir::Array a(t, x.shape);
  for (size_t i = 0; i < x.data.size(); ++i) {
    a.set_double(static_cast<int64_t>(i), x.data[i]);
  }
  return a;
}

inline std::vector<Nd> run(const ComputeDag& dag, const std::vector<Nd>& inputs) {
  std::vector<ir::Array> arrays;
  for (size_t i = 0; i < inputs.size(); ++i) {
    arrays.push_back(to_array(inputs[i], dag.inputs.at(i).tensor.dtype()));
  }
  std::vector<Nd> out;
  for (const ir::Array& a : evaluate(dag, arrays)) {
    Nd x(a.shape());
    for (int64_t i = 0; i < a.elements(); ++i) {
      x.data[static_cast<size_t>(i)] = a.get_double(i);
    }
    out.push_back(std::move(x));
  }
  return out;
}

inline void expect_equal(const Nd& expected, const Nd& actual, double allowed = 0) {
  ASSERT_EQ(expected.shape, actual.shape);
  for (size_t i = 0; i < expected.data.size(); ++i) {
    ASSERT_NEAR(expected.data[i], actual.data[i], allowed) << "element " << i;
  }
}

// Builds one operator over inputs X0, X1, ... of type `t`, evaluates it, and checks that its text reads
// back as the same dag.
inline Nd run_op(const std::vector<Nd>& inputs,
                 const std::function<Tensor(Builder&, const std::vector<Tensor>&)>& op,
                 ir::DType t = ir::kF32) {
  Builder b;
  std::vector<Tensor> xs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    xs.push_back(b.input("X" + std::to_string(i), t, inputs[i].shape));
  }
  b.output(op(b, xs));
  const ComputeDag dag = b.finish();
  const std::string text = to_text(dag);
  const ComputeDag back = parse(text);
  EXPECT_EQ(back.structural_hash(), dag.structural_hash()) << text;
  EXPECT_EQ(to_text(back), text);
  return run(dag, inputs).at(0);
}

}  // namespace tenon::te
