// SPDX-License-Identifier: Apache-2.0
#include "templates/gpu/kernels.h"

#include <algorithm>

#include "arith/linear.h"

namespace tenon::templates::gpu {

using space::Builder;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

namespace {

constexpr int64_t kMostThreads = 256;
constexpr int64_t kMostCopies = 32;
constexpr int64_t kMostTerms = 64;

std::vector<Loop> spatial_loops(const Builder& b, StageRef stage) {
  std::vector<Loop> loops;
  for (size_t d = 0; d < b.now(stage).axes.size(); ++d) loops.push_back(b.axis(stage, d));
  return loops;
}

}  // namespace

int64_t threads_for(int64_t elements, const target::Gpu& gpu) {
  int64_t threads = kMostThreads;
  while (threads > gpu.warp_threads && elements < threads * 2 * gpu.multiprocessors) threads /= 2;
  return threads;
}

std::optional<Loop> bind_elements(Builder& b, StageRef stage) {
  if (b.refused() || b.now(stage).axes.empty()) return std::nullopt;
  return bind_loops(b, stage, spatial_loops(b, stage));
}

Loop bind_loops(Builder& b, StageRef stage, const std::vector<Loop>& loops) {
  if (b.refused()) return {};
  const Loop all = b.fuse(loops);
  const int64_t elements = b.extent(all);
  const int64_t rule = threads_for(elements, b.target().gpu());
  if (elements <= rule) {
    b.bind(all, ir::ThreadTag::kThreadX);
    return all;
  }
  std::vector<int64_t> sizes;
  for (int64_t t = 32; t <= std::min<int64_t>(elements, 512); t *= 2) sizes.push_back(t);
  const Value threads =
      b.ask({HoleKind::kFactor, stage.id, 0}, "threads", Domain::of(std::move(sizes)), rule);
  const auto [blocks, inner] = b.split<2>(all, {threads});
  b.bind(blocks, ir::ThreadTag::kBlockX);
  b.bind(inner, ir::ThreadTag::kThreadX);
  return inner;
}

Value ask_exchange(Builder& b, StageRef stage) {
  // What goes to shared memory is summed up in a register first.
  const auto shown = [](const schedule::Trace& trace) -> std::optional<int64_t> {
    return std::none_of(trace.begin(), trace.end(), [](const schedule::Step& s) {
      const auto* w = std::get_if<schedule::CacheWrite>(&s);
      return w != nullptr && w->scope == ir::Scope::kRegister;
    });
  };
  return b.ask({HoleKind::kSwitch, stage.id, 0}, "exchange", Domain::range(0, 1), 1, nullptr,
               shown);
}

void write_out_sums(Builder& b, StageRef stage) { b.limit_unrolling(stage, kMostTerms); }

void fetch_together(Builder& b, StageRef stage, const Threads& threads, int64_t lanes) {
  if (b.refused()) return;
  const Loop all = b.fuse(b.leaves(stage));
  std::vector<Value> factors{threads.y, threads.x};
  if (threads.z > 1) factors.insert(factors.begin(), threads.z);
  if (lanes > 1) factors.emplace_back(lanes);
  const std::vector<Loop> parts = b.split(all, factors);
  if (b.refused()) return;
  // All of a thread's copies are under way at once.
  b.limit_unrolling(stage, kMostCopies);
  size_t at = 1;
  if (threads.z > 1) b.bind(parts[at++], ir::ThreadTag::kThreadZ);
  b.bind(parts[at++], ir::ThreadTag::kThreadY);
  b.bind(parts[at++], ir::ThreadTag::kThreadX);
  if (lanes > 1) b.vectorize(parts[at]);
}

void store_edges(Builder& b, const Request& request) {
  const auto store = [&](const te::Tensor& t) {
    // The plain order under another name stays plain, for templates to name it as they need.
    if (!stores_plainly(request, t)) b.store(b.stage(t.name()), request.fixed.at(t.name()));
  };
  for (const te::Input& in : b.dag().inputs) store(in.tensor);
  for (const te::Tensor& t : b.dag().outputs) store(t);
}

bool store_edges_of_plain(Builder& b, const Request& request, const te::ComputeOp& result) {
  if (!stores_plainly(request, result.output)) return false;
  store_edges(b, request);
  return true;
}

bool stores_plainly(const Request& request, const te::Tensor& t) {
  const auto it = request.fixed.find(t.name());
  return it == request.fixed.end() || layout::same_storage(it->second, layout::Layout(t.shape()));
}

bool is_output(const te::ComputeDag& dag, const te::ComputeOp& op) {
  return std::any_of(dag.outputs.begin(), dag.outputs.end(),
                     [&](const te::Tensor& t) { return t.same_as(op.output); });
}

}  // namespace tenon::templates::gpu
