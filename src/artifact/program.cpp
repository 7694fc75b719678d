// SPDX-License-Identifier: Apache-2.0
#include "artifact/program.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "support/check.h"

namespace tenon::artifact {
namespace {

bool is_identifier(const std::string& name) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::all_of(name.begin(), name.end(), plain);
}

int64_t bytes_of(ir::DType t, const std::vector<int64_t>& shape) {
  return TensorInfo{"", t, shape}.bytes();
}

int64_t bytes_of(const ir::Buffer& b) { return b->elements() * b.dtype().bytes(); }

void check_place(const Program& p, const Variant& v, const Param& param, bool read) {
  const auto index = static_cast<size_t>(param.index);
  switch (param.place) {
    case Place::kInput:
      TENON_CHECK(read && index < p.inputs.size() &&
                  param.bytes <= bytes_of(p.inputs[index].dtype, v.input_shapes[index]));
      return;
    case Place::kOutput:
      TENON_CHECK(index < p.outputs.size() &&
                  param.bytes <= bytes_of(p.outputs[index].dtype, v.output_shapes[index]));
      return;
    case Place::kWeights:
      TENON_CHECK(read && param.offset >= 0 && param.offset + param.bytes <= p.weights_bytes);
      break;
    case Place::kArena:
      TENON_CHECK(param.offset >= 0 && param.offset + param.bytes <= v.arena_bytes);
      break;
    case Place::kNumbers:
      TENON_CHECK(read && param.offset >= 0 &&
                  param.offset + param.bytes <=
                      static_cast<int64_t>(p.numbers.size() * sizeof(int64_t)));
      break;
    case Place::kSize:
      TENON_CHECK(read && index < p.dims.size() && param.bytes == sizeof(int64_t));
      break;
  }
  TENON_CHECK(param.offset % alignment(p.target) == 0) << "offset " << param.offset;
}

void check_step(const Program& p, const Variant& v, const Step& step) {
  TENON_CHECK(step.kernel >= 0 && static_cast<size_t>(step.kernel) < p.kernels.size());
  const ir::Function& f = p.kernels[static_cast<size_t>(step.kernel)].function;
  TENON_CHECK(step.params.size() == f.params.size())
      << f.name << " takes " << f.params.size() << " parameters, the step gives "
      << step.params.size();
  for (size_t i = 0; i < step.params.size(); ++i) {
    TENON_CHECK(step.params[i].bytes >= bytes_of(f.params[i]))
        << f.name << ": parameter " << i << " has " << bytes_of(f.params[i])
        << " bytes, its place has " << step.params[i].bytes;
    check_place(p, v, step.params[i], i < f.num_inputs);
  }
}

bool has_to(FlowKind kind) { return kind >= FlowKind::kCopy && kind <= FlowKind::kPut; }

// How many bytes an instruction touches behind the start of a place.
int64_t touched(const FlowOp& op, const Param& p) {
  switch (op.kind) {
    case FlowKind::kCopy:
    case FlowKind::kClear:
      return op.count;
    case FlowKind::kTake:
      return &p == &op.at ? int64_t{8}
                          : std::max(op.count, op.number * (&p == &op.from) * op.count);
    case FlowKind::kPut:
      return &p == &op.at ? int64_t{8} : std::max(op.count, op.number * (&p == &op.to) * op.count);
    case FlowKind::kUnless:
      return 1;
    default:
      return 8;
  }
}

void check_op(const Program& p, const Variant& v, const FlowOp& op) {
  const auto check = [&](const Param& param, bool read) {
    TENON_CHECK(param.bytes >= touched(op, param))
        << "instruction of kind " << static_cast<int>(op.kind) << " touches " << touched(op, param)
        << " bytes, its place has " << param.bytes;
    check_place(p, v, param, read);
  };
  const FlowKind k = op.kind;
  if (k == FlowKind::kRun) {
    TENON_CHECK(op.number >= 0 && op.count >= 0 &&
                op.number + op.count <= static_cast<int64_t>(v.steps.size()));
    return;
  }
  const bool goes = k == FlowKind::kUnless || k == FlowKind::kReached || k == FlowKind::kJump;
  TENON_CHECK(!goes || (op.target >= 0 && static_cast<size_t>(op.target) <= v.flow.size()));
  if (has_to(k)) check(op.to, false);
  if (k == FlowKind::kCopy || k == FlowKind::kTake || k == FlowKind::kPut ||
      k == FlowKind::kUnless || k == FlowKind::kReached) {
    check(op.from, true);
  }
  if (k == FlowKind::kTake || k == FlowKind::kPut || k == FlowKind::kReached ||
      k == FlowKind::kCount) {
    check(op.at, true);
  }
  TENON_CHECK(k != FlowKind::kCount || (op.to.place == Place::kOutput && op.count > 0));
}

void check_flow(const Program& p, const Variant& v) {
  for (const Step& s : v.steps) check_step(p, v, s);
  for (const FlowOp& op : v.flow) check_op(p, v, op);
}

std::vector<std::vector<int64_t>> shapes_of(const std::vector<TensorInfo>& tensors) {
  std::vector<std::vector<int64_t>> shapes;
  for (const TensorInfo& t : tensors) shapes.push_back(t.shape);
  return shapes;
}

void check_variants(const Program& p) {
  size_t count = 1;
  for (const Dim& d : p.dims) {
    count *= d.compiled.size();
    TENON_CHECK(!d.values.empty() && std::is_sorted(d.values.begin(), d.values.end()));
    TENON_CHECK(std::is_sorted(d.compiled.begin(), d.compiled.end()));
  }
  TENON_CHECK(p.variants.size() == count && p.target.is_cpu());
  for (const Variant& v : p.variants) {
    TENON_CHECK(v.arena_bytes <= p.arena_bytes && v.sizes.size() == p.dims.size());
    check_flow(p, v);
  }
}

}  // namespace

int64_t alignment(const target::Target& t) { return t.is_cpu() ? kAlignment : kGpuAlignment; }

target::Target host_of(const target::Target& t) {
#if defined(__x86_64__)
  constexpr const char* kPlainest = "x86-64";
#else
  constexpr const char* kPlainest = "aarch64";
#endif
  return t.is_cpu() ? t : target::parse_target(kPlainest);
}

void Program::check() const {
  TENON_CHECK(is_identifier(name)) << "'" << name << "' is not a C identifier";
  std::set<std::string> names;
  for (const Kernel& k : kernels) {
    TENON_CHECK(is_identifier(k.name) && names.insert(k.name).second) << k.name;
    TENON_CHECK(plan.find(k.task) != nullptr) << "nothing is decided about the task of " << k.name;
  }
  TENON_CHECK(flow.empty() || (target.is_cpu() && batch < 0));
  if (dims.empty()) {
    check_flow(*this, {{}, shapes_of(inputs), shapes_of(outputs), steps, arena_bytes, flow});
  } else {
    check_variants(*this);
  }
  for (const Weight& w : weights) {
    TENON_CHECK(w.data != nullptr && w.offset >= 0 && w.offset % alignment(target) == 0 &&
                w.offset + w.data->bytes() <= weights_bytes)
        << "weight at " << w.offset;
  }
}

}  // namespace tenon::artifact
