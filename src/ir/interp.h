// SPDX-License-Identifier: Apache-2.0
// The oracle: runs loop IR slowly and obviously. Every access is checked against its buffer, reading an
// element that was never written is an error, and so are a store to an input and a race: a thread-bound loop's iterations run in
// lockstep, and an element of a shared buffer that one thread writes and another touches without a
// Barrier in between is reported; a parallel loop's iterations may not touch what another one wrote.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "ir/ir.h"

namespace tenon::ir {

// One element of any type: integers and bool in `i` (wrapped to their width), floats in `f` (rounded).
struct Scalar {
  int64_t i = 0;
  double f = 0;
};

// A dense array by value; storage is raw little-endian bytes in the buffer's dtype.
class Array {
 public:
  Array() = default;
  Array(DType dtype, std::vector<int64_t> shape);  // zero-filled, row-major
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t elements() const;
  int64_t bytes() const { return elements() * dtype_.bytes(); }
  std::byte* data() { return data_.data(); }
  const std::byte* data() const { return data_.data(); }
  Scalar get(int64_t offset) const;
  void set(int64_t offset, Scalar v);
  double get_double(int64_t offset) const;  // any type, as a double
  void set_double(int64_t offset, double v);

 private:
  DType dtype_;
  std::vector<int64_t> shape_;
  std::vector<std::byte> data_;
};

// The value of a scalar expression without loads, with variables bound.
Scalar eval(const Expr& scalar_expr, const std::map<const VarNode*, int64_t>& env);

// Runs `f` on arrays that match f.params in order, type and element count. Elements of outputs that `f`
// stores to are overwritten, the others stay as they were. Mathematics is done by libm in double and
// rounded to the type; vectorised loops run in order.
// Throws InternalError for anything that the contract in ir.h forbids.
void interpret(const Function& f, std::vector<Array>& args);

}  // namespace tenon::ir
