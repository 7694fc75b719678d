// SPDX-License-Identifier: Apache-2.0
#include "compile/flow.h"

#include "support/check.h"

namespace tenon::compile {
namespace {

using artifact::Param;
using graph::FlowKind;
using graph::Variable;

artifact::FlowKind kind_of(FlowKind kind) {
  switch (kind) {
    case FlowKind::kRun:
      return artifact::FlowKind::kRun;
    case FlowKind::kCopy:
      return artifact::FlowKind::kCopy;
    case FlowKind::kSet:
      return artifact::FlowKind::kSet;
    case FlowKind::kAdd:
      return artifact::FlowKind::kAdd;
    case FlowKind::kClear:
      return artifact::FlowKind::kClear;
    case FlowKind::kTake:
      return artifact::FlowKind::kTake;
    case FlowKind::kPut:
      return artifact::FlowKind::kPut;
    case FlowKind::kUnless:
      return artifact::FlowKind::kUnless;
    case FlowKind::kReached:
      return artifact::FlowKind::kReached;
    case FlowKind::kJump:
      return artifact::FlowKind::kJump;
    case FlowKind::kCount:
      return artifact::FlowKind::kCount;
  }
  throw InternalError("no such instruction");
}

}  // namespace

void add_model_tensors(const graph::Segments& segments, artifact::Program& program) {
  for (const int32_t v : segments.model_inputs) {
    const Variable& in = segments.variables[static_cast<size_t>(v)];
    program.inputs.push_back({in.name, in.dtype, in.shape});
  }
  for (size_t i = 0; i < segments.model_outputs.size(); ++i) {
    const Variable& out = segments.variables[static_cast<size_t>(segments.model_outputs[i])];
    program.outputs.push_back({segments.model_output_names[i], out.dtype, out.shape});
  }
  for (const graph::FlowOp& op : segments.flow) {
    if (op.kind != FlowKind::kCount) continue;
    const Variable& out = segments.variables[static_cast<size_t>(op.to)];
    program.outputs[static_cast<size_t>(out.output)].counted = true;
  }
}

std::vector<artifact::FlowOp> make_flow(const plan::Network& n, const Places& places,
                                        const std::function<Param(const graph::Data&)>& store) {
  std::vector<artifact::FlowOp> flow;
  if (n.segments.empty()) return flow;
  const auto steps = steps_of_segments(n);
  const auto at = [&](int32_t v) {
    if (v < 0) return Param{};
    const Variable& variable = n.segments.variables[static_cast<size_t>(v)];
    return variable.data != nullptr ? store(variable.data) : places.of_variable(v);
  };
  for (const graph::FlowOp& op : n.segments.flow) {
    artifact::FlowOp out{.kind = kind_of(op.kind), .target = op.target};
    out.to = at(op.to);
    out.from = at(op.from);
    out.at = at(op.at);
    out.number = op.number;
    switch (op.kind) {
      case FlowKind::kRun:
        out.number = steps[static_cast<size_t>(op.number)].first;
        out.count = steps[static_cast<size_t>(op.number)].second - out.number;
        break;
      case FlowKind::kCopy:
      case FlowKind::kClear:
        out.count = out.to.bytes;
        break;
      case FlowKind::kTake:
      case FlowKind::kPut: {
        const Variable& whole =
            n.segments.variables[static_cast<size_t>(op.kind == FlowKind::kTake ? op.from : op.to)];
        out.count = op.kind == FlowKind::kTake ? out.to.bytes : out.from.bytes;
        out.number = op.number == 1 ? whole.shape[0] : 0;
        break;
      }
      case FlowKind::kCount:
        out.count = n.segments.variables[static_cast<size_t>(op.to)].shape[0];
        break;
      default:
        break;
    }
    flow.push_back(out);
  }
  return flow;
}

}  // namespace tenon::compile
