// SPDX-License-Identifier: Apache-2.0
#include "compile/padding.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "arith/simplify.h"
#include "compile/beyond.h"
#include "compile/numbers.h"
#include "graph/builder.h"
#include "graph/literals.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "support/check.h"

namespace tenon::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::Shape;
using graph::ValueId;

// How an axis counts the size: index = (o * size + i) * inner + k with o < outer. Not at all if outer is 0.
struct Part {
  int64_t outer = 0, inner = 0;
  bool whole() const { return outer == 1 && inner == 1; }
  bool merged() const { return outer > 0 && !whole(); }
  bool operator==(const Part&) const = default;
};
using Parts = std::vector<Part>;  // by axis

class Sizes {
 public:
  Sizes(int64_t size, int64_t padded) : size_(size), padded_(padded) {}

  // How many times the size an axis has; 0: it does not depend on it. Nothing: it does in another way.
  std::optional<int64_t> times(int64_t exact, int64_t padded) const {
    if (exact == padded) return 0;
    if (exact % size_ != 0 || exact / size_ * padded_ != padded) return std::nullopt;
    return exact / size_;
  }

 private:
  int64_t size_, padded_;
};

// The parts of a shape under which elements lie as they do under `from`.
std::optional<Parts> reshaped(const Sizes& sizes, const Shape& from, const Parts& parts,
                              const Shape& exact, const Shape& padded) {
  std::vector<int64_t> between{1};  // fixed extents in front of, between and behind sizes
  for (size_t a = 0; a < from.size(); ++a) {
    if (parts[a].outer == 0) {
      between.back() *= from[a];
    } else {
      between.back() *= parts[a].outer;
      between.push_back(parts[a].inner);
    }
  }
  Parts out(padded.size());
  size_t at = 0;
  int64_t fixed = 1;
  for (size_t a = 0; a < padded.size(); ++a) {
    const auto times = sizes.times(exact[a], padded[a]);
    if (!times) return std::nullopt;
    if (*times == 0) {
      fixed *= padded[a];
      continue;
    }
    if (at + 1 >= between.size() || between[at] % fixed != 0) return std::nullopt;
    const int64_t outer = between[at++] / fixed;
    if (*times % outer != 0) return std::nullopt;
    out[a] = {outer, *times / outer};
    fixed = out[a].inner;
  }
  return at + 1 == between.size() && between[at] == fixed ? std::optional(out) : std::nullopt;
}

// Compares the definitions of a node at both sizes.
class Definition {
 public:
  Definition(const te::ComputeDag& exact, const te::ComputeDag& padded, const Sizes& sizes,
             const std::vector<Parts>& inputs)
      : exact_(exact), padded_(padded), sizes_(sizes) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      parts_[padded.inputs[i].tensor.get()] = inputs[i];
      free_exact_.push_back(exact.inputs[i].tensor.get());
      free_padded_.push_back(padded.inputs[i].tensor.get());
    }
  }

  // The parts of each output; nothing if elements within the size could look at others, but for sums over it.
  std::optional<std::vector<Parts>> run() {
    if (exact_.ops.size() != padded_.ops.size() ||
        exact_.outputs.size() != padded_.outputs.size()) {
      return std::nullopt;
    }
    for (size_t i = 0; i < padded_.ops.size(); ++i) {
      if (!follow(*exact_.ops[i], *padded_.ops[i])) return std::nullopt;
    }
    std::vector<Parts> out;
    for (const te::Tensor& t : padded_.outputs) out.push_back(parts_.at(t.get()));
    return out;
  }

  // Reduced axes that count the size.
  const std::vector<const ir::VarNode*>& sums() const { return sums_; }
  const std::map<const ir::BufferNode*, Parts>& parts() const { return parts_; }

 private:
  bool follow(const te::ComputeOp& exact, const te::ComputeOp& padded) {
    if (!same_work(exact, padded)) return false;
    const auto parts = parts_of(exact, padded);
    if (!parts || !add_sums(exact, padded) || !merged_stay(padded, *parts)) return false;
    parts_[padded.output.get()] = *parts;
    free_exact_.push_back(exact.output.get());
    free_padded_.push_back(padded.output.get());
    return true;
  }

  // The same expression with the same numbers.
  bool same_work(const te::ComputeOp& exact, const te::ComputeOp& padded) const {
    if (exact.combiner != padded.combiner || exact.axes.size() != padded.axes.size() ||
        exact.reduce_axes.size() != padded.reduce_axes.size()) {
      return false;
    }
    std::vector<const void*> a = free_exact_, b = free_padded_;
    const auto add = [&](const te::Axis& x, const te::Axis& y) {
      a.push_back(x.var.get());
      b.push_back(y.var.get());
    };
    for (size_t i = 0; i < exact.axes.size(); ++i) add(exact.axes[i], padded.axes[i]);
    for (size_t i = 0; i < exact.reduce_axes.size(); ++i) {
      add(exact.reduce_axes[i], padded.reduce_axes[i]);
    }
    const Numbered x = take_numbers(exact.body, a), y = take_numbers(padded.body, b);
    return x.form == y.form && x.numbers == y.numbers;
  }

  // Axes of several times the size are read from such axes, index by index.
  std::optional<Parts> parts_of(const te::ComputeOp& exact, const te::ComputeOp& padded) const {
    Parts parts;
    for (size_t a = 0; a < padded.axes.size(); ++a) {
      const auto times = sizes_.times(exact.axes[a].extent, padded.axes[a].extent);
      if (!times) return std::nullopt;
      parts.push_back(*times == 0 ? Part{} : *times == 1 ? Part{1, 1} : Part{0, *times});
    }
    ir::visit_loads(padded.body, [&](const ir::Load& l) {
      const Parts& of = parts_.at(l.buffer.get());
      for (size_t d = 0; d < l.indices.size(); ++d) {
        for (size_t a = 0; a < parts.size(); ++a) {
          const bool same = of[d].merged() && l.indices[d].same_as(padded.axes[a].var);
          if (same && parts[a] == Part{0, of[d].outer * of[d].inner}) parts[a] = of[d];
        }
      }
    });
    for (const Part& p : parts) {
      if (p.outer == 0 && p.inner != 0) return std::nullopt;
    }
    return parts;
  }

  bool add_sums(const te::ComputeOp& exact, const te::ComputeOp& padded) {
    for (size_t i = 0; i < padded.reduce_axes.size(); ++i) {
      const auto times = sizes_.times(exact.reduce_axes[i].extent, padded.reduce_axes[i].extent);
      if (!times || *times > 1) return false;
      if (*times == 1) sums_.push_back(padded.reduce_axes[i].var.node());
    }
    return true;
  }

  // Only plain indices use axes of several times the size, and only those count along such an axis.
  bool merged_stay(const te::ComputeOp& op, const Parts& parts) const {
    const auto merged_var = [&](const ir::Expr& e) -> const Part* {
      for (size_t a = 0; a < parts.size(); ++a) {
        if (parts[a].merged() && e.same_as(op.axes[a].var)) return &parts[a];
      }
      return nullptr;
    };
    bool right = true;
    const ir::Expr rest = ir::rewrite_loads(op.body, [&](const ir::Load& l) {
      const Parts& of = parts_.at(l.buffer.get());
      std::vector<ir::Expr> indices = l.indices;
      for (size_t d = 0; d < indices.size(); ++d) {
        if (!of[d].merged()) continue;
        const Part* p = merged_var(indices[d]);
        right = right && p != nullptr && *p == of[d];
        indices[d] = ir::Expr(0);
      }
      return ir::load(l.buffer, indices, l.predicate);
    });
    for (size_t a = 0; a < parts.size(); ++a) {
      right = right && !(parts[a].merged() && ir::uses_var(rest, op.axes[a].var.node()));
    }
    return right;
  }

  const te::ComputeDag& exact_;
  const te::ComputeDag& padded_;
  const Sizes& sizes_;
  std::map<const ir::BufferNode*, Parts> parts_;
  std::vector<const void*> free_exact_, free_padded_;  // tensors so far, in the same order
  std::vector<const ir::VarNode*> sums_;
};

// The definition of a node with scalars that are known written into it: an index that is 0 does not look at the extent.
te::ComputeDag define_known(const Graph& g, const Node& n) {
  te::ComputeDag dag = graph::define(g, n);
  graph::Literals known;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const graph::Value& v = g.value(n.inputs[i]);
    if (v.constant() && v.elements() == 1) {
      known.emplace(dag.inputs[i].tensor.get(), graph::literal(*v.data));
    }
  }
  if (known.empty()) return dag;
  graph::write_literals(dag, known);
  for (te::OpRef& op : dag.ops) {
    auto simple = std::make_shared<te::ComputeOp>(*op);
    simple->body = arith::simplify(op->body);
    op = std::move(simple);
  }
  return dag;
}

// The elements of `padded` within the size are those of `exact`, row by row of the last axis.
bool is_beginning(const ir::Array& exact, const ir::Array& padded) {
  if (exact.dtype() != padded.dtype() || exact.shape().empty()) return false;
  const std::vector<int64_t>&to = exact.shape(), &from = padded.shape();
  const auto row = static_cast<size_t>(to.back() * exact.dtype().bytes());
  std::vector<int64_t> at(to.size(), 0);
  const int64_t rows = row == 0 ? 0 : exact.bytes() / static_cast<int64_t>(row);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t x = 0, y = 0;
    for (size_t d = 0; d < to.size(); ++d) {
      x = x * to[d] + at[d];
      y = y * from[d] + at[d];
    }
    const int64_t bytes = exact.dtype().bytes();
    if (std::memcmp(exact.data() + x * bytes, padded.data() + y * bytes, row) != 0) return false;
    for (size_t d = to.size() - 1; d-- > 0 && ++at[d] == to[d];) at[d] = 0;
  }
  return true;
}

class Follower {
 public:
  Follower(const Graph& exact, const Graph& padded, const Sizes& sizes)
      : exact_(exact), padded_(padded), sizes_(sizes), parts_(padded.values.size()) {}

  std::optional<Padding> run(const std::vector<std::vector<bool>>& inputs) {
    if (exact_.nodes.size() != padded_.nodes.size() ||
        exact_.values.size() != padded_.values.size() || exact_.inputs != padded_.inputs ||
        exact_.outputs != padded_.outputs || !begin(inputs)) {
      return std::nullopt;
    }
    for (size_t n = 0; n < padded_.nodes.size(); ++n) {
      if (!node(n)) return std::nullopt;
    }
    for (const ValueId v : padded_.outputs) {
      std::vector<bool>& axes = found_.outputs.emplace_back();
      for (const Part& p : parts(v)) {
        if (p.merged()) return std::nullopt;
        axes.push_back(p.whole());
      }
    }
    return std::move(found_);
  }

 private:
  Parts& parts(ValueId v) { return parts_[static_cast<size_t>(v)]; }

  bool begin(const std::vector<std::vector<bool>>& inputs) {
    for (size_t v = 0; v < padded_.values.size(); ++v) {
      if (!constant(static_cast<ValueId>(v))) return false;
    }
    for (size_t i = 0; i < padded_.inputs.size(); ++i) {
      const ValueId v = padded_.inputs[i];
      const auto found = parts_by_shape(v);
      if (!found) return false;
      for (size_t a = 0; a < found->size(); ++a) {
        if ((*found)[a].whole() != inputs[i][a]) return false;
      }
      parts(v) = *found;
    }
    return true;
  }

  // Axes that are of the size, or do not depend on it.
  std::optional<Parts> parts_by_shape(ValueId v) const {
    const Shape &exact = exact_.value(v).shape, &padded = padded_.value(v).shape;
    if (exact.size() != padded.size()) return std::nullopt;
    Parts out(padded.size());
    for (size_t a = 0; a < padded.size(); ++a) {
      const auto times = sizes_.times(exact[a], padded[a]);
      if (!times || *times > 1) return std::nullopt;
      if (*times == 1) out[a] = {1, 1};
    }
    return out;
  }

  bool constant(ValueId v) {
    const graph::Value &exact = exact_.value(v), &padded = padded_.value(v);
    if (exact.constant() != padded.constant()) return false;
    if (!exact.constant()) return true;
    parts(v) = Parts(padded.shape.size());
    if (exact.data == padded.data) return true;
    const auto found = parts_by_shape(v);
    if (!found) return false;
    parts(v) = *found;
    if (exact.shape.empty()) {
      return exact.dtype == padded.dtype && std::memcmp(exact.data->data(), padded.data->data(),
                                                        static_cast<size_t>(exact.bytes())) == 0;
    }
    return is_beginning(*exact.data, *padded.data);
  }

  bool node(size_t n) {
    const Node &exact = exact_.nodes[n], &padded = padded_.nodes[n];
    if (exact.inputs != padded.inputs || exact.outputs != padded.outputs ||
        exact.op.index() != padded.op.index()) {
      return false;
    }
    std::vector<Parts> inputs;
    for (const ValueId v : padded.inputs) {
      if (padded_.value(v).elements() == 0 || exact_.value(v).elements() == 0) return false;
      inputs.push_back(parts(v));
    }
    if (std::holds_alternative<graph::Reshape>(padded.op)) return reshape(padded);
    const te::ComputeDag a = define_known(exact_, exact), b = define_known(padded_, padded);
    Definition definition(a, b, sizes_, inputs);
    const auto out = definition.run();
    if (!out) return false;
    for (size_t i = 0; i < padded.outputs.size(); ++i) parts(padded.outputs[i]) = (*out)[i];
    return definition.sums().empty() || add_limits(n, b, definition);
  }

  bool reshape(const Node& n) {
    const ValueId from = n.inputs[0], to = n.outputs[0];
    const auto found = reshaped(sizes_, padded_.value(from).shape, parts(from),
                                exact_.value(to).shape, padded_.value(to).shape);
    if (found) parts(to) = *found;
    return found.has_value();
  }

  bool add_limits(size_t n, const te::ComputeDag& dag, const Definition& definition) {
    if (std::holds_alternative<graph::MatMul>(padded_.nodes[n].op)) {
      found_.limits.push_back({n, true});
      return padded_.nodes[n].inputs.size() == 2;
    }
    std::vector<OpenAxis> axes;
    for (const auto& [tensor, parts] : definition.parts()) {
      for (size_t a = 0; a < parts.size(); ++a) {
        if (parts[a].whole()) axes.push_back({tensor, a});
      }
    }
    const auto values = values_beyond(dag, axes, definition.sums());
    if (!values) return false;
    for (const InputBeyond& v : *values) {
      found_.limits.push_back({n, false, v.input, v.axis, v.value});
    }
    return true;
  }

  const Graph& exact_;
  const Graph& padded_;
  const Sizes& sizes_;
  std::vector<Parts> parts_;  // by value
  Padding found_;
};

}  // namespace

std::optional<Padding> find_padding(const Graph& exact, const Graph& padded, int64_t size,
                                    int64_t padded_size,
                                    const std::vector<std::vector<bool>>& inputs) {
  TENON_CHECK(0 < size && size < padded_size);
  return Follower(exact, padded, Sizes(size, padded_size)).run(inputs);
}

namespace {

// x where the index along an axis is less than the size, a value elsewhere.
std::shared_ptr<const te::ComputeDag> within(const graph::Value& x, const Limit& l) {
  te::Builder b;
  const te::Tensor from = b.input("x0", x.dtype, x.shape);
  const te::Tensor size = b.input("x1", ir::kI64, {1});
  const ir::Expr beyond =
      x.dtype.is_float() ? ir::make_float(x.dtype, l.value) : ir::zero_of(x.dtype);
  b.output(b.compute("within", x.shape, [&](std::span<const ir::Var> axes) {
    const std::vector<ir::Expr> at(axes.begin(), axes.end());
    return ir::select(ir::lt(axes[l.axis], ir::load(size, {0})), ir::load(from, at), beyond);
  }));
  return std::make_shared<const te::ComputeDag>(b.finish("within"));
}

}  // namespace

void add_limits(Graph& g, const std::vector<LimitedDim>& dims) {
  std::vector<std::vector<std::pair<const Limit*, ValueId>>> of(g.nodes.size());
  for (const LimitedDim& d : dims) {
    const ValueId size = g.add_value({d.name, ir::kI64, {1}, nullptr});
    g.inputs.push_back(size);
    for (const Limit& l : d.limits) of[l.node].emplace_back(&l, size);
  }
  std::vector<Node> nodes;
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    Node node = g.nodes[n];
    for (const auto& [l, size] : of[n]) {
      if (l->product) {
        node.inputs.push_back(size);
        continue;
      }
      ValueId& input = node.inputs[l->input];
      const graph::Value x = g.value(input);
      const ValueId y = g.add_value({x.name + ".within", x.dtype, x.shape, nullptr});
      nodes.push_back({graph::Compute{within(x, *l)}, {input, size}, {y}, "within", node.nodes});
      input = y;
    }
    nodes.push_back(std::move(node));
  }
  g.nodes = std::move(nodes);
}

}  // namespace tenon::compile
