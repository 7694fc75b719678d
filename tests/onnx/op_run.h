// SPDX-License-Identifier: Apache-2.0
// One operator, converted and evaluated without a file.
//
//   ir::Array y = OpRun("Slice", 13).in(x).known(ints({1})).known(ints({3})).run()[0];
#pragma once

#include <functional>
#include <map>
#include <variant>

#include "graph/define.h"
#include "onnx/table.h"
#include "support/rng.h"

namespace tenon::onnx::testing {

// What runs in place of a graph attribute.
using Subgraph =
    std::function<std::vector<ValueId>(graph::GraphBuilder&, const std::vector<ValueId>&)>;
using Attribute = std::variant<int64_t, double, std::string, std::vector<int64_t>,
                               std::vector<double>, std::vector<std::string>, ir::Array, Subgraph>;

class OpRun {
 public:
  explicit OpRun(std::string op, int64_t opset = 17, std::string domain = "")
      : op_(std::move(op)), opset_(opset), domain_(std::move(domain)) {}
  OpRun& in(ir::Array a) { return add(std::move(a), false); }    // known when it runs
  OpRun& known(ir::Array a) { return add(std::move(a), true); }  // known when it is converted
  OpRun& absent() {
    operands_.push_back({});
    return *this;
  }
  OpRun& with(const std::string& name, Attribute value) {
    attributes_[name] = std::move(value);
    return *this;
  }
  OpRun& outputs(size_t n) {
    outputs_ = n;
    return *this;
  }
  std::vector<ir::Array> run() const;
  graph::Graph graph() const;  // what it is converted to

 private:
  friend class StubConvert;
  struct Operand {
    std::optional<ir::Array> value;
    bool constant = false;
  };
  OpRun& add(ir::Array a, bool constant) {
    operands_.push_back({std::move(a), constant});
    return *this;
  }

  std::string op_;
  int64_t opset_;
  std::string domain_;
  std::vector<Operand> operands_;
  std::map<std::string, Attribute> attributes_;
  size_t outputs_ = 1;
};

// Floats in -2..2, integers in -9..9 (0..9 if unsigned), both kinds of bool.
ir::Array random_array(Rng& rng, ir::DType t, const Shape& shape);
Shape random_shape(Rng& rng, int64_t lowest_rank, int64_t highest_rank);
ir::Array ints(const std::vector<int64_t>& v);
ir::Array floats(const std::vector<double>& v);
ir::Array scalar(ir::DType t, double v);

// The places of a shape one after the other in row-major order, and the element at one.
void for_each_place(const Shape& shape, const std::function<void(const std::vector<int64_t>&)>& fn);
int64_t offset_of(const Shape& shape, const std::vector<int64_t>& place);
double at(const ir::Array& a, const std::vector<int64_t>& place);

// An array of type t whose element at each place is what fn says.
ir::Array filled_by(ir::DType t, const Shape& shape,
                    const std::function<double(const std::vector<int64_t>&)>& fn);

// "" or what differs first.
std::string difference(const ir::Array& got, const ir::Array& want, double tolerance = 0);

}  // namespace tenon::onnx::testing
