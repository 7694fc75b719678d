// SPDX-License-Identifier: Apache-2.0
// A model while it is drawn. Every node is computed by the oracle as soon as it is added, so that the shapes, types and
// numbers of all values are known to what is drawn next.
//
//   const Drawn& x = draft.pick(kFloats);
//   draft.node("Softmax", {x.name}, {{"axis", draft.axis_of(x)}});
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph_fuzz/oracle.h"
#include "graph_fuzz/types.h"

namespace tenon::graph_fuzz {

using Shape = std::vector<int64_t>;

struct Settings {
  uint64_t seed = 1;
  double special = 0.03;  // share of the float leaves with a few NaN and infinities
};

// Numbers of a leaf: in [low, high], integers or not. Inputs may get a few NaN and infinities beside them, unless they
// must be `finite`.
struct Range {
  double low = -3, high = 3;
  bool integers = false;
  bool finite = false;
};

struct Drawn {
  std::string name;
  ir::Array data;
  bool constant = false;

  ir::DType type() const { return data.dtype(); }
  const Shape& shape() const { return data.shape(); }
  int64_t rank() const { return static_cast<int64_t>(shape().size()); }
  int64_t extent(int64_t dim) const { return shape()[static_cast<size_t>(dim)]; }
};

// A node that the importer does not take although it is valid.
class NodeRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Names = std::vector<std::string>;
using Suits = std::function<bool(const Drawn&)>;

class Draft {
 public:
  explicit Draft(const Settings& s);

  Rng& rng() { return rng_; }
  int64_t opset() const { return opset_; }
  const std::vector<Drawn>& values() const { return values_; }
  const Drawn& value(const std::string& name) const;

  // One of the values that are there, rather a late one; a new leaf where none suits, and now and then.
  // References are good until the next leaf or node.
  Drawn pick(Types types);
  Drawn pick(Types types, const Suits& suits, const std::function<Drawn()>& otherwise);
  // Of this rank, and with elements.
  Drawn pick(Types types, int64_t rank_low, int64_t rank_high);
  // One that numpy broadcasts with `x` or with a shape; with numbers in `range` if that is given.
  Drawn partner(const Drawn& x, const std::optional<Range>& range = {});
  Drawn partner(const Shape& with, Types types, const std::optional<Range>& range = {});

  // Inputs of the model and initializers.
  Drawn leaf(ir::DType t, const Shape& shape, const Range& range = {});
  Drawn input(ir::DType t, const Shape& shape, const Range& range = {});
  Drawn constant(ir::DType t, const Shape& shape, const Range& range = {});
  Drawn constant(const ir::Array& a);
  Drawn ints(const Ints& v);
  Drawn int_scalar(int64_t v);

  // Adds a node, unless its values are too large in number or size or mostly not finite. Throws NodeRefused.
  bool node(const std::string& op, const Names& inputs, const Attributes& attributes = {},
            size_t outputs = 1, const std::string& domain = "");
  // The same with `wanted` false for optional outputs that are left out.
  bool node_with(const std::string& op, const Names& inputs, const Attributes& attributes,
                 const std::vector<bool>& wanted, const std::string& domain = "");

  ir::DType type_among(Types types);
  Shape shape(int64_t rank_low, int64_t rank_high, int64_t most_elements = 400);
  int64_t axis_of(const Drawn& x);     // may be negative, as ONNX allows since opset 11
  int64_t plain_axis(const Drawn& x);  // never negative
  Ints permutation(int64_t n);
  ir::Array random_array(ir::DType t, const Shape& shape, const Range& range);

  // Everything back to where it was: what a failed attempt added.
  struct Mark {
    size_t values, nodes, inputs, initializers;
  };
  Mark mark() const;
  void back_to(const Mark& m);

  // The model with its outputs chosen, and the numbers of its inputs.
  proto::ModelProto finish();
  Arrays inputs() const;

 private:
  std::string fresh_name(const std::string& stem) { return stem + std::to_string(count_++); }
  bool sensible(const ir::Array& a) const;
  Drawn remember(Drawn v);
  void choose_outputs();
  void list_weights_as_inputs();

  Settings settings_;
  Rng rng_;
  int64_t opset_;
  proto::ModelProto model_;
  std::vector<Drawn> values_;
  Scope scope_;
  int64_t count_ = 0;
};

// All elements lie in [low, high]; NaN does not.
bool bounded(const ir::Array& a, double low, double high);

// The shape of two tensors broadcast, which must be possible.
Shape broadcast(const Shape& a, const Shape& b);

}  // namespace tenon::graph_fuzz
