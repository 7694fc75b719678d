// SPDX-License-Identifier: Apache-2.0
// A whole model as it will run: kernels, the steps that call them, and where every byte lies. Made by
// module compile, written to disk and run by module artifact.
//
//   step 0: k0_conv(input 0, weights @0, arena @0)
//   step 1: k1_matmul(arena @0, weights @37632, output 0)
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/interp.h"
#include "ir/ir.h"
#include "plan/plan.h"
#include "support/size_sum.h"
#include "target/target.h"

namespace tenon::artifact {

// A tensor that the caller gives or gets: dense, row-major.
struct TensorInfo {
  std::string name;  // as in the model
  ir::DType dtype;
  std::vector<int64_t> shape;  // an extent may be 0; of open dimensions, the largest
  // Inputs say for each axis which open dimension it has; -1: its size is fixed. Empty: all are. Outputs say so of
  // dimensions that are padded.
  std::vector<int32_t> dims = {};
  bool counted = false;  // an output: a run may give fewer rows than `shape` has
  // Axes of inputs that have no open dimension of their own but a size that is computed of some. Those are neither padded
  // nor put together.
  std::map<size_t, SizeSum> sums = {};
  int64_t bytes() const;
};

// A dimension whose size is known when the model runs only.
struct Dim {
  std::string name;
  std::vector<int64_t> values;    // that it may have, ascending
  std::vector<int64_t> compiled;  // that there are variants of; all, or what Program::batch says
  // Other sizes run as the next larger one that is compiled: tensors are padded, and kernels are told the size.
  bool padded = false;
};

enum class Place : uint8_t { kInput, kOutput, kWeights, kArena, kNumbers, kSize };

// A Param says where a parameter of a kernel lies. Offsets are multiples of alignment(target).
struct Param {
  Place place = Place::kArena;
  int32_t index = 0;   // kInput, kOutput: which one; kSize: of which open dimension
  int64_t offset = 0;  // kWeights, kArena, kNumbers: bytes from the start
  int64_t bytes = 0;
};

struct Kernel {
  std::string name;       // a C identifier, unique in the program
  ir::Function function;  // Dialect::kFlat
  std::string task;       // what is computed: Program::plan says more about it
  double flops = 0;
  double bytes = 0;                 // read and written at least once: inputs, weights, outputs
  std::set<std::string> also = {};  // tasks of other sizes that it computes too
};

struct Step {
  int32_t kernel = 0;
  std::vector<Param> params;       // inputs, then outputs, as the kernel takes them
  std::vector<std::string> nodes;  // names of the model's nodes that this step computes
  std::string call = {};  // its name where something is decided about it; empty: a conversion
  // A kernel that serves several sizes leaves these to its calls.
  std::string task = {};
  double flops = 0, bytes = 0;
};

// Instructions of a model with branches and loops (docs/control-flow.md); runtime/model.h has the same.
enum class FlowKind : uint8_t {
  kRun,    // `count` steps from `number` on
  kCopy,   // to = from, `count` bytes
  kSet,    // to = number; to is one i64
  kAdd,    // to += number
  kClear,  // to = 0, `count` bytes
  kTake,  // to = element `at` of from, `count` bytes; number: 0, or how many there are, counted from the end
  kPut,      // element `at` of to = from, the same
  kUnless,   // if from is 0, go to `target`
  kReached,  // if at >= from, go to `target`; both are one i64
  kJump,     // go to `target`
  kCount,    // `to`, an output, has `at` elements along its first axis, `count` at most
};

struct FlowOp {
  FlowKind kind = FlowKind::kRun;
  int32_t target = -1;  // an instruction, or one behind the last
  Param to = {}, from = {}, at = {};
  int64_t number = 0, count = 0;
};

// The model at one size of each open dimension.
struct Variant {
  std::vector<int64_t> sizes;  // by dimension
  std::vector<std::vector<int64_t>> input_shapes, output_shapes;
  std::vector<Step> steps;
  int64_t arena_bytes = 0;
  std::vector<FlowOp> flow = {};
};

struct Weight {
  int64_t offset = 0;  // in the weights file
  std::shared_ptr<const ir::Array> data;
};

struct Program {
  std::string name;  // a C identifier
  target::Target target;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<Kernel> kernels;
  std::vector<Step> steps;   // in the order of running, unless there is a flow
  std::vector<FlowOp> flow;  // what runs: branches and loops; empty: every step once
  std::vector<Weight> weights;
  plan::NetworkPlan plan;  // what was decided; becomes the lock file
  int64_t weights_bytes = 0;
  int64_t arena_bytes = 0;  // without the kernels' own workspaces; of the largest variant
  // Open dimensions. Then tensors have the largest sizes, and `steps` are those of the last variant, the largest.
  std::vector<Dim> dims;
  std::vector<Variant> variants;  // every combination of compiled sizes, the last dimension fastest
  std::vector<int64_t> numbers;   // what kernels that serve several sizes read
  // The dimension whose sizes are put together of compiled ones, of which the smallest is 1: items lie one behind the other
  // in inputs that have it, which have it first, and in all outputs. -1: none.
  int32_t batch = -1;
  // These rows tell the model's file name, hash, opset and producer; the manifest repeats them.
  std::vector<std::pair<std::string, std::string>> provenance;

  // Throws InternalError unless names are C identifiers, every parameter and weight lies where it can, and steps
  // agree with their kernels, and the plan has every kernel's task.
  void check() const;
};

// The CPU that a library's own code is for: the target, or of a GPU the plainest CPU of the kind that runs this program.
target::Target host_of(const target::Target& t);

// Generated code relies on every parameter being aligned so.
inline constexpr int64_t kAlignment = 64;
inline constexpr int64_t kGpuAlignment = 256;
int64_t alignment(const target::Target& t);

constexpr int64_t align_up(int64_t bytes, int64_t to = kAlignment) {
  return (bytes + to - 1) / to * to;
}

}  // namespace tenon::artifact
