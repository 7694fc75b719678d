// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/emitter.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "ir/visit.h"

namespace tenon::backend::llvm_cpu {

Emitter::Emitter(llvm::Module& module, const Cpu& cpu, const ir::Function& f)
    : module_(module), ctx_(module.getContext()), cpu_(cpu), f_(f), b_(ctx_), ops_(b_, cpu_) {
  llvm::FastMathFlags flags;
  flags.setAllowContract();
  b_.setFastMathFlags(flags);
}

llvm::AllocaInst* Emitter::entry_alloca(llvm::Type* type, const std::string& name) {
  llvm::BasicBlock& entry = fn_->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.begin());
  return at.CreateAlloca(type, nullptr, name);
}

namespace {

bool share_space(const Place& a, const Place& b) {
  const bool both = a.kind == Place::Kind::kWorkspace && b.kind == Place::Kind::kWorkspace;
  return both && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace

// One alias scope per buffer, and every access says from which other buffers it stays away: all but
// those that have the same place in the workspace at another time.
void Emitter::make_scopes() {
  std::vector<ir::Buffer> all = f_.params;
  ir::visit(f_.body, [&](const ir::Stmt& s) {
    if (const auto* n = s.as<ir::Allocate>()) {
      all.push_back(n->buffer);
    }
  });
  llvm::MDBuilder md(ctx_);
  llvm::MDNode* domain = md.createAnonymousAliasScopeDomain(f_.name);
  std::vector<llvm::Metadata*> scopes;
  scopes.reserve(all.size());
  for (const ir::Buffer& b : all) {
    scopes.push_back(md.createAnonymousAliasScope(domain, b.name()));
  }
  const Place param;
  const auto place = [&](const ir::Buffer& b) {
    const auto it = plan_.places.find(b.get());
    return it == plan_.places.end() ? &param : &it->second;
  };
  const auto in_place = [&](size_t a, size_t b) {
    return f_.in_place >= 0 && std::min(a, b) == static_cast<size_t>(f_.in_place) &&
           std::max(a, b) == f_.num_inputs;
  };
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<llvm::Metadata*> others;
    for (size_t k = 0; k < all.size(); ++k) {
      if (k != i && !in_place(i, k) && !share_space(*place(all[i]), *place(all[k]))) {
        others.push_back(scopes[k]);
      }
    }
    Storage& s = buffers_[all[i].get()];
    s.scope = llvm::MDNode::get(ctx_, {scopes[i]});
    s.others = llvm::MDNode::get(ctx_, others);
  }
}

}  // namespace tenon::backend::llvm_cpu
