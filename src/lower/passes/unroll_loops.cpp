// SPDX-License-Identifier: Apache-2.0
#include "lower/passes/unroll_loops.h"

#include "ir/build.h"
#include "ir/visit.h"
#include "lower/copy.h"

namespace tenon::lower {

namespace {

bool binds_names(const ir::Stmt& s) {
  bool found = false;
  ir::visit(s, [&](const ir::Stmt& x) {
    found = found || x.as<ir::For>() != nullptr || x.as<ir::Allocate>() != nullptr;
  });
  return found;
}

ir::Stmt unroll(const ir::Stmt& s) {
  const auto* loop = s.as<ir::For>();
  if (loop == nullptr || loop->loop_kind != ir::ForKind::kUnrolled) return s;
  const auto min = ir::const_int(loop->min);
  const auto extent = ir::const_int(loop->extent);
  TENON_CHECK(min && extent) << "unrolled loop " << loop->var.name() << " has no constant bounds";
  const bool binds = binds_names(loop->body);
  std::vector<ir::Stmt> copies;
  for (int64_t i = 0; i < *extent; ++i) {
    ir::Stmt copy = ir::substitute(loop->body, {{loop->var.node(), ir::Expr(*min + i)}});
    copies.push_back(binds && i > 0 ? fresh_copy(copy) : std::move(copy));
  }
  return ir::block(std::move(copies));
}

}  // namespace

ir::Stmt unroll_loops(const ir::Stmt& s, const PassContext&) {
  return ir::rewrite(
      s, [](const ir::Expr& e) { return e; }, [](const ir::Stmt& x) { return unroll(x); });
}

}  // namespace tenon::lower
