// SPDX-License-Identifier: Apache-2.0
#include "compile/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "ir/build.h"
#include "ir/verify.h"
#include "ir/visit.h"

namespace tenon::compile {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;

constexpr int64_t kMaxStackBytes = 512 << 10;  // more in a parallel loop is allocated for each turn

using Buffers = std::unordered_set<const ir::BufferNode*>;

bool is_constant(const std::vector<Expr>& indices) {
  bool constant = true;
  for (const Expr& i : indices) {
    ir::visit(i, [&](const Expr& e) { constant = constant && e.as<ir::VarNode>() == nullptr; });
  }
  return constant;
}

// Buffers of a thread that some access finds by a variable: they lie in memory. The others may become registers.
Buffers in_memory(const Stmt& body) {
  Buffers found;
  const auto look = [&](const Buffer& b, const std::vector<Expr>& indices) {
    if (b->scope == ir::Scope::kLocal && !is_constant(indices)) found.insert(b.get());
  };
  ir::visit(body, [&](const Expr& e) {
    if (const auto* l = e.as<ir::Load>()) look(l->buffer, l->indices);
  });
  ir::visit(body, [&](const Stmt& s) {
    if (const auto* st = s.as<ir::Store>()) look(st->buffer, st->indices);
  });
  return found;
}

// Where its size and its indices stay as they are.
bool is_near(const Buffer& b, const Buffers& in_memory) {
  return b->scope != ir::Scope::kGlobal && in_memory.count(b.get()) == 0;
}

// Whether a loop has a buffer in it that lies in memory once for each turn.
bool multiplies_memory(const Stmt& body) {
  bool found = false;
  ir::visit(body, [&](const Stmt& s) {
    const auto* a = s.as<ir::Allocate>();
    found = found ||
            (a != nullptr && a->buffer->elements() * a->buffer.dtype().bytes() > kMaxStackBytes);
  });
  return found;
}

// Walks a program always in the same order. It writes down its form and its numbers, and puts others in their place where
// they are given.
class Walk : public ir::Mutator {
 public:
  explicit Walk(Buffers in_memory) : in_memory_(std::move(in_memory)) {}
  // By the number's place in the walk; undefined: it stays. And new buffers for old.
  Walk(Buffers in_memory, const std::vector<Expr>* others,
       const std::unordered_map<const ir::BufferNode*, Buffer>* to)
      : others_(others), buffers_(to), in_memory_(std::move(in_memory)) {}

  void add_param(const Buffer& b) { bind_buffer(b); }
  void add_free(const void* handle) { name_of(handle); }

  Expr mutate(const Expr& e) override {
    token(static_cast<uint64_t>(e.kind()) | static_cast<uint64_t>(e.dtype().code) << 8 |
          static_cast<uint64_t>(e.dtype().bits) << 16 |
          static_cast<uint64_t>(e.dtype().lanes) << 32);
    switch (e.kind()) {
      case ir::ExprKind::kIntImm:
        return number(e);
      case ir::ExprKind::kFloatImm:
        token(std::bit_cast<uint64_t>(e.as<ir::FloatImm>()->value));
        return e;
      case ir::ExprKind::kVarNode:
        token(name_of(e.get()));
        return e;
      case ir::ExprKind::kUnary:
        token(static_cast<uint64_t>(e.as<ir::Unary>()->op));
        return descend(e);
      case ir::ExprKind::kBinary:
        token(static_cast<uint64_t>(e.as<ir::Binary>()->op));
        return descend(e);
      case ir::ExprKind::kCall:
        token(static_cast<uint64_t>(e.as<ir::Call>()->fn));
        return descend(e);
      case ir::ExprKind::kVectorReduce:
        token(static_cast<uint64_t>(e.as<ir::VectorReduce>()->op));
        return descend(e);
      case ir::ExprKind::kRamp: {
        const auto* n = e.as<ir::Ramp>();
        const Expr base = mutate(n->base);
        fixed(n->stride);
        return base.same_as(n->base) ? e : ir::ramp(base, n->stride, e.dtype().lanes);
      }
      case ir::ExprKind::kLoad:
        return load(e);
      default:
        return descend(e);
    }
  }

  Stmt mutate(const Stmt& s) override {
    token(static_cast<uint64_t>(s.kind()) + 64);
    switch (s.kind()) {
      case ir::StmtKind::kFor:
        return loop(*s.as<ir::For>());
      case ir::StmtKind::kAllocate: {
        const Buffer& b = s.as<ir::Allocate>()->buffer;
        bind_buffer(b);
        return ir::allocate(buffer(b), mutate(s.as<ir::Allocate>()->body));
      }
      case ir::StmtKind::kStore:
        return store(*s.as<ir::Store>());
      case ir::StmtKind::kPrefetch: {
        const auto* n = s.as<ir::Prefetch>();
        token(name_of(n->buffer.get()));
        return ir::prefetch(buffer(n->buffer), indices(n->buffer, n->indices));
      }
      case ir::StmtKind::kCombine: {
        const auto* n = s.as<ir::Combine>();
        token(static_cast<uint64_t>(n->op));
        token(static_cast<uint64_t>(n->threads));
        token(name_of(n->buffer.get()));
        return ir::combine(n->op, buffer(n->buffer), n->threads);
      }
      case ir::StmtKind::kIf:
        token(s.as<ir::If>()->else_case.defined() ? 1 : 0);
        return descend(s);
      case ir::StmtKind::kBlock:
        token(s.as<ir::Block>()->stmts.size());
        return descend(s);
      default:
        return descend(s);
    }
  }

  Numbered found;

 private:
  void token(uint64_t t) { found.form.push_back(t); }
  uint64_t name_of(const void* handle) {
    return names_.try_emplace(handle, names_.size()).first->second;
  }
  Buffer buffer(const Buffer& b) const {
    if (buffers_ == nullptr) return b;
    const auto it = buffers_->find(b.get());
    return it != buffers_->end() ? it->second : b;
  }

  void bind_buffer(const Buffer& b) {
    token(name_of(b.get()));
    token(static_cast<uint64_t>(b->dtype.code) | static_cast<uint64_t>(b->dtype.bits) << 8 |
          static_cast<uint64_t>(b->scope) << 16 | static_cast<uint64_t>(b.rank()) << 24 |
          static_cast<uint64_t>(is_near(b, in_memory_)) << 32);
    const int64_t elements = b->elements();
    token(elements > std::numeric_limits<int32_t>::max() ? 1 : 0);  // gathers look at it
    if (is_near(b, in_memory_)) {
      token(static_cast<uint64_t>(elements));
    } else {
      found.sizes.push_back(elements);
    }
  }

  Expr number(const Expr& e) {
    const int64_t value = e.as<ir::IntImm>()->value;
    if (fixed_ > 0 || e.dtype() != ir::kI64) {
      token(static_cast<uint64_t>(value));
      return e;
    }
    found.numbers.push_back(value);
    if (others_ == nullptr) return e;
    const Expr& other = (*others_)[found.numbers.size() - 1];
    return other.defined() ? other : e;
  }

  void fixed(const Expr& e) {
    ++fixed_;
    mutate(e);
    --fixed_;
  }

  std::vector<Expr> indices(const Buffer& b, const std::vector<Expr>& list) {
    std::vector<Expr> out;
    const int fixed = is_near(b, in_memory_) ? 1 : 0;
    fixed_ += fixed;
    for (const Expr& i : list) out.push_back(mutate(i));
    fixed_ -= fixed;
    return out;
  }

  Expr load(const Expr& e) {
    const auto* n = e.as<ir::Load>();
    token(name_of(n->buffer.get()) << 1 | (n->predicate.defined() ? 1 : 0));
    std::vector<Expr> at = indices(n->buffer, n->indices);
    const Expr predicate = n->predicate.defined() ? mutate(n->predicate) : Expr();
    return ir::load(buffer(n->buffer), std::move(at), predicate);
  }

  Stmt store(const ir::Store& n) {
    token(name_of(n.buffer.get()) << 1 | (n.predicate.defined() ? 1 : 0));
    std::vector<Expr> at = indices(n.buffer, n.indices);
    const Expr value = mutate(n.value);
    const Expr predicate = n.predicate.defined() ? mutate(n.predicate) : Expr();
    return ir::store(buffer(n.buffer), std::move(at), value, predicate);
  }

  Stmt loop(const ir::For& n) {
    const bool stays = n.loop_kind == ir::ForKind::kParallel && multiplies_memory(n.body);
    token(static_cast<uint64_t>(n.loop_kind) << 8 | static_cast<uint64_t>(n.tag));
    token(name_of(n.var.get()));
    const Expr min = mutate(n.min);
    fixed_ += stays ? 1 : 0;
    const Expr extent = mutate(n.extent);
    fixed_ -= stays ? 1 : 0;
    return ir::make_for(n.var, min, extent, n.loop_kind, mutate(n.body), n.tag);
  }

  const std::vector<Expr>* others_ = nullptr;
  const std::unordered_map<const ir::BufferNode*, Buffer>* buffers_ = nullptr;
  Buffers in_memory_;
  std::unordered_map<const void*, uint64_t> names_;  // by order of appearance
  int fixed_ = 0;
};

// Buffers of the first program, parameters and those allocated, in the order of Numbered::sizes.
std::vector<Buffer> far_buffers(const ir::Function& f, const Buffers& in_memory) {
  std::vector<Buffer> list = f.params;
  ir::visit(f.body, [&](const Stmt& s) {
    const auto* a = s.as<ir::Allocate>();
    if (a != nullptr && !is_near(a->buffer, in_memory)) list.push_back(a->buffer);
  });
  return list;
}

// The numbers that differ, each list of them once, and the variables that stand for them in the walk.
struct Columns {
  std::vector<ir::Var> vars;
  std::vector<std::vector<int64_t>> rows;  // by program
  std::vector<Expr> places;                // undefined: the number is the same in all programs
};

Columns columns_of(const std::vector<const Numbered*>& programs) {
  Columns c;
  c.rows.resize(programs.size());
  std::map<std::vector<int64_t>, ir::Var> known;
  for (size_t i = 0; i < programs[0]->numbers.size(); ++i) {
    std::vector<int64_t> column;
    for (const Numbered* p : programs) column.push_back(p->numbers[i]);
    if (std::equal(column.begin() + 1, column.end(), column.begin())) {
      c.places.emplace_back();
      continue;
    }
    auto it = known.find(column);
    if (it == known.end()) {
      const ir::Var var(fmt::format("n{}", c.vars.size()));
      c.vars.push_back(var);
      for (size_t p = 0; p < programs.size(); ++p) c.rows[p].push_back(column[p]);
      it = known.emplace(std::move(column), var).first;
    }
    c.places.push_back(it->second);
  }
  return c;
}

}  // namespace

Numbered take_numbers(const ir::Function& f) {
  Walk walk(in_memory(f.body));
  for (const Buffer& b : f.params) walk.add_param(b);
  walk.mutate(f.body);
  walk.found.form.push_back(f.num_inputs);
  walk.found.form.push_back(static_cast<uint64_t>(f.in_place + 1));
  return std::move(walk.found);
}

ir::Function with_numbers(const ir::Function& f, const std::vector<int64_t>& numbers) {
  const std::vector<Expr> places(numbers.begin(), numbers.end());
  const std::unordered_map<const ir::BufferNode*, Buffer> none;
  Walk walk(in_memory(f.body), &places, &none);
  for (const Buffer& b : f.params) walk.add_param(b);
  ir::Function out = f;
  out.body = walk.mutate(f.body);
  return out;
}

Numbered take_numbers(const Expr& e, const std::vector<const void*>& free) {
  Walk walk(Buffers{});
  for (const void* handle : free) walk.add_free(handle);
  walk.mutate(e);
  return std::move(walk.found);
}

Shared share(const ir::Function& first, const std::vector<const Numbered*>& programs) {
  const Columns c = columns_of(programs);
  std::unordered_map<const ir::BufferNode*, Buffer> buffers;
  const Buffers by_variable = in_memory(first.body);
  const std::vector<Buffer> far = far_buffers(first, by_variable);
  for (size_t i = 0; i < far.size(); ++i) {
    const auto by_size = [&](const Numbered* a, const Numbered* b) {
      return a->sizes[i] < b->sizes[i];
    };
    const auto [low, high] = std::minmax_element(programs.begin(), programs.end(), by_size);
    const int64_t size = (i < first.params.size() ? *low : *high)->sizes[i];
    if (size == far[i]->elements()) continue;
    buffers.emplace(far[i].get(),
                    Buffer::make(far[i].name(), far[i].dtype(), {size}, far[i]->scope));
  }
  Shared out{first, c.rows};
  if (c.vars.empty() && buffers.empty()) return out;
  Walk walk(by_variable, &c.places, &buffers);
  for (Buffer& b : out.function.params) {
    walk.add_param(b);
    const auto it = buffers.find(b.get());
    if (it != buffers.end()) b = it->second;
  }
  out.function.body = walk.mutate(first.body);
  if (c.vars.empty()) return out;
  const Buffer numbers = Buffer::make("numbers", ir::kI64, {static_cast<int64_t>(c.vars.size())});
  for (size_t i = c.vars.size(); i-- > 0;) {
    out.function.body = ir::make_for(c.vars[i], ir::load(numbers, {static_cast<int64_t>(i)}), 1,
                                     ir::ForKind::kSerial, out.function.body);
  }
  out.function.params.insert(out.function.params.begin(), numbers);
  ++out.function.num_inputs;
  if (out.function.in_place >= 0) ++out.function.in_place;
  ir::verify(out.function, ir::Dialect::kFlat);
  return out;
}

}  // namespace tenon::compile
