// SPDX-License-Identifier: Apache-2.0
#include "runtime/fake_cuda.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace tenon::runtime::cuda {

struct ModuleObject {
  std::string names;
};
struct FunctionObject {
  std::string name;
};
struct StreamObject {};
struct GraphNodeObject {
  KernelNodeParams params = {};
  std::vector<uint64_t> values;
  std::set<size_t> after;
};
struct GraphObject {
  std::vector<GraphNodeObject*> nodes;
};
struct GraphExecObject {
  std::vector<GraphNodeObject*> handles;  // of the graph it was made from
  std::vector<GraphNodeObject> nodes;
};

}  // namespace tenon::runtime::cuda

namespace tenon::fake_cuda {
namespace {

using namespace runtime::cuda;

struct Failure {
  int left = 0;  // calls until it comes; 0: none
  Status status = kSuccess;
};

struct State {
  std::recursive_mutex guard;
  int32_t version = 12040;
  int32_t cards = 1;
  bool takes_images = true;
  std::map<std::string, fake_cuda::Kernel> kernels;
  std::map<std::string, FunctionObject> functions;
  std::map<std::string, Failure> failures;
  std::map<std::string, int> calls;
  Failure kernel_failure;
  Status broken = kSuccess;  // every call on the context answers it
  std::map<uint64_t, size_t> memory;
  std::set<void*> host_memory;
  std::vector<std::pair<uint64_t, std::vector<char>>> copies;  // on their way to the card
  std::set<Module> modules;
  std::set<Stream> streams;
  std::set<Graph> graphs;
  std::set<GraphExec> execs;
  int retained = 0;
  int programmatic_edges = 0;
  std::string order;
};

State& state() {
  static State s;
  return s;
}
thread_local int pushed = 0;

// A context exists once, as an address.
Context the_context() { return reinterpret_cast<Context>(&state()); }

bool due(Failure& f) { return f.left > 0 && --f.left == 0; }

// Every call begins with one of these.
class Call {
 public:
  explicit Call(const char* symbol, bool needs_context = true) : lock_(state().guard) {
    State& s = state();
    ++s.calls[symbol];
    const auto found = s.failures.find(symbol);
    if (found != s.failures.end() && due(found->second)) {
      status_ = found->second.status;
    } else if (needs_context) {
      status_ = pushed == 0 ? kInvalidContext : s.broken;
    }
  }
  Status status() const { return status_; }

 private:
  std::lock_guard<std::recursive_mutex> lock_;
  Status status_ = kSuccess;
};

#define BEGIN(...)              \
  const Call call(__VA_ARGS__); \
  if (call.status() != kSuccess) return call.status()

Status valid(bool is) { return is ? kSuccess : kInvalidValue; }

bool in_memory(uint64_t at, size_t bytes) {
  const auto& blocks = state().memory;
  auto it = blocks.upper_bound(at);
  if (it == blocks.begin()) return false;
  --it;
  return at + bytes <= it->first + it->second;
}

Status copy_to_card(uint64_t to, const void* from, size_t bytes) {
  if (!in_memory(to, bytes)) return kInvalidValue;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return kSuccess;
}

// What the null stream and all waiting sees. A copy from memory that is not page-locked has left it when the call returns, but
// other streams may run before it has arrived.
void let_copies_arrive() {
  for (const auto& [to, bytes] : state().copies) copy_to_card(to, bytes.data(), bytes.size());
  state().copies.clear();
}

bool is_stream(Stream stream) { return stream == nullptr || state().streams.contains(stream); }

bool is_kernel(const std::string& names, const std::string& name) {
  return names.find(" " + name + " ") != std::string::npos;
}

// The number of arguments is not told to a driver: an array that ends where they end is read, of at most four here.
Status run_kernel(const KernelNodeParams& p, void** arguments) {
  State& s = state();
  const std::string& name = p.function->name;
  s.order += name + " ";
  if (due(s.kernel_failure)) {
    s.broken = s.kernel_failure.status;
    return kSuccess;
  }
  if (s.broken == kSuccess) s.kernels.at(name)(arguments);
  return kSuccess;
}

// The latest node that may run runs first, so that a missing edge shows.
Status run_graph(GraphExecObject& exec) {
  std::set<size_t> left;
  for (size_t i = 0; i < exec.nodes.size(); ++i) left.insert(i);
  while (!left.empty()) {
    size_t next = *left.begin();
    for (const size_t i : left) {
      bool ready = true;
      for (const size_t before : exec.nodes[i].after) ready = ready && !left.contains(before);
      if (ready) next = i;
    }
    GraphNodeObject& node = exec.nodes[next];
    std::vector<void*> pointers;
    for (uint64_t& v : node.values) pointers.push_back(&v);
    run_kernel(node.params, pointers.data());
    left.erase(next);
  }
  return kSuccess;
}

constexpr size_t kArguments = 4;  // of every kernel of the tests

// A driver copies the values of arguments when it is told them.
Status take_params(GraphNodeObject& node, const KernelNodeParams& params) {
  node.params = params;
  node.values.clear();
  for (size_t i = 0; i < kArguments; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, params.arguments[i], sizeof value);
    if (value % 256 != 0 || !in_memory(value, 1)) return kInvalidValue;
    node.values.push_back(value);
  }
  const uint32_t threads = params.block[0] * params.block[1] * params.block[2];
  return valid(params.grid[0] > 0 && threads > 0 && threads <= 1024 && params.kernel == nullptr);
}

size_t number_of(const GraphObject& graph, const GraphNodeObject* node) {
  size_t i = 0;
  while (i < graph.nodes.size() && graph.nodes[i] != node) ++i;
  return i;
}

}  // namespace

void reset() {
  State& s = state();
  const std::lock_guard lock(s.guard);
  s.version = 12040;
  s.cards = 1;
  s.takes_images = true;
  s.kernels.clear();
  s.failures.clear();
  s.calls.clear();
  s.kernel_failure = {};
  s.broken = kSuccess;
  s.programmatic_edges = 0;
  s.order.clear();
}
void set_version(int32_t version) { state().version = version; }
void set_cards(int32_t count) { state().cards = count; }
void set_kernel(const char* name, Kernel kernel) { state().kernels[name] = kernel; }
void fail(const char* symbol, int n, Status status) { state().failures[symbol] = {n, status}; }
void fail_kernel(int n, Status status) { state().kernel_failure = {n, status}; }
void set_takes_images(bool takes) { state().takes_images = takes; }

Live live() {
  State& s = state();
  const std::lock_guard lock(s.guard);
  const auto count = [](const auto& set) { return static_cast<int>(set.size()); };
  return {s.retained,
          count(s.modules),
          count(s.memory),
          count(s.host_memory),
          count(s.streams),
          count(s.graphs) + count(s.execs),
          pushed};
}
int calls(const char* symbol) {
  const std::lock_guard lock(state().guard);
  return state().calls[symbol];
}
int programmatic_edges() { return state().programmatic_edges; }
const std::string& order() { return state().order; }

}  // namespace tenon::fake_cuda

using namespace tenon::runtime::cuda;
using namespace tenon::fake_cuda;

extern "C" {

Status cuInit(uint32_t) {
  BEGIN("cuInit", false);
  return state().cards == 0 ? kNoDevice : kSuccess;
}
Status cuDriverGetVersion(int32_t* version) {
  *version = state().version;
  return kSuccess;
}
Status cuGetErrorName(Status status, const char** text) {
  *text = status == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_THE_TEST";
  return kSuccess;
}
Status cuGetErrorString(Status status, const char** text) {
  *text = status == kIllegalAddress ? "an illegal memory access was encountered" : "as told";
  return kSuccess;
}
Status cuDeviceGetCount(int32_t* count) {
  *count = state().cards;
  return kSuccess;
}
Status cuDeviceGet(Device* device, int32_t ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < state().cards ? kSuccess : kInvalidDevice;
}
Status cuDeviceGetName(char* name, int32_t bytes, Device) {
  std::strncpy(name, "Fake GPU", static_cast<size_t>(bytes));
  return kSuccess;
}
Status cuDeviceGetAttribute(int32_t* value, DeviceAttribute attribute, Device) {
  *value = attribute == kComputeCapabilityMajor ? 9 : 0;
  return kSuccess;
}
Status cuDeviceTotalMem_v2(size_t* bytes, Device) {
  *bytes = 1 << 30;
  return kSuccess;
}

Status cuDevicePrimaryCtxRetain(Context* context, Device) {
  BEGIN("cuDevicePrimaryCtxRetain", false);
  ++state().retained;
  *context = the_context();
  return kSuccess;
}
Status cuDevicePrimaryCtxRelease_v2(Device) {
  BEGIN("cuDevicePrimaryCtxRelease_v2", false);
  return valid(--state().retained >= 0);
}
Status cuCtxPushCurrent_v2(Context context) {
  BEGIN("cuCtxPushCurrent_v2", false);
  ++pushed;
  return valid(context == the_context());
}
Status cuCtxPopCurrent_v2(Context* context) {
  BEGIN("cuCtxPopCurrent_v2", false);
  *context = the_context();
  return valid(pushed-- > 0);
}
Status cuCtxSetCurrent(Context) {
  pushed = 1;
  return kSuccess;
}
Status cuCtxSynchronize() {
  BEGIN("cuCtxSynchronize");
  let_copies_arrive();
  return kSuccess;
}

Status cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  *free_bytes = 1000;
  *total = 2000;
  return kSuccess;
}
Status cuMemAlloc_v2(DevicePointer* data, size_t bytes) {
  BEGIN("cuMemAlloc_v2");
  if (bytes == 0) return kInvalidValue;
  void* block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(block, 0xCD, bytes);
  *data = reinterpret_cast<uint64_t>(block);
  state().memory[*data] = bytes;
  return kSuccess;
}
// What frees works on broken contexts too here, as ending the process does.
Status cuMemFree_v2(DevicePointer data) {
  BEGIN("cuMemFree_v2", false);
  if (state().memory.erase(data) == 0) return kInvalidValue;
  std::free(reinterpret_cast<void*>(data));
  return kSuccess;
}
Status cuMemHostAlloc(void** data, size_t bytes, uint32_t) {
  BEGIN("cuMemHostAlloc");
  *data = std::malloc(bytes);
  state().host_memory.insert(*data);
  return kSuccess;
}
Status cuMemFreeHost(void* data) {
  BEGIN("cuMemFreeHost", false);
  std::free(data);
  return valid(state().host_memory.erase(data) == 1);
}
Status cuMemcpyHtoD_v2(DevicePointer to, const void* from, size_t bytes) {
  BEGIN("cuMemcpyHtoD_v2");
  const auto* data = static_cast<const char*>(from);
  state().copies.emplace_back(to, std::vector<char>(data, data + bytes));
  return valid(in_memory(to, bytes));
}
Status cuMemcpyDtoH_v2(void* to, DevicePointer from, size_t bytes) {
  BEGIN("cuMemcpyDtoH_v2");
  let_copies_arrive();
  if (!in_memory(from, bytes)) return kInvalidValue;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}
Status cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t bytes, Stream stream) {
  BEGIN("cuMemcpyHtoDAsync_v2");
  return is_stream(stream) ? copy_to_card(to, from, bytes) : kInvalidHandle;
}
Status cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t bytes, Stream stream) {
  BEGIN("cuMemcpyDtoHAsync_v2");
  if (!is_stream(stream)) return kInvalidHandle;
  if (!in_memory(from, bytes)) return kInvalidValue;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}
Status cuMemcpyDtoDAsync_v2(DevicePointer, DevicePointer, size_t, Stream) { return kNotSupported; }
Status cuMemsetD8Async(DevicePointer, uint8_t, size_t, Stream) { return kNotSupported; }

Status cuModuleLoadDataEx(Module* module, const void* image, uint32_t count, JitOption* options,
                          void** values) {
  BEGIN("cuModuleLoadDataEx");
  const std::string text = static_cast<const char*>(image);
  const bool is_image = text.starts_with("fake image");
  if (is_image && !state().takes_images) return kNoBinaryForGpu;
  if (!is_image && !text.starts_with("//")) {
    for (uint32_t i = 0; i < count; ++i) {
      if (options[i] == kJitErrorLogBuffer) std::strcpy(static_cast<char*>(values[i]), "bad PTX");
    }
    return kInvalidPtx;
  }
  *module = new ModuleObject{text + " "};
  state().modules.insert(*module);
  return kSuccess;
}
Status cuModuleUnload(Module module) {
  BEGIN("cuModuleUnload", false);
  if (state().modules.erase(module) == 0) return kInvalidHandle;
  delete module;
  return kSuccess;
}
Status cuModuleGetFunction(Function* function, Module module, const char* name) {
  BEGIN("cuModuleGetFunction");
  if (!state().modules.contains(module)) return kInvalidHandle;
  if (!is_kernel(module->names, name)) return kNotFound;
  FunctionObject& f = state().functions[name];
  f.name = name;
  *function = &f;
  return kSuccess;
}
Status cuFuncGetAttribute(int32_t*, FunctionAttribute, Function) { return kNotSupported; }
Status cuFuncSetAttribute(Function, FunctionAttribute attribute, int32_t value) {
  BEGIN("cuFuncSetAttribute");
  return valid(attribute == kFunctionMaxDynamicSharedBytes && value <= 227 << 10);
}
Status cuLaunchKernel(Function function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
                      uint32_t block_x, uint32_t block_y, uint32_t block_z, uint32_t shared_bytes,
                      Stream stream, void** arguments, void**) {
  BEGIN("cuLaunchKernel");
  GraphNodeObject node;
  const KernelNodeParams params = {function,
                                   {grid_x, grid_y, grid_z},
                                   {block_x, block_y, block_z},
                                   shared_bytes,
                                   arguments,
                                   nullptr,
                                   nullptr,
                                   nullptr};
  const Status status = take_params(node, params);
  if (status != kSuccess || !is_stream(stream)) return kInvalidValue;
  return run_kernel(params, arguments);
}

Status cuStreamCreate(Stream* stream, uint32_t flags) {
  BEGIN("cuStreamCreate");
  *stream = new StreamObject;
  state().streams.insert(*stream);
  return valid(flags == kStreamNonBlocking);
}
Status cuStreamDestroy_v2(Stream stream) {
  BEGIN("cuStreamDestroy_v2", false);
  if (state().streams.erase(stream) == 0) return kInvalidHandle;
  delete stream;
  return kSuccess;
}
Status cuStreamSynchronize(Stream stream) {
  BEGIN("cuStreamSynchronize");
  return is_stream(stream) ? kSuccess : kInvalidHandle;
}
Status cuStreamWaitEvent(Stream, Event, uint32_t) { return kNotSupported; }
Status cuEventCreate(Event*, uint32_t) { return kNotSupported; }
Status cuEventDestroy_v2(Event) { return kNotSupported; }
Status cuEventRecord(Event, Stream) { return kNotSupported; }
Status cuEventSynchronize(Event) { return kNotSupported; }
Status cuEventElapsedTime(float*, Event, Event) { return kNotSupported; }

Status cuGraphCreate(Graph* graph, uint32_t flags) {
  BEGIN("cuGraphCreate");
  *graph = new GraphObject;
  state().graphs.insert(*graph);
  return valid(flags == 0);
}
Status cuGraphDestroy(Graph graph) {
  BEGIN("cuGraphDestroy", false);
  if (state().graphs.erase(graph) == 0) return kInvalidHandle;
  for (GraphNodeObject* node : graph->nodes) delete node;
  delete graph;
  return kSuccess;
}
Status cuGraphAddKernelNode_v2(GraphNode* node, Graph graph, const GraphNode* after, size_t count,
                               const KernelNodeParams* params) {
  BEGIN("cuGraphAddKernelNode_v2");
  auto* made = new GraphNodeObject;
  graph->nodes.push_back(made);
  *node = made;
  for (size_t i = 0; i < count; ++i) {
    const size_t before = number_of(*graph, after[i]);
    if (before + 1 >= graph->nodes.size()) return kInvalidValue;
    made->after.insert(before);
  }
  return take_params(*made, *params);
}
Status cuGraphAddDependencies_v2(Graph graph, const GraphNode* from, const GraphNode* to,
                                 const EdgeData* edges, size_t count) {
  BEGIN("cuGraphAddDependencies_v2");
  for (size_t i = 0; i < count; ++i) {
    const size_t before = number_of(*graph, from[i]);
    if (before >= graph->nodes.size() || edges[i].from_port != edges[i].type) return kInvalidValue;
    to[i]->after.insert(before);
    state().programmatic_edges += edges[i].type;
  }
  return kSuccess;
}
Status cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, uint64_t flags) {
  BEGIN("cuGraphInstantiateWithFlags");
  *exec = new GraphExecObject;
  (*exec)->handles = graph->nodes;
  for (const GraphNodeObject* node : graph->nodes) (*exec)->nodes.push_back(*node);
  state().execs.insert(*exec);
  return valid(flags == 0);
}
Status cuGraphExecDestroy(GraphExec exec) {
  BEGIN("cuGraphExecDestroy", false);
  if (state().execs.erase(exec) == 0) return kInvalidHandle;
  delete exec;
  return kSuccess;
}
Status cuGraphExecKernelNodeSetParams_v2(GraphExec exec, GraphNode node,
                                         const KernelNodeParams* params) {
  BEGIN("cuGraphExecKernelNodeSetParams_v2");
  for (size_t i = 0; i < exec->handles.size(); ++i) {
    if (exec->handles[i] == node) return take_params(exec->nodes[i], *params);
  }
  return kInvalidHandle;
}
Status cuGraphLaunch(GraphExec exec, Stream stream) {
  BEGIN("cuGraphLaunch");
  if (stream == nullptr) let_copies_arrive();
  return state().execs.contains(exec) && is_stream(stream) ? run_graph(*exec) : kInvalidHandle;
}

}  // extern "C"
