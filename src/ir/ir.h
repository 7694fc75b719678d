// SPDX-License-Identifier: Apache-2.0
// The loop IR: immutable expressions and statements behind cheap handles.
//
// What programs mean (the contract that the interpreter defines and every backend keeps):
// - Index expressions are i64 and never overflow. Other integers wrap (two's complement).
// - kDiv is float division, or integer division that truncates. kFloorDiv and kFloorMod are for
//   integers and round towards minus infinity; by a positive constant they are always defined.
//   Dividing an integer by zero and shifting by less than 0 or by the width or more are bugs.
// - Select evaluates its condition first and then only the chosen side, lane by lane: a load on the
//   side not chosen is not performed. kAnd and kOr on bool likewise stop early.
// - f16 and bf16 arithmetic is done in f32 and rounded after each operation; conversions between them
//   and integers or f64 go by way of f32 too.
// - A backend may contract a*b+c into one fused multiply-add and nothing else; sums keep their order,
//   except inside VectorReduce and where a VectorReduce by kAdd is added to something: there it is free.
// - kMax(a, b) is b where b > a and a elsewhere, kMin(a, b) is b where b < a and a elsewhere: a NaN on
//   the left stays and one on the right is passed over, so that max(x, 0.0) keeps a NaN in x and a
//   reduction, which starts at -inf and takes the next element on the right, skips it. kMinimum and
//   kMaximum (floats only) are NaN if either side is. Which of -0.0 and 0.0 these two give is open.
// - Distinct buffers never overlap. A Load or Store outside its buffer is a bug.
// - A parallel or thread-bound loop's iterations touch no element that another one writes, except
//   shared-scope buffers with a Barrier between the write and the read.
// - A thread-bound loop inside another of the same tag starts no threads: each thread takes the
//   iteration of its own number, and those beyond its extent, which is not larger, sit it out.
// - Identity is the handle: `same_as` means unchanged. Names are for people.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/dtype.h"
#include "ir/fwd.h"
#include "support/check.h"
#include "support/ref.h"

namespace tenon::ir {

enum class ExprKind : uint8_t {
#define TENON_EXPR(Name) k##Name,
#define TENON_STMT(Name)
#include "ir/nodes.def"
};

enum class StmtKind : uint8_t {
#define TENON_EXPR(Name)
#define TENON_STMT(Name) k##Name,
#include "ir/nodes.def"
};

// A bit for each buffer of a set. Buffers may share a bit: a bit that is absent says that none of them is in the set.
using BufferMask = uint8_t;

struct ExprNode : RefCounted {
  ExprKind kind;
  BufferMask
      loads;  // of each Load that it is or has inside: most walks look for loads and skip the rest
  DType dtype;
  ExprNode(ExprKind k, DType t, BufferMask l = 0) : kind(k), loads(l), dtype(t) {}
};

struct StmtNode : RefCounted {
  StmtKind kind;
  explicit StmtNode(StmtKind k) : kind(k) {}
};

class Expr : public Ref<ExprNode> {
 public:
  using Ref::Ref;
  // An i64 IntImm, so that `i * 16 + 1` reads as it should.
  template <std::integral T>
  requires(!std::same_as<T, bool>) Expr(T index_constant)  // NOLINT(google-explicit-constructor)
      : Expr(index_imm(static_cast<int64_t>(index_constant))) {}
  ExprKind kind() const { return get()->kind; }
  DType dtype() const { return get()->dtype; }
  bool loads() const { return load_mask() != 0; }
  BufferMask load_mask() const { return defined() ? get()->loads : BufferMask{0}; }
  template <class T>
  const T* as() const {
    return defined() && get()->kind == T::kKind ? static_cast<const T*>(get()) : nullptr;
  }

 private:
  static const ExprNode* index_imm(int64_t v);
};

class Stmt : public Ref<StmtNode> {
 public:
  using Ref::Ref;
  StmtKind kind() const { return get()->kind; }
  template <class T>
  const T* as() const {
    return defined() && get()->kind == T::kKind ? static_cast<const T*>(get()) : nullptr;
  }
};

// ---- variables and buffers -------------------------------------------------------------------

struct VarNode : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kVarNode;
  std::string name;
  VarNode(std::string n, DType t) : ExprNode(kKind, t), name(std::move(n)) {}
};

// A variable is its node's address; two variables may share a name.
class Var : public Expr {
 public:
  Var() = default;
  explicit Var(std::string name, DType t = kI64) : Expr(new VarNode(std::move(name), t)) {}
  explicit Var(const VarNode* node) : Expr(node) {}
  const VarNode* node() const { return static_cast<const VarNode*>(get()); }
  const std::string& name() const { return node()->name; }
};

enum class Scope : uint8_t {
  kGlobal,    // parameters and workspace
  kShared,    // one copy per GPU block
  kLocal,     // one copy per thread: a small array on the stack
  kRegister,  // one copy per thread; every index is constant once loops are unrolled
};

struct BufferNode : RefCounted {
  std::string name;
  DType dtype;                   // scalar
  std::vector<int64_t> shape;    // every extent >= 1; rank 0 holds one element
  std::vector<int64_t> strides;  // in elements, row-major unless storage_align padded a dimension
  Scope scope = Scope::kGlobal;
  int64_t elements() const;  // storage: highest offset + 1
};

class Buffer : public Ref<BufferNode> {
 public:
  using Ref::Ref;
  static Buffer make(std::string name, DType dtype, std::vector<int64_t> shape,
                     Scope scope = Scope::kGlobal);
  static Buffer make_strided(std::string name, DType dtype, std::vector<int64_t> shape,
                             std::vector<int64_t> strides, Scope scope);
  const std::string& name() const { return get()->name; }
  DType dtype() const { return get()->dtype; }
  const std::vector<int64_t>& shape() const { return get()->shape; }
  size_t rank() const { return get()->shape.size(); }
  BufferMask mask() const;  // one bit, from its address
};

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape);

// ---- expressions -----------------------------------------------------------------------------

struct IntImm : ExprNode {  // integers of every width, and bool
  static constexpr ExprKind kKind = ExprKind::kIntImm;
  int64_t value;
  IntImm(DType t, int64_t v) : ExprNode(kKind, t), value(v) {}
};

struct FloatImm : ExprNode {  // the value is already rounded to dtype
  static constexpr ExprKind kKind = ExprKind::kFloatImm;
  double value;
  FloatImm(DType t, double v) : ExprNode(kKind, t), value(v) {}
};

// Between any two types of equal lanes. Float to integer truncates and saturates (NaN gives 0);
// to bool is `!= 0`.
struct Cast : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kCast;
  Expr value;
  Cast(DType t, Expr v) : ExprNode(kKind, t, v.load_mask()), value(std::move(v)) {}
};

enum class UnaryOp : uint8_t { kNot, kNeg, kBitNot };  // kNot: bool only

struct Unary : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kUnary;
  UnaryOp op;
  Expr a;
  Unary(UnaryOp o, Expr x) : ExprNode(kKind, x.dtype(), x.load_mask()), op(o), a(std::move(x)) {}
};

enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kFloorMod,
  kMin,
  kMax,
  kEq,
  kNe,
  kLt,
  kLe,  // result: bool of the same lanes
  kAnd,
  kOr,  // bool only
  kBitAnd,
  kBitOr,
  kBitXor,
  kShl,
  kShr,  // integers; kShr is arithmetic when signed
  kMinimum,
  kMaximum,  // floats; NaN if either side is
};
bool is_comparison(BinaryOp op);
bool is_combiner(BinaryOp op);  // a reduction may use it: + * min max and or minimum maximum
std::string_view to_string(BinaryOp op);  // "+", "//", "min", "and", ...

struct Binary : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kBinary;
  BinaryOp op;
  Expr a, b;  // equal dtypes
  Binary(BinaryOp o, Expr x, Expr y);
};

struct Select : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kSelect;
  Expr condition, on_true, on_false;
  Select(Expr c, Expr t, Expr f)
      : ExprNode(kKind, t.dtype(), c.load_mask() | t.load_mask() | f.load_mask()),
        condition(std::move(c)),
        on_true(std::move(t)),
        on_false(std::move(f)) {}
};

// buffer[indices], one index per dimension (or a single flat offset after flatten). Indices that are
// vectors have the same lanes, and so does the result; a scalar index then serves every lane. Where `predicate` (bool, same lanes; may be undefined =
// always) is false nothing is read and the value is 0.
struct Load : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kLoad;
  Buffer buffer;
  std::vector<Expr> indices;
  Expr predicate;
  Load(Buffer b, std::vector<Expr> i, Expr p);
};

enum class Intrinsic : uint8_t {
  kExp,
  kLog,
  kTanh,
  kErf,
  kSigmoid,
  kSqrt,
  kRsqrt,
  kPow,
  kAbs,
  kFloor,
  kCeil,
  kRound /*half to even*/,
  kTrunc,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kIsNan,
  kIsInf,
  kFma /*a*b+c, one rounding*/,
};
int arity(Intrinsic fn);
std::string_view to_string(Intrinsic fn);  // "exp", "tanh", ...
std::optional<Intrinsic> parse_intrinsic(std::string_view name);

// Element-wise mathematics; kIsNan and kIsInf give bool, the others keep the type of their arguments.
struct Call : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kCall;
  Intrinsic fn;
  std::vector<Expr> args;
  Call(Intrinsic f, std::vector<Expr> a);
};

struct Ramp : ExprNode {  // base, base + stride, base + 2*stride, ...
  static constexpr ExprKind kKind = ExprKind::kRamp;
  Expr base, stride;
  Ramp(Expr b, Expr s, int lanes)
      : ExprNode(kKind, b.dtype().with_lanes(lanes), b.load_mask() | s.load_mask()),
        base(std::move(b)),
        stride(std::move(s)) {}
};

struct Broadcast : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kBroadcast;
  Expr value;
  Broadcast(Expr v, int lanes)
      : ExprNode(kKind, v.dtype().with_lanes(lanes), v.load_mask()), value(std::move(v)) {}
};

// Neighbouring lanes of `value` combined by an operation that is_combiner, in any order, in as many groups of equal
// length as the result has lanes: all of them into a scalar, or with two lanes {a, b, c, d} into {a+b, c+d}. kMin and
// kMax start at their neutral element, as reductions do, and so skip every NaN.
struct VectorReduce : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kVectorReduce;
  BinaryOp op;
  Expr value;
  VectorReduce(BinaryOp o, Expr v, int lanes = 1)
      : ExprNode(kKind, v.dtype().with_lanes(lanes), v.load_mask()), op(o), value(std::move(v)) {}
  int group() const { return value.dtype().lanes / dtype.lanes; }
};

// ---- statements ------------------------------------------------------------------------------

enum class ForKind : uint8_t { kSerial, kParallel, kVectorized, kUnrolled, kThread };

enum class ThreadTag : uint8_t {
  kNone,
  kBlockX,
  kBlockY,
  kBlockZ,
  kThreadX,
  kThreadY,
  kThreadZ,
  kVThread,
};

// for var in [min, min + extent). Vectorised and unrolled loops have constant extents.
struct For : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kFor;
  Var var;
  Expr min, extent;
  ForKind loop_kind;
  ThreadTag tag;
  Stmt body;
  For(Var v, Expr m, Expr e, ForKind k, Stmt b, ThreadTag t = ThreadTag::kNone)
      : StmtNode(kKind),
        var(std::move(v)),
        min(std::move(m)),
        extent(std::move(e)),
        loop_kind(k),
        tag(t),
        body(std::move(b)) {}
};

// buffer[indices] = value, only in lanes where `predicate` (may be undefined) holds.
struct Store : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kStore;
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;
  Expr predicate;
  Store(Buffer b, std::vector<Expr> i, Expr v, Expr p = Expr())
      : StmtNode(kKind),
        buffer(std::move(b)),
        indices(std::move(i)),
        value(std::move(v)),
        predicate(std::move(p)) {}
};

struct If : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kIf;
  Expr condition;             // scalar bool
  Stmt then_case, else_case;  // else_case may be undefined
  If(Expr c, Stmt t, Stmt e = Stmt())
      : StmtNode(kKind),
        condition(std::move(c)),
        then_case(std::move(t)),
        else_case(std::move(e)) {}
};

struct Block : StmtNode {  // in order; an empty block does nothing
  static constexpr StmtKind kKind = StmtKind::kBlock;
  std::vector<Stmt> stmts;
  explicit Block(std::vector<Stmt> s) : StmtNode(kKind), stmts(std::move(s)) {}
};

struct Allocate : StmtNode {  // `buffer` exists inside `body`, contents unspecified at entry
  static constexpr StmtKind kKind = StmtKind::kAllocate;
  Buffer buffer;
  Stmt body;
  Allocate(Buffer b, Stmt s) : StmtNode(kKind), buffer(std::move(b)), body(std::move(s)) {}
};

struct Barrier : StmtNode {  // all threads of the block have reached this point
  static constexpr StmtKind kKind = StmtKind::kBarrier;
  Barrier() : StmtNode(kKind) {}
};

struct Prefetch : StmtNode {  // a hint; no effect on values, may name an element outside the buffer
  static constexpr StmtKind kKind = StmtKind::kPrefetch;
  Buffer buffer;
  std::vector<Expr> indices;
  Prefetch(Buffer b, std::vector<Expr> i)
      : StmtNode(kKind), buffer(std::move(b)), indices(std::move(i)) {}
};

// What neighbouring threads hold in `buffer`, which has one element and is each thread's own, is combined by an operation
// that is_combiner, and all of them have the result. Neighbours are `threads` threads along x, a power of two; the
// first of them has a number that is a multiple of it. The order is fixed: with d = threads/2, threads/4, .., 1 each
// takes op(its own, that of the thread whose number is its own xor d). All of them come here together.
struct Combine : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kCombine;
  BinaryOp op;
  Buffer buffer;
  int64_t threads;
  Combine(BinaryOp o, Buffer b, int64_t n)
      : StmtNode(kKind), op(o), buffer(std::move(b)), threads(n) {}
};

// A whole kernel. Parameters are global buffers in calling order: inputs, which are only read, then
// outputs, which are written before they are read.
struct Function {
  std::string name;
  std::vector<Buffer> params;
  size_t num_inputs = 0;
  Stmt body;
  // The input whose memory the first output may be; -1: none. Right when every element of that input is read
  // before, and not after, the element of the output at the same place is written.
  int32_t in_place = -1;
};

}  // namespace tenon::ir
