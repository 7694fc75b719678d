// SPDX-License-Identifier: Apache-2.0
// Expressions made ready to be evaluated many times: variables and buffers are slots of a Thread.
// A vector is evaluated one lane at a time, which makes Select and predicates lazy per lane.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "ir/interp_linear.h"
#include "ir/interp_machine.h"

namespace tenon::ir::interp {

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual Scalar eval(const Thread& t, int lane) const = 0;
};
using EvaluatorRef = std::unique_ptr<const Evaluator>;

// Where each variable and buffer in scope lives. Slots are never reused, so a Thread is as large as
// the program has binders.
struct Slots {
  std::unordered_map<const void*, size_t> var_of;
  std::unordered_map<const void*, size_t> buffer_of;
  size_t vars = 0;
  size_t buffers = 0;
  size_t bind(const Var& v) { return var_of[v.get()] = vars++; }
  size_t bind(const Buffer& b) { return buffer_of[b.get()] = buffers++; }
};

EvaluatorRef compile(const Expr& e, const Slots& slots);

// The place of an element: checks each index against its dimension.
class Place {
 public:
  Place(const Buffer& buffer, const std::vector<Expr>& indices, const Slots& slots);
  int64_t offset(const Thread& t, int lane) const;
  Storage& storage(const Thread& t) const { return *t.buffers[slot_]; }
  int lanes() const { return lanes_; }
  Scope scope() const { return buffer_->scope; }

 private:
  struct Index {
    Linear linear;
    EvaluatorRef other;  // if it is not linear
    int64_t at(const Thread& t, int lane) const {
      return other ? other->eval(t, lane).i : linear.at(t, lane);
    }
  };
  [[noreturn]] void out_of_bounds(const Thread& t, int lane) const;

  Buffer buffer_;
  std::vector<Index> indices_;
  std::vector<int64_t> extents_;  // of the index space: the shape, or all elements when flat
  std::vector<int64_t> strides_;
  size_t slot_;
  int lanes_ = 1;
};

}  // namespace tenon::ir::interp
