// SPDX-License-Identifier: Apache-2.0
#include "backend/nvptx/nests.h"

#include <algorithm>

#include "backend/gpu_module.h"
#include "ir/build.h"
#include "ir/thread_tags.h"
#include "ir/visit.h"
#include "support/check.h"

namespace tenon::backend::nvptx {
namespace {

class Splitter {
 public:
  explicit Splitter(const ir::Function& f) : f_(f) {}

  std::vector<Nest> run() {
    walk(f_.body);
    return std::move(nests_);
  }

 private:
  void walk(const ir::Stmt& s) {
    if (!s.defined()) return;
    if (const auto* many = s.as<ir::Block>()) {
      for (const ir::Stmt& part : many->stmts) walk(part);
    } else if (const auto* made = s.as<ir::Allocate>();
               made != nullptr && made->buffer->scope == ir::Scope::kGlobal) {
      workspace_.push_back(made->buffer);
      walk(made->body);
    } else {
      nests_.push_back(nest_of(s));
    }
  }
  Nest nest_of(const ir::Stmt& s) const;
  void add_loop(Nest& nest, const ir::For& n) const;
  void add_arguments(Nest& nest) const;

  const ir::Function& f_;
  std::vector<ir::Buffer> workspace_;
  std::vector<Nest> nests_;
};

void Splitter::add_loop(Nest& nest, const ir::For& n) const {
  if (n.loop_kind != ir::ForKind::kThread) return;
  const auto extent = ir::const_int(n.extent);
  TENON_CHECK(extent && *extent > 0 && ir::is_const(n.min, 0))
      << "loop " << n.var.name() << " is bound to threads and does not count from 0 to a constant";
  auto& size = ir::is_block_tag(n.tag) ? nest.grid : nest.block;
  int64_t& most = size[ir::dimension_of(n.tag)];
  most = std::max(most, *extent);
}

void check_order(const ir::Stmt& s) {
  const auto* n = s.as<ir::For>();
  if (n == nullptr || (n->loop_kind == ir::ForKind::kThread && ir::is_block_tag(n->tag))) return;
  ir::visit(n->body, [&](const ir::Stmt& inner) {
    const auto* loop = inner.as<ir::For>();
    const bool block =
        loop != nullptr && loop->loop_kind == ir::ForKind::kThread && ir::is_block_tag(loop->tag);
    TENON_CHECK(!block) << "loop " << loop->var.name() << " over blocks is inside of loop "
                        << n->var.name();
  });
}

Nest Splitter::nest_of(const ir::Stmt& s) const {
  Nest nest;
  nest.body = s;
  ir::visit(s, [&](const ir::Stmt& x) {
    if (const auto* loop = x.as<ir::For>()) {
      check_order(x);
      add_loop(nest, *loop);
    } else if (const auto* store = x.as<ir::Store>()) {
      nest.stored.insert(store->buffer.get());
    } else if (x.as<ir::Barrier>() != nullptr || x.as<ir::Combine>() != nullptr) {
      nest.has_barriers = true;
    }
  });
  add_arguments(nest);
  return nest;
}

void Splitter::add_arguments(Nest& nest) const {
  std::unordered_set<const ir::BufferNode*> used = nest.stored;
  ir::visit(nest.body, [&](const ir::Expr& e) {
    if (const auto* load = e.as<ir::Load>()) used.insert(load->buffer.get());
  });
  for (size_t i = 0; i < f_.params.size(); ++i) {
    if (used.contains(f_.params[i].get())) nest.arguments.push_back(static_cast<int32_t>(i));
  }
  for (const ir::Buffer& b : workspace_) {
    if (used.contains(b.get())) nest.workspace.push_back(b);
  }
  if (!nest.workspace.empty()) nest.arguments.push_back(kWorkspaceArgument);
}

}  // namespace

std::vector<Nest> nests_of(const ir::Function& f) { return Splitter(f).run(); }

}  // namespace tenon::backend::nvptx
