// SPDX-License-Identifier: Apache-2.0
#include "backend/nvptx/gpu_emitter.h"

#include "backend/nvptx/copy.h"
#include "ir/build.h"
#include "ir/thread_tags.h"
#include "support/check.h"

namespace tenon::backend::nvptx {

using ir::ThreadTag;
using llvm::Value;
using llvm_cpu::Place;

namespace {

constexpr int64_t kWorkspaceAlignment = 256;
constexpr int64_t kSharedAlignment = 16;

size_t at(ThreadTag tag) { return static_cast<size_t>(tag); }

}  // namespace

std::vector<Launch> GpuEmitter::run() {
  plan_ = llvm_cpu::plan_storage(f_.body, kWorkspaceAlignment);
  make_scopes();
  std::vector<Launch> launches;
  for (const Nest& nest : nests_of(f_)) {
    launches.push_back(kernel(f_.name + "_" + std::to_string(launches.size()), nest));
  }
  return launches;
}

Launch GpuEmitter::kernel(const std::string& name, const Nest& nest) {
  fn_ = form_.begin(module_, b_, name, nest);
  fn_->addFnAttr(llvm::Attribute::NoUnwind);
  fn_->addFnAttr("no-trapping-math", "true");
  shared_bytes_ = 0;
  copies_ = form_.has_copies() && copies_to_shared(nest.body);
  depth_ = 0;
  vars_.clear();
  memo_.clear();
  bind_arguments(nest);
  bind_threads(nest);
  const bool early = form_.wait_for_kernels(b_);
  stmt(nest.body);
  b_.CreateRetVoid();
  return {.kernel = name,
          .grid = nest.grid,
          .block = nest.block,
          .shared_bytes = shared_bytes_,
          .arguments = nest.arguments,
          .early = early};
}

// What a kernel does not write is read only while it runs, except where the function may work in place. A kernel that
// begins early finds it unwritten at first: no load may be moved in front of the place where it waits.
void GpuEmitter::bind_arguments(const Nest& nest) {
  const bool unchanging = !form_.begins_early();
  const auto in_place = [&](int32_t i) {
    return f_.in_place >= 0 && (i == f_.in_place || i == static_cast<int32_t>(f_.num_inputs));
  };
  for (size_t k = 0; k < nest.arguments.size(); ++k) {
    const int32_t i = nest.arguments[k];
    Value* base = form_.argument(b_, k, unchanging && !in_place(i));
    if (i != kWorkspaceArgument) {
      const ir::Buffer& buffer = f_.params[static_cast<size_t>(i)];
      base->setName(buffer.name());
      Storage& s = buffers_[buffer.get()];
      s.base = base;
      s.read_only = unchanging && !in_place(i) && !nest.stored.contains(buffer.get());
      continue;
    }
    base->setName("workspace");
    for (const ir::Buffer& buffer : nest.workspace) {
      const auto offset = static_cast<uint64_t>(plan_.places.at(buffer.get()).offset);
      Storage& s = buffers_[buffer.get()];
      s.base = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, offset, buffer.name());
      s.read_only = unchanging && !nest.stored.contains(buffer.get());
    }
  }
}

void GpuEmitter::bind_threads(const Nest& nest) {
  for (const ThreadTag tag : {ThreadTag::kBlockX, ThreadTag::kBlockY, ThreadTag::kBlockZ,
                              ThreadTag::kThreadX, ThreadTag::kThreadY, ThreadTag::kThreadZ}) {
    const auto& size = ir::is_block_tag(tag) ? nest.grid : nest.block;
    extents_[at(tag)] = size[ir::dimension_of(tag)];
    numbers_[at(tag)] =
        extents_[at(tag)] == 1 ? b_.getInt32(0) : form_.thread_number(b_, tag, extents_[at(tag)]);
  }
}

void GpuEmitter::parallel_loop(const ir::For& n) {
  TENON_CHECK(false) << "loop " << n.var.name() << " is for the cores of a CPU";
}

// The same threads again: those whose number is beyond the loop's extent sit it out.
void GpuEmitter::thread_loop(const ir::For& n) {
  Value* number = numbers_[at(n.tag)];
  TENON_CHECK(n.tag != ThreadTag::kVThread && number != nullptr)
      << "loop " << n.var.name() << " has no thread";
  bind_var(n.var, number, 0);
  const int64_t extent = *ir::const_int(n.extent);
  if (extent == extents_[at(n.tag)]) {
    return stmt(n.body);
  }
  Value* taken = b_.CreateICmpULT(number, b_.getInt32(static_cast<uint32_t>(extent)));
  if_then_else(taken, n.body, ir::Stmt());
}

// What the thread has begun to copy is there for all threads behind the barrier.
void GpuEmitter::barrier() {
  if (copies_) form_.wait_for_copies(b_);
  form_.barrier(b_);
}

// In the order that ir::Combine names.
void GpuEmitter::combine(const ir::Combine& n) {
  const ir::DType t = n.buffer.dtype();
  TENON_CHECK(t.bytes() == 4) << "threads exchange " << t.bytes() << " bytes of "
                              << n.buffer.name();
  const Storage& s = storage(n.buffer);
  TENON_CHECK(!s.slots.empty()) << n.buffer.name() << " is not in registers";
  const llvm_cpu::Run at = *llvm_cpu::as_run(ir::Expr(0));
  Value* held = load_slot(s, t, at);
  for (int64_t d = n.threads / 2; d > 0; d /= 2) {
    held = ops_.binary(n.op, t, held, form_.exchange(b_, held, d, n.threads), false);
  }
  store_slot(s, t, at, held, nullptr);
}

void GpuEmitter::block(const ir::Block& n) {
  for (const ir::Stmt& s : n.stmts) {
    stmt(s);
  }
}

void GpuEmitter::prefetch(const ir::Prefetch& /*n*/) {}  // a hint that GPUs have no use for

// Shared buffers lie one after the other: two that are needed at different times would need a barrier in between.
Value* GpuEmitter::memory_of(const ir::Allocate& n, const Place& place) {
  TENON_CHECK(place.kind == Place::Kind::kShared)
      << "buffer " << n.buffer.name()
      << " is too large for one thread, or global inside of a kernel";
  const auto offset = static_cast<uint64_t>(shared_bytes_);
  const int64_t bytes = n.buffer->elements() * n.buffer.dtype().bytes();
  shared_bytes_ += (bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
  return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), form_.shared_memory(b_), offset,
                                       n.buffer.name());
}

}  // namespace tenon::backend::nvptx
