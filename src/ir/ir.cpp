// SPDX-License-Identifier: Apache-2.0
#include "ir/ir.h"

#include <algorithm>
#include <numeric>

namespace tenon::ir {
namespace {

struct IntrinsicRow {
  std::string_view name;
  int arity;
};

constexpr IntrinsicRow kIntrinsics[] = {
    {"exp", 1},   {"log", 1},   {"tanh", 1}, {"erf", 1},   {"sigmoid", 1}, {"sqrt", 1},
    {"rsqrt", 1}, {"pow", 2},   {"abs", 1},  {"floor", 1}, {"ceil", 1},    {"round", 1},
    {"trunc", 1}, {"sin", 1},   {"cos", 1},  {"tan", 1},   {"asin", 1},    {"acos", 1},
    {"atan", 1},  {"sinh", 1},  {"cosh", 1}, {"asinh", 1}, {"acosh", 1},   {"atanh", 1},
    {"isnan", 1}, {"isinf", 1}, {"fma", 3},
};
static_assert(std::size(kIntrinsics) == static_cast<size_t>(Intrinsic::kFma) + 1);

constexpr std::string_view kBinaryOps[] = {"+",   "-",  "*",  "/",  "//", "%",       "min",
                                           "max", "==", "!=", "<",  "<=", "and",     "or",
                                           "&",   "|",  "^",  "<<", ">>", "minimum", "maximum"};
static_assert(std::size(kBinaryOps) == static_cast<size_t>(BinaryOp::kMaximum) + 1);

int index_lanes(const std::vector<Expr>& indices) {
  int lanes = 1;
  for (const Expr& i : indices) {
    lanes = std::max<int>(lanes, i.dtype().lanes);
  }
  return lanes;
}

BufferMask load_mask_of(const std::vector<Expr>& list) {
  return std::accumulate(
      list.begin(), list.end(), BufferMask{0},
      [](BufferMask mask, const Expr& e) { return static_cast<BufferMask>(mask | e.load_mask()); });
}

BufferMask load_mask_of(const Buffer& b, const std::vector<Expr>& indices, const Expr& predicate) {
  return b.mask() | load_mask_of(indices) | predicate.load_mask();
}

DType call_type(Intrinsic fn, const std::vector<Expr>& args) {
  const DType t = args[0].dtype();
  return fn == Intrinsic::kIsNan || fn == Intrinsic::kIsInf ? kBool.with_lanes(t.lanes) : t;
}

}  // namespace

const ExprNode* Expr::index_imm(int64_t v) { return new IntImm(kI64, v); }

int64_t BufferNode::elements() const {
  int64_t last = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    last += (shape[d] - 1) * strides[d];
  }
  return last + 1;
}

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

Buffer Buffer::make(std::string name, DType dtype, std::vector<int64_t> shape, Scope scope) {
  std::vector<int64_t> strides = row_major_strides(shape);
  return make_strided(std::move(name), dtype, std::move(shape), std::move(strides), scope);
}

Buffer Buffer::make_strided(std::string name, DType dtype, std::vector<int64_t> shape,
                            std::vector<int64_t> strides, Scope scope) {
  TENON_CHECK(!dtype.is_vector()) << name << " has vector type " << to_string(dtype);
  TENON_CHECK(shape.size() == strides.size()) << name;
  for (const int64_t extent : shape) {
    TENON_CHECK(extent >= 1) << name << " has an extent " << extent;
  }
  auto* node = new BufferNode;
  node->name = std::move(name);
  node->dtype = dtype;
  node->shape = std::move(shape);
  node->strides = std::move(strides);
  node->scope = scope;
  return Buffer(node);
}

BufferMask Buffer::mask() const {
  // Nodes lie at multiples of 16, so the lowest bits of an address say little; the product mixes the others.
  const auto mixed = reinterpret_cast<uintptr_t>(get()) * uint64_t{0x9e3779b97f4a7c15};
  return static_cast<BufferMask>(1U << (mixed >> 61));
}

bool is_comparison(BinaryOp op) { return op >= BinaryOp::kEq && op <= BinaryOp::kLe; }

bool is_combiner(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kMul:
    case BinaryOp::kMin:
    case BinaryOp::kMax:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kMinimum:
    case BinaryOp::kMaximum:
      return true;
    default:
      return false;
  }
}

std::string_view to_string(BinaryOp op) { return kBinaryOps[static_cast<size_t>(op)]; }

Binary::Binary(BinaryOp o, Expr x, Expr y)
    : ExprNode(kKind, is_comparison(o) ? kBool.with_lanes(x.dtype().lanes) : x.dtype(),
               x.load_mask() | y.load_mask()),
      op(o),
      a(std::move(x)),
      b(std::move(y)) {}

Load::Load(Buffer b, std::vector<Expr> i, Expr p)
    : ExprNode(kKind, b.dtype().with_lanes(index_lanes(i)), load_mask_of(b, i, p)),
      buffer(std::move(b)),
      indices(std::move(i)),
      predicate(std::move(p)) {}

int arity(Intrinsic fn) { return kIntrinsics[static_cast<size_t>(fn)].arity; }

std::string_view to_string(Intrinsic fn) { return kIntrinsics[static_cast<size_t>(fn)].name; }

std::optional<Intrinsic> parse_intrinsic(std::string_view name) {
  for (size_t i = 0; i < std::size(kIntrinsics); ++i) {
    if (kIntrinsics[i].name == name) {
      return static_cast<Intrinsic>(i);
    }
  }
  return std::nullopt;
}

Call::Call(Intrinsic f, std::vector<Expr> a)
    : ExprNode(kKind, call_type(f, a), load_mask_of(a)), fn(f), args(std::move(a)) {}

}  // namespace tenon::ir
