// SPDX-License-Identifier: Apache-2.0
#include "search/layout/roles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "ir/visit.h"
#include "te/access.h"

namespace tenon::search {
namespace {

using te::Access;
using te::ComputeDag;
using te::ComputeOp;
using te::Tensor;

constexpr size_t kNoAxis = static_cast<size_t>(-1);

const te::Axis& axis_at(const ComputeOp& op, size_t a) {
  return a < op.axes.size() ? op.axes[a] : op.reduce_axes[a - op.axes.size()];
}
size_t axis_count(const ComputeOp& op) { return op.axes.size() + op.reduce_axes.size(); }

bool uses(const Access& a, const te::Axis& axis) {
  return std::any_of(a.indices.begin(), a.indices.end(),
                     [&](const ir::Expr& i) { return ir::uses_var(i, axis.var.node()); });
}

// The axis that an index is, axes of one element aside.
size_t plain_axis(const ir::Expr& index, const ComputeOp& op) {
  const arith::Linear l = arith::to_linear(index);
  size_t found = kNoAxis;
  for (const auto& [atom, factor] : l.terms) {
    size_t axis = kNoAxis;
    for (size_t a = 0; a < axis_count(op); ++a) {
      if (atom.same_as(axis_at(op, a).var)) axis = a;
    }
    if (axis == kNoAxis) return kNoAxis;
    if (axis_at(op, axis).extent == 1) continue;
    if (found != kNoAxis || factor != 1) return kNoAxis;
    found = axis;
  }
  return l.constant == 0 ? found : kNoAxis;
}

bool is_constant(const ComputeDag& dag, const Tensor& t) {
  return std::any_of(dag.inputs.begin(), dag.inputs.end(),
                     [&](const te::Input& in) { return in.constant && in.tensor.same_as(t); });
}

// A sum of products of two tensors; `w` is the constant one, or the one that depends on the last axis, or the second.
struct Product {
  const ComputeOp* op = nullptr;
  Access x, w;
  bool conv = false;
};

// Positions behind dimension 1 slide over x and not over w.
bool is_convolution(const ComputeOp& op, const Access& x, const Access& w) {
  const size_t rank = op.axes.size();
  if (rank < 3 || x.indices.size() != rank || w.indices.size() < rank - 1 ||
      op.reduce_axes.size() < rank - 2) {
    return false;
  }
  for (size_t d = 0; d < rank; ++d) {
    for (size_t a = 0; a < rank; ++a) {
      const bool channel = d == 1 && a == 1;  // depthwise and grouped
      const bool same = d == a && d != 1;
      if (!same && !channel && ir::uses_var(x.indices[d], op.axes[a].var.node())) return false;
    }
    const bool slides = d >= 2 && op.axes[d].extent > 1;
    if (slides && !ir::uses_var(x.indices[d], op.axes[d].var.node())) return false;
    if (d != 1 && uses(w, op.axes[d])) return false;
  }
  return uses(w, op.axes[1]) || op.axes[1].extent == 1;
}

std::optional<Product> find_product(const ComputeDag& dag, const te::OpRef& op) {
  if (op->combiner != ir::BinaryOp::kAdd || op->axes.empty()) return std::nullopt;
  const auto* product = op->body.as<ir::Binary>();
  if (product == nullptr || product->op != ir::BinaryOp::kMul) return std::nullopt;
  auto all = te::accesses(*op);
  if (all.size() != 2 || all[0].tensor.same_as(all[1].tensor)) return std::nullopt;
  const auto reads_alike = [&](const ir::Expr& e) {
    return ir::reads(e, all[0].tensor) == ir::reads(e, all[1].tensor);
  };
  if (reads_alike(product->a) || reads_alike(product->b)) {
    return std::nullopt;
  }
  Product p{op.get(), all[0], all[1], false};
  if (is_convolution(*op, p.x, p.w)) {
    p.conv = true;
    return p;
  }
  if (is_convolution(*op, p.w, p.x)) {
    std::swap(p.x, p.w);
    p.conv = true;
    return p;
  }
  const auto rank = [&](const Access& a) {
    return (is_constant(dag, a.tensor) ? 2 : 0) + (uses(a, op->axes.back()) ? 1 : 0);
  };
  if (rank(p.x) > rank(p.w)) std::swap(p.x, p.w);
  return p;
}

// Each dimension of the op is read at its own axis, give or take a constant.
bool reads_along(const ComputeOp& op, const Access& a, bool shifted) {
  if (a.indices.size() != op.axes.size()) return false;
  for (size_t d = 0; d < a.indices.size(); ++d) {
    if (op.axes[d].extent == 1 && a.tensor.shape()[d] == 1) continue;
    const arith::Linear l = arith::to_linear(a.indices[d]);
    if (l.terms.size() != 1 || l.coefficient(op.axes[d].var.node()) != 1) return false;
    if (!shifted && l.constant != 0) return false;
  }
  return shifted || a.tensor.shape() == op.output.shape();
}

class RoleFinder {
 public:
  explicit RoleFinder(const ComputeDag& dag) : dag_(dag) {
    for (const te::OpRef& op : dag.ops) {
      if (auto p = find_product(dag, op)) products_.push_back(std::move(*p));
    }
  }

  std::optional<Roles> run() {
    if (products_.empty()) return std::nullopt;
    for (const Tensor& t : dag_.outputs) {
      std::set<const ComputeOp*> seen;
      if (const Product* p = behind(*dag_.producer(t), seen)) add_output(*p, t);
    }
    for (const Product& p : products_) add_operands(p);
    if (roles_.edges.empty()) return std::nullopt;
    roles_.context = describe(products_.back());
    return std::move(roles_);
  }

 private:
  // The tiles of one operator's result, shared with its operands.
  struct Result {
    const Product* product;
    std::vector<int> by_axis;  // axes, then reduce_axes
  };
  static Result uncut(const Product& p) {
    return {&p, std::vector<int>(axis_count(*p.op), EdgeDim::kOutside)};
  }

  const Product* product_of(const ComputeOp& op) const {
    for (const Product& p : products_) {
      if (p.op == &op) return &p;
    }
    return nullptr;
  }

  // The operator whose result `op` is, but for element-wise work.
  const Product* behind(const ComputeOp& op, std::set<const ComputeOp*>& seen) const {
    if (const Product* p = product_of(op)) return p;
    if (op.is_reduction() || !seen.insert(&op).second) return nullptr;
    for (const Access& a : te::accesses(op)) {
      const ComputeOp* before = dag_.producer(a.tensor);
      if (before == nullptr || !reads_along(op, a, false)) continue;
      if (const Product* p = behind(*before, seen)) return p;
    }
    return nullptr;
  }

  bool has_edge(const std::string& name) const {
    return std::any_of(roles_.edges.begin(), roles_.edges.end(),
                       [&](const Edge& e) { return e.tensor == name; });
  }

  int add_tile(const std::string& name, TileKind kind, int64_t extent, const Tensor& of) {
    if (extent < 2) return EdgeDim::kOutside;
    std::string fresh = name + "_t";
    const auto taken = [&] {
      return std::any_of(roles_.tiles.begin(), roles_.tiles.end(),
                         [&](const Tile& t) { return t.name == fresh; });
    };
    for (int i = 2; taken(); ++i) fresh = name + std::to_string(i) + "_t";
    roles_.tiles.push_back({fresh, kind, extent, of.dtype().bytes()});
    return static_cast<int>(roles_.tiles.size()) - 1;
  }

  // ---- results ------------------------------------------------------------------------------------

  Result result_of(const Product& p) {
    for (const Result& r : results_) {
      if (r.product == &p) return r;
    }
    Result r = uncut(p);
    const size_t rank = p.op->axes.size();
    for (size_t i = 0; i < rank; ++i) {
      const size_t a = p.conv && i > 0 ? i % (rank - 1) + 1 : i;  // channels after positions
      const int64_t extent = p.op->axes[a].extent;
      if (p.conv && a >= 2) {
        static constexpr std::array kNames{"d", "h", "w"};
        const size_t name = 3 - std::min<size_t>(3, rank - a);
        r.by_axis[a] = add_tile(kNames[name], TileKind::kSpatial, extent, p.op->output);
      } else if (p.conv && a == 1) {
        r.by_axis[a] = add_tile("o", TileKind::kOutChannel, extent, p.op->output);
      } else if (!p.conv && uses(p.w, p.op->axes[a]) != uses(p.x, p.op->axes[a])) {
        const bool column = uses(p.w, p.op->axes[a]);
        r.by_axis[a] = add_tile(column ? "n" : "m", column ? TileKind::kColumn : TileKind::kRow,
                                extent, p.op->output);
      }
    }
    results_.push_back(r);
    return r;
  }

  static std::vector<EdgeDim> in_order(const Product& p, std::vector<EdgeDim> dims) {
    if (p.conv) std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());  // channels last
    return dims;
  }

  void add_output(const Product& p, const Tensor& t) {
    const Result r = result_of(p);
    Edge e{t.name(), t.shape(), {}, true, false, false};
    for (size_t d = 0; d < p.op->axes.size(); ++d) e.dims.push_back({d, r.by_axis[d], 0, 0});
    e.dims = in_order(p, std::move(e.dims));
    roles_.edges.push_back(e);
    std::set<const ComputeOp*> seen;
    add_alike(*dag_.producer(t), e, seen);
  }

  // Inputs that are read where the result is written: a residual.
  void add_alike(const ComputeOp& op, const Edge& like, std::set<const ComputeOp*>& seen) {
    if (product_of(op) != nullptr || op.is_reduction() || !seen.insert(&op).second) return;
    for (const Access& a : te::accesses(op)) {
      if (!reads_along(op, a, false)) continue;
      if (const ComputeOp* before = dag_.producer(a.tensor)) {
        add_alike(*before, like, seen);
      } else if (!is_constant(dag_, a.tensor) && !is_operand(a.tensor) &&
                 !has_edge(a.tensor.name())) {
        Edge e = like;
        e.tensor = a.tensor.name();
        roles_.edges.push_back(std::move(e));
      }
    }
  }

  // Some operator multiplies it: that decides, not the sum that it also goes into.
  bool is_operand(const Tensor& t) const {
    return std::any_of(products_.begin(), products_.end(), [&](const Product& p) {
      return p.x.tensor.same_as(t) || p.w.tensor.same_as(t);
    });
  }

  // ---- operands -----------------------------------------------------------------------------------

  void add_operands(const Product& p) {
    Result own = uncut(p);
    for (const Result& r : results_) {
      if (r.product == &p) own = r;
    }
    if (p.conv) {
      add_image(p, own);
    } else {
      for (const Access* a : {&p.x, &p.w}) add_matrix(p, own, *a);
    }
  }

  void add_image(const Product& p, const Result& own) {
    Edge e{"",    {},    {{0, EdgeDim::kOutside, 0, 0}, {1, EdgeDim::kOutside, 0, 0}},
           false, false, true};
    for (size_t d = 2; d < p.op->axes.size(); ++d) {
      e.dims.push_back(position(p, own, d));
      e.sliding = e.sliding || e.dims.back().tile >= 0;
    }
    const size_t before = roles_.edges.size();
    follow(p.x.tensor, e);
    if (roles_.edges.size() == before) return;
    const bool shared = plain_axis(p.x.indices[1], *p.op) == 1 && own.by_axis[1] >= 0;
    const int tile = shared
                         ? own.by_axis[1]
                         : add_tile("i", TileKind::kInChannel, p.x.tensor.shape()[1], p.x.tensor);
    if (shared) roles_.tiles[static_cast<size_t>(tile)].name = "c_t";
    for (size_t i = before; i < roles_.edges.size(); ++i) {
      roles_.edges[i].dims[1].tile = tile;
      roles_.edges[i].dims = in_order(p, roles_.edges[i].dims);
    }
  }

  // How dimension d of the image is read: by windows of one size, at steps of one size.
  static EdgeDim position(const Product& p, const Result& own, size_t d) {
    const ir::Expr& index = p.x.indices[d];
    const arith::Linear l = arith::to_linear(index);
    const te::Axis& axis = p.op->axes[d];
    if (own.by_axis[d] < 0 || !l.is_affine() || l.constant != 0 ||
        l.coefficient(axis.var.node()) < 1) {
      return {d, EdgeDim::kInside, 0, 0};
    }
    const int64_t stride = l.coefficient(axis.var.node());
    const int64_t last = arith::interval_of(index, p.op->ranges()).hi;
    return {d, own.by_axis[d], stride, last + 1 - stride * (axis.extent - 1)};
  }

  void add_matrix(const Product& p, Result& own, const Access& a) {
    Edge e{"", {}, {}, false, false, false};
    for (size_t d = 0; d < a.indices.size(); ++d) {
      const size_t axis = plain_axis(a.indices[d], *p.op);
      const bool reduced = axis != kNoAxis && axis >= p.op->axes.size();
      const bool cut = axis != kNoAxis && !reduced;
      e.dims.push_back({d, cut ? own.by_axis[axis] : EdgeDim::kOutside, 0, 0});
    }
    const size_t before = roles_.edges.size();
    follow(a.tensor, e);
    if (roles_.edges.size() == before) return;
    for (size_t d = 0; d < a.indices.size(); ++d) {
      const size_t axis = plain_axis(a.indices[d], *p.op);
      if (axis == kNoAxis || axis < p.op->axes.size()) continue;
      int& tile = own.by_axis[axis];
      if (tile < 0) tile = add_tile("k", TileKind::kDepth, axis_at(*p.op, axis).extent, a.tensor);
      for (size_t i = before; i < roles_.edges.size(); ++i) roles_.edges[i].dims[d].tile = tile;
    }
  }

  // The inputs that `t` is, or that element-wise work and padding make it of.
  void follow(const Tensor& t, Edge like) {
    if (const ComputeOp* op = dag_.producer(t)) {
      if (op->is_reduction()) return;
      like.direct = false;
      for (const Access& a : te::accesses(*op)) {
        if (reads_along(*op, a, true)) follow(a.tensor, like);
      }
      return;
    }
    if (is_constant(dag_, t) || has_edge(t.name())) return;
    like.tensor = t.name();
    like.shape = t.shape();
    like.direct = like.direct && dag_.readers(t).size() == 1;
    roles_.edges.push_back(std::move(like));
  }

  // ---- what agents see ----------------------------------------------------------------------------

  // Kinds, then sizes as logarithms: batch, positions, channels, terms of a sum; then kernel, stride and dilation of
  // each dimension.
  static std::vector<double> describe(const Product& p) {
    std::vector<double> out(kContextSize, 0);
    const std::vector<te::Axis>& axes = p.op->axes;
    out[0] = p.conv ? 1 : 0;
    out[1] = p.conv && plain_axis(p.x.indices[1], *p.op) == 1 ? 1 : 0;  // depthwise
    out[2] = p.x.affine ? 0 : 1;                                        // grouped or transposed
    const size_t first = p.conv ? 2 : axes.size() - std::min<size_t>(axes.size(), 2);
    int64_t batch = 1;
    int64_t terms = 1;
    for (size_t d = 0; d < (p.conv ? 1 : first); ++d) batch *= axes[d].extent;
    for (const te::Axis& a : p.op->reduce_axes) terms *= a.extent;
    out[3] = size_feature(batch);
    for (size_t d = first; d < std::min(axes.size(), first + 3); ++d)
      out[4 + d - first] = size_feature(axes[d].extent);
    out[7] = p.conv ? size_feature(axes[1].extent) : 0;
    out[8] = size_feature(terms);
    out[9] = p.conv ? size_feature(p.x.tensor.shape()[1]) : 0;
    for (size_t d = 2; p.conv && d < std::min<size_t>(axes.size(), 5); ++d) {
      const arith::Linear l = arith::to_linear(p.x.indices[d]);
      const size_t tap = p.w.tensor.rank() + d - axes.size();
      out[10 + d - 2] = static_cast<double>(p.w.tensor.shape()[tap]) / 4;
      out[13 + d - 2] = static_cast<double>(l.coefficient(axes[d].var.node())) / 4;
      for (const te::Axis& a : p.op->reduce_axes) {
        const auto dilation = static_cast<double>(l.coefficient(a.var.node()));
        out[16 + d - 2] = std::max(out[16 + d - 2], dilation / 4);
      }
    }
    out[19] = static_cast<double>(p.op->output.dtype().bytes()) / 4;
    return out;
  }
  static double size_feature(int64_t n) {
    return std::log2(static_cast<double>(std::max<int64_t>(n, 1))) / 8;
  }

  const ComputeDag& dag_;
  std::vector<Product> products_;
  std::vector<Result> results_;
  Roles roles_;
};

}  // namespace

std::optional<Roles> find_roles(const ComputeDag& dag) { return RoleFinder(dag).run(); }

}  // namespace tenon::search
