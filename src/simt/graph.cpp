// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes are kept with their arguments and run one after the other, each after those that it waits for.
#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "simt/state.h"

namespace tenon::runtime::cuda {
struct GraphNodeObject {
  std::optional<simt::Launch> launch;
  std::optional<Memcpy3d> copy;
  std::vector<GraphNode> after;
};
struct GraphObject {
  std::vector<std::unique_ptr<GraphNodeObject>> nodes;
};
struct GraphExecObject {
  // Steps stand in the order in which they run, each with the node that it was made from.
  std::vector<std::pair<GraphNode, GraphNodeObject>> steps;
};
}  // namespace tenon::runtime::cuda

using namespace tenon::runtime::
    cuda;  // NOLINT(google-build-using-namespace): its functions are defined here
using tenon::simt::memory;

namespace {

GraphNode add(Graph graph, const GraphNode* after, size_t count) {
  graph->nodes.push_back(std::make_unique<GraphNodeObject>());
  graph->nodes.back()->after.assign(after, after + count);
  return graph->nodes.back().get();
}

char* row_of(const Memcpy3dSide& side, size_t y, size_t z) {
  char* base = side.type == kMemoryHost ? static_cast<char*>(side.host)
                                        : reinterpret_cast<char*>(side.device);
  return base + side.x_bytes + (side.y + y + (side.z + z) * side.height) * side.pitch;
}

bool reaches(const Memcpy3dSide& side, const char* row, size_t bytes) {
  return side.type == kMemoryHost || memory().contains(reinterpret_cast<uint64_t>(row), bytes);
}

Status run_copy(const Memcpy3d& c) {
  for (size_t z = 0; z < c.depth; ++z) {
    for (size_t y = 0; y < c.height; ++y) {
      const char* from = row_of(c.from, y, z);
      char* to = row_of(c.to, y, z);
      if (!reaches(c.from, from, c.width_bytes) || !reaches(c.to, to, c.width_bytes)) {
        return kIllegalAddress;
      }
      std::memcpy(to, from, c.width_bytes);
    }
  }
  return kSuccess;
}

// False if nodes wait for each other in a circle.
bool order_steps(const GraphObject& graph, GraphExecObject& exec) {
  std::unordered_set<GraphNode> done;
  while (done.size() < graph.nodes.size()) {
    const size_t before = done.size();
    for (const auto& node : graph.nodes) {
      const bool ready = std::all_of(node->after.begin(), node->after.end(),
                                     [&](GraphNode n) { return done.count(n) != 0; });
      if (ready && done.insert(node.get()).second) exec.steps.emplace_back(node.get(), *node);
    }
    if (done.size() == before) return false;
  }
  return true;
}

std::optional<tenon::simt::Launch> launch_of(const KernelNodeParams& p) {
  return tenon::simt::make_launch(p.function, p.grid, p.block, p.shared_bytes, p.arguments);
}

}  // namespace

TENON_SIMT_EXPORT Status cuGraphCreate(Graph* graph, uint32_t /*flags*/) {
  *graph = new GraphObject;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuGraphDestroy(Graph graph) {
  delete graph;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuGraphAddKernelNode_v2(GraphNode* node, Graph graph,
                                                 const GraphNode* after, size_t count,
                                                 const KernelNodeParams* params) {
  auto launch = launch_of(*params);
  if (!launch) return kInvalidValue;
  *node = add(graph, after, count);
  (*node)->launch = std::move(launch);
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuGraphAddMemcpyNode(GraphNode* node, Graph graph, const GraphNode* after,
                                              size_t count, const Memcpy3d* params,
                                              Context /*context*/) {
  *node = add(graph, after, count);
  (*node)->copy = *params;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuGraphAddDependencies_v2(Graph /*graph*/, const GraphNode* from,
                                                   const GraphNode* to, const EdgeData* /*edges*/,
                                                   size_t count) {
  for (size_t i = 0; i < count; ++i) to[i]->after.push_back(from[i]);
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph,
                                                     uint64_t /*flags*/) {
  auto made = std::make_unique<GraphExecObject>();
  if (!order_steps(*graph, *made)) return kInvalidValue;
  *exec = made.release();
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuGraphExecDestroy(GraphExec exec) {
  delete exec;
  return kSuccess;
}

TENON_SIMT_EXPORT Status cuGraphExecKernelNodeSetParams_v2(GraphExec exec, GraphNode node,
                                                           const KernelNodeParams* params) {
  auto launch = launch_of(*params);
  for (auto& [made_from, step] : exec->steps) {
    if (made_from != node || !launch || !step.launch) continue;
    step.launch = std::move(launch);
    return kSuccess;
  }
  return kInvalidValue;
}

TENON_SIMT_EXPORT Status cuGraphUpload(GraphExec /*exec*/, Stream /*stream*/) { return kSuccess; }

TENON_SIMT_EXPORT Status cuGraphLaunch(GraphExec exec, Stream /*stream*/) {
  for (const auto& [made_from, step] : exec->steps) {
    const Status status = step.copy ? run_copy(*step.copy) : tenon::simt::run(*step.launch);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}
