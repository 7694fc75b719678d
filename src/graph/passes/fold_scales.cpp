// SPDX-License-Identifier: Apache-2.0
// conv(x, w) * s[k] + t[k]  ->  conv(x, w * s[k]) + t[k]
#include <algorithm>
#include <optional>

#include "graph/classify.h"
#include "graph/passes.h"
#include "graph/passes/rewriter.h"
#include "te/splice.h"

namespace tenon::graph {
namespace {

// A map of one operand, written as scale * x + shift; both free of x.
struct Affine {
  ir::Expr scale, shift;
};

std::optional<Affine> affine_in(const ir::Expr& e, const te::Tensor& x) {
  const ir::DType t = e.dtype();
  bool reads_x = false;
  ir::visit(e, [&](const ir::Expr& s) {
    const auto* l = s.as<ir::Load>();
    reads_x = reads_x || (l != nullptr && l->buffer.same_as(x));
  });
  if (!reads_x) return Affine{ir::zero_of(t), e};
  if (e.as<ir::Load>() != nullptr) return Affine{ir::make_const(t, 1), ir::zero_of(t)};
  const auto* b = e.as<ir::Binary>();
  if (b == nullptr) return std::nullopt;
  const auto l = affine_in(b->a, x);
  const auto r = affine_in(b->b, x);
  if (!l || !r) return std::nullopt;
  const bool right_free = ir::is_zero(r->scale);
  const bool left_free = ir::is_zero(l->scale);
  switch (b->op) {
    case ir::BinaryOp::kAdd:
      return Affine{l->scale + r->scale, l->shift + r->shift};
    case ir::BinaryOp::kSub:
      return Affine{l->scale - r->scale, l->shift - r->shift};
    case ir::BinaryOp::kMul:
      if (right_free) return Affine{l->scale * r->shift, l->shift * r->shift};
      if (left_free) return Affine{l->shift * r->scale, l->shift * r->shift};
      return std::nullopt;
    case ir::BinaryOp::kDiv:
      if (right_free) return Affine{l->scale / r->shift, l->shift / r->shift};
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// The expression for every value of one axis, with all other axes at 0; nothing if it depends on them.
std::optional<ir::Array> along(const ir::Expr& e, const te::ComputeOp& op, size_t axis,
                               const te::ComputeDag& dag, const std::vector<ir::Array>& constants,
                               size_t x_input) {
  te::Builder b;
  ir::VarMap zero;
  for (size_t d = 0; d < op.axes.size(); ++d) {
    if (d == axis) continue;
    if (op.axes[d].extent > 1 && ir::uses_var(e, op.axes[d].var.node())) return std::nullopt;
    zero.emplace(op.axes[d].var.node(), ir::Expr(0));
  }
  std::vector<ir::Array> arrays;
  std::vector<std::pair<te::Tensor, te::Tensor>> renamed;
  for (size_t i = 0; i < dag.inputs.size(); ++i) {
    if (i == x_input) continue;
    const te::Tensor& t = dag.inputs[i].tensor;
    renamed.emplace_back(t, b.input(t.name(), t.dtype(), t.shape()));
    arrays.push_back(constants[i]);
  }
  const te::Tensor out =
      b.compute("s", {op.axes[axis].extent}, [&](std::span<const ir::Var> axes) -> ir::Expr {
        zero.emplace(op.axes[axis].var.node(), axes[0]);
        return ir::rewrite(ir::substitute(e, zero), [&](const ir::Expr& y) -> ir::Expr {
          const auto* l = y.as<ir::Load>();
          if (l == nullptr) return y;
          for (const auto& [from, to] : renamed) {
            if (l->buffer.same_as(from)) return ir::load(to, l->indices);
          }
          return y;
        });
      });
  b.output(out);
  return te::evaluate(b.finish(), arrays)[0];
}

// How the weights of a producer go with its output channels.
struct Channels {
  size_t axis = 1;  // of the output
  // The output channel that weight element `offset` belongs to.
  std::function<int64_t(int64_t offset)> of;
  int64_t run = 1;  // so many elements in a row belong to one
};

std::optional<Channels> channels_of(const Graph& g, const Node& n) {
  if (n.inputs.size() != 2 || !g.value(n.inputs[1]).constant()) return std::nullopt;
  const Shape w = g.value(n.inputs[1]).shape;
  const ir::DType t = g.value(n.inputs[1]).dtype;
  if ((t != ir::kF32 && t != ir::kF64) || g.value(n.inputs[0]).dtype != t) return std::nullopt;
  int64_t inner = 1;
  for (size_t d = 1; d < w.size(); ++d) inner *= w[d];
  if (std::holds_alternative<Conv>(n.op)) {
    return Channels{1, [inner](int64_t o) { return o / inner; }, inner};
  }
  if (const auto* c = std::get_if<ConvTranspose>(&n.op)) {
    const int64_t taps = inner / w[1];
    const int64_t per_group = w[0] / c->params.groups;
    return Channels{
        1, [=, k = w[1]](int64_t o) { return o / inner / per_group * k + o / taps % k; }, taps};
  }
  if (const auto* m = std::get_if<MatMul>(&n.op)) {
    if (w.size() != 2) return std::nullopt;
    const size_t last = g.value(n.outputs[0]).shape.size() - 1;
    if (m->trans_b) return Channels{last, [inner](int64_t o) { return o / inner; }, inner};
    return Channels{last, [inner](int64_t o) { return o % inner; }};
  }
  return std::nullopt;
}

// Weights are many: types are told apart once, not for each of them.
template <class T>
void scale_elements(ir::Array& w, const ir::Array& s, const Channels& c) {
  std::vector<double> by(static_cast<size_t>(s.elements()));
  for (size_t i = 0; i < by.size(); ++i) by[i] = s.get_double(static_cast<int64_t>(i));
  T* out = reinterpret_cast<T*>(w.data());
  for (int64_t o = 0; o < w.elements(); o += c.run) {
    const double factor = by[static_cast<size_t>(c.of(o))];
    for (int64_t i = o; i < o + c.run; ++i) out[i] = static_cast<T>(out[i] * factor);
  }
}

Data scaled(const ir::Array& w, const ir::Array& s, const Channels& c) {
  ir::Array out = w;
  if (w.elements() == 0) return std::make_shared<const ir::Array>(std::move(out));
  if (w.dtype() == ir::kF32) {
    scale_elements<float>(out, s, c);
  } else {
    scale_elements<double>(out, s, c);
  }
  return std::make_shared<const ir::Array>(std::move(out));
}

bool all_equal(const ir::Array& a, double v) {
  for (int64_t i = 0; i < a.elements(); ++i) {
    if (a.get_double(i) != v) return false;
  }
  return true;
}

// The only input of `n` that is not constant, if n is scale * x + shift of x's own shape.
std::optional<size_t> affine_operand(const Graph& g, const Node& n) {
  const auto* c = std::get_if<Compute>(&n.op);
  if (c == nullptr || c->dag->ops.size() != 1 || classify(*c->dag) != Kind::kMap)
    return std::nullopt;
  std::optional<size_t> x;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (g.value(n.inputs[i]).constant()) continue;
    if (x) return std::nullopt;
    x = i;
  }
  if (!x || g.value(n.inputs[*x]).shape != g.value(n.outputs[0]).shape) return std::nullopt;
  if (!affine_in(c->dag->ops[0]->body, c->dag->inputs[*x].tensor)) return std::nullopt;
  return x;
}

// Operations of a joined map. A convolution's bias, a batch norm written op by op and a scale have fewer; a chain without
// end would take a time of its third power.
constexpr int kMostJoined = 8;

int operations(const Compute& c) {
  int count = 0;
  ir::visit(c.dag->ops[0]->body, [&](const ir::Expr& e) {
    if (e.as<ir::Binary>() != nullptr) ++count;
  });
  return count;
}

// Two maps in a row as one op: (x + b) * s + t.
Compute composed(const Compute& first, const Compute& second, size_t link) {
  te::Builder b;
  std::vector<te::Tensor> in[2];
  int number = 0;
  const auto input = [&](const te::Tensor& t) {
    return b.input("x" + std::to_string(number++), t.dtype(), t.shape());
  };
  for (const te::Input& i : first.dag->inputs) in[0].push_back(input(i.tensor));
  const auto name = [](const char* text) {
    return [text](const te::ComputeOp&) { return std::string(text); };
  };
  const te::Tensor between = te::splice(b, *first.dag, in[0], name("first"))[0];
  for (size_t i = 0; i < second.dag->inputs.size(); ++i) {
    in[1].push_back(i == link ? between : input(second.dag->inputs[i].tensor));
  }
  b.output(te::splice(b, *second.dag, in[1], name("scale"))[0]);
  return {std::make_shared<const te::ComputeDag>(
      te::inlined(b.finish("scale"), [](const te::ComputeOp&) { return true; }))};
}

class FoldScales : public Rewriter {
 public:
  using Rewriter::Rewriter;

  // So that the scale of a batch norm is seen behind the bias of its convolution.
  void join_affine_maps() {
    each_node([&](size_t n) { return join(n); });
  }

  void fold_into_weights() {
    each_node([&](size_t n) { return fold(n); });
  }

 private:
  // What makes v where nobody else reads it.
  Node* alone_before(ValueId v) const { return read_once(v) ? producer(v) : nullptr; }

  bool join(size_t at) {
    Node& n = g_.nodes[at];
    const auto x = affine_operand(g_, n);
    const Node* first = x ? alone_before(n.inputs[*x]) : nullptr;
    if (first == nullptr || !affine_operand(g_, *first)) return false;
    const auto& before = std::get<Compute>(first->op);
    const auto& behind = std::get<Compute>(n.op);
    if (operations(before) + operations(behind) > kMostJoined) return false;
    std::vector<ValueId> inputs = first->inputs;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (i != *x) inputs.push_back(n.inputs[i]);
    }
    n.op = composed(before, behind, *x);
    n.label = "scale";
    adopt_names(n, first->nodes);
    set_inputs(at, std::move(inputs));
    return true;
  }

  bool fold(size_t at) {
    const Node& n = g_.nodes[at];
    const auto x = affine_operand(g_, n);
    Node* p = x ? alone_before(n.inputs[*x]) : nullptr;
    const auto channels = p != nullptr ? channels_of(g_, *p) : std::nullopt;
    if (!channels) return false;
    const te::ComputeDag& dag = *std::get<Compute>(n.op).dag;
    const te::ComputeOp& op = *dag.ops[0];
    const auto affine = affine_in(op.body, dag.inputs[*x].tensor);
    if (!affine || op.output.dtype() != value(n.inputs[*x]).dtype) return false;
    std::vector<ir::Array> constants;
    for (const ValueId v : n.inputs) {
      constants.push_back(value(v).constant() ? *value(v).data : ir::Array());
    }
    const auto s = along(affine->scale, op, channels->axis, dag, constants, *x);
    const auto t = along(affine->shift, op, channels->axis, dag, constants, *x);
    if (!s || !t || all_equal(*s, 1)) return false;
    rewrite(at, *p, *channels, *s, *t, n.inputs[*x]);
    return true;
  }

  // Node `at` scales and shifts y, which p computes.
  void rewrite(size_t at, Node& p, const Channels& channels, const ir::Array& s, const ir::Array& t,
               ValueId y) {
    const ValueId given = p.inputs[1];
    const Value w = value(given);
    const std::string name = w.name.ends_with(".scaled") ? w.name : w.name + ".scaled";
    p.inputs[1] = add_value({name, w.dtype, w.shape, scaled(*w.data, s, channels)});
    if (is_unread(given))
      g_.value(given).data.reset();  // of many scales in a row only the last stays
    Node& n = g_.nodes[at];
    if (all_equal(t, 0)) {
      p.nodes.insert(p.nodes.end(), n.nodes.begin(), n.nodes.end());
      replace_uses(n.outputs[0], y);
      set_inputs(at, {});
      return;
    }
    Shape row(shape(y).size() - channels.axis, 1);
    row[0] = t.elements();
    ir::Array shift(t.dtype(), row);
    std::copy(t.data(), t.data() + t.bytes(), shift.data());
    const ValueId bias = add_value(
        {w.name + ".shift", t.dtype(), row, std::make_shared<const ir::Array>(std::move(shift))});
    te::Builder b;
    const te::Tensor a = b.input("x0", value(y).dtype, shape(y));
    const te::Tensor c = b.input("x1", t.dtype(), row);
    b.output(te::elementwise(b, "bias", {a, c},
                             [](std::span<const ir::Expr> e) { return e[0] + e[1]; }));
    n.op = Compute{std::make_shared<const te::ComputeDag>(b.finish("bias"))};
    n.label = "bias";
    set_inputs(at, {y, bias});
  }
};

}  // namespace

void fold_scales(Graph& g, const PassContext&) {
  FoldScales(g).join_affine_maps();
  g.compact();
  FoldScales(g).fold_into_weights();
  g.compact();
}

}  // namespace tenon::graph
