// SPDX-License-Identifier: Apache-2.0
#include "artifact/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "artifact/gpu_steps.h"
#include "artifact/gpu_table.h"
#include "artifact/table_text.h"
#include "ir/print.h"
#include "runtime/model.h"

namespace tenon::artifact {
namespace {

// The types of runtime/model.h.
constexpr const char* kTypes =
    "%tensor = type { ptr, ptr, i32, ptr, i64, ptr }\n"
    "%param = type { i32, i32, i64 }\n"
    "%step = type { ptr, ptr, ptr, i64 }\n"
    "%model = type { ptr, ptr, i64, ptr, ptr, ptr, i32, i32, i32, i32, i64, i64, i64, i64, "
    "[32 x i8], ptr, ptr, ptr, ptr, i32, i32, ptr, i64, ptr, ptr, ptr, i64, ptr, i64 }\n"
    "%dim = type { ptr, ptr, i64 }\n"
    "%compiled = type { ptr, i64, i64 }\n"
    "%sum = type { i32, i32, ptr, ptr, i64 }\n"
    "%flow = type { i32, i32, %param, %param, %param, i64, i64, i64 }\n"
    "%variant = type { ptr, ptr, ptr, i64, ptr, i64 }\n";

static_assert(static_cast<int>(Place::kInput) == kTenonInput &&
              static_cast<int>(Place::kOutput) == kTenonOutput &&
              static_cast<int>(Place::kWeights) == kTenonWeights &&
              static_cast<int>(Place::kArena) == kTenonArena &&
              static_cast<int>(Place::kNumbers) == kTenonNumbers &&
              static_cast<int>(Place::kSize) == kTenonSize);
static_assert(static_cast<int>(FlowKind::kRun) == kTenonRun &&
              static_cast<int>(FlowKind::kCopy) == kTenonCopy &&
              static_cast<int>(FlowKind::kSet) == kTenonSet &&
              static_cast<int>(FlowKind::kAdd) == kTenonAdd &&
              static_cast<int>(FlowKind::kClear) == kTenonClear &&
              static_cast<int>(FlowKind::kTake) == kTenonTake &&
              static_cast<int>(FlowKind::kPut) == kTenonPut &&
              static_cast<int>(FlowKind::kUnless) == kTenonUnless &&
              static_cast<int>(FlowKind::kReached) == kTenonReached &&
              static_cast<int>(FlowKind::kJump) == kTenonJump &&
              static_cast<int>(FlowKind::kCount) == kTenonCount);

std::string tensors(TableText& text, const std::vector<TensorInfo>& all) {
  std::vector<std::string> items;
  for (const TensorInfo& t : all) {
    const std::string shape = text.wide_numbers(t.shape);
    const std::string dims = text.numbers(t.dims);
    items.push_back(fmt::format("{{ ptr {}, ptr {}, i32 {}, ptr {}, i64 {}, ptr {} }}",
                                text.string(t.name), text.string(ir::to_string(t.dtype)),
                                t.shape.size(), shape, t.bytes(), dims));
  }
  return text.array("%tensor", items);
}

std::string param_text(const Param& p) {
  return fmt::format("{{ i32 {}, i32 {}, i64 {} }}", static_cast<int>(p.place), p.index, p.offset);
}

std::string steps(TableText& text, const Program& program, const std::vector<Step>& all,
                  const std::vector<CompiledKernel>& kernels) {
  std::vector<std::string> items;
  for (const Step& s : all) {
    std::vector<std::string> params;
    for (const Param& p : s.params) params.push_back(param_text(p));
    const auto k = static_cast<size_t>(s.kernel);
    const std::string list = text.array("%param", params);
    const std::string code = program.target.is_cpu() ? "@" + kernels[k].symbol : "null";
    items.push_back(fmt::format("{{ ptr {}, ptr {}, ptr {}, i64 {} }}", code,
                                text.string(program.kernels[k].name), list, params.size()));
  }
  return text.array("%step", items);
}

std::string flow(TableText& text, const std::vector<FlowOp>& all, const std::vector<Step>& steps) {
  std::vector<size_t> first_param{0};
  for (const Step& s : steps) first_param.push_back(first_param.back() + s.params.size());
  std::vector<std::string> items;
  for (const FlowOp& op : all) {
    const size_t first =
        op.kind == FlowKind::kRun ? first_param[static_cast<size_t>(op.number)] : 0;
    items.push_back(
        fmt::format("{{ i32 {}, i32 {}, %param {}, %param {}, %param {}, i64 {}, i64 {}, i64 {} }}",
                    static_cast<int>(op.kind), op.target, param_text(op.to), param_text(op.from),
                    param_text(op.at), op.number, op.count, first));
  }
  return text.array("%flow", items);
}

std::string variants(TableText& text, const Program& program,
                     const std::vector<CompiledKernel>& kernels) {
  std::vector<std::string> items;
  for (const Variant& v : program.variants) {
    std::vector<TensorInfo> in = program.inputs;
    std::vector<TensorInfo> out = program.outputs;
    for (size_t i = 0; i < in.size(); ++i) in[i].shape = v.input_shapes[i];
    for (size_t i = 0; i < out.size(); ++i) out[i].shape = v.output_shapes[i];
    const std::string inputs = tensors(text, in);
    const std::string outputs = tensors(text, out);
    const std::string walk = steps(text, program, v.steps, kernels);
    items.push_back(fmt::format("{{ ptr {}, ptr {}, ptr {}, i64 {}, ptr {}, i64 {} }}", inputs,
                                outputs, walk, v.steps.size(), flow(text, v.flow, v.steps),
                                v.flow.size()));
  }
  return text.array("%variant", items);
}

// The last fields of the table, of open dimensions and of branches and loops.
std::string sizes(TableText& text, const Program& program,
                  const std::vector<CompiledKernel>& kernels) {
  std::vector<std::string> dims;
  std::vector<std::string> compiled;
  for (const Dim& d : program.dims) {
    const std::string values = text.wide_numbers(d.values);
    dims.push_back(
        fmt::format("{{ ptr {}, ptr {}, i64 {} }}", text.string(d.name), values, d.values.size()));
    compiled.push_back(fmt::format("{{ ptr {}, i64 {}, i64 {} }}", text.wide_numbers(d.compiled),
                                   d.compiled.size(), d.padded ? 1 : 0));
  }
  const std::string dim_list = text.array("%dim", dims);
  const std::string compiled_list = text.array("%compiled", compiled);
  const std::string variant_list = variants(text, program, kernels);
  const std::string numbers = text.wide_numbers(program.numbers);
  return fmt::format("ptr {}, ptr {}, ptr {}, ptr {}, i32 {}, i32 {}, ptr {}, i64 {}", dim_list,
                     compiled_list, variant_list, numbers, program.dims.size(), program.batch,
                     flow(text, program.flow, program.steps), program.flow.size());
}

// Axes of inputs that are computed of open dimensions, as the very last fields.
std::string sums(TableText& text, const Program& program) {
  std::vector<std::string> items;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    for (const auto& [axis, sum] : program.inputs[i].sums) {
      std::vector<int64_t> factors;
      for (const Dim& d : program.dims) {
        const auto it = sum.factors.find(d.name);
        factors.push_back(it != sum.factors.end() ? it->second : 0);
      }
      const std::string list = text.wide_numbers(factors);
      items.push_back(fmt::format("{{ i32 {}, i32 {}, ptr {}, ptr {}, i64 {} }}", i, axis,
                                  text.string(sum.text()), list, sum.constant));
    }
  }
  return fmt::format("ptr {}, i64 {}", text.array("%sum", items), items.size());
}

// The tables of a library for several instruction sets, as the last fields have them.
std::string levels_of(std::string& out, const Program& program, const TableName& name) {
  if (name.levels.empty()) return "ptr null, i64 0";
  const std::string list = program.name + "_rt_levels";
  if (!name.symbol.empty()) {
    out += fmt::format("@{} = external hidden constant [{} x ptr]\n", list, name.levels.size());
    return fmt::format("ptr @{}, i64 {}", list, name.levels.size());
  }
  for (const std::string& level : name.levels) {
    out += fmt::format("@{} = external hidden constant %model\n", level);
  }
  out += fmt::format("@{} = hidden constant [{} x ptr] [ptr @{}]\n", list, name.levels.size(),
                     fmt::join(name.levels, ", ptr @"));
  return fmt::format("ptr @{}, i64 {}", list, name.levels.size());
}

}  // namespace

int64_t scratch_bytes(const Program& program, const std::vector<CompiledKernel>& kernels) {
  if (!program.target.is_cpu()) {
    return order_steps(program, kernels).scratch_bytes;
  }
  int64_t bytes = 0;
  for (const CompiledKernel& k : kernels) {
    bytes = std::max(bytes, k.workspace_bytes);
  }
  return align_up(bytes);
}

std::string table_ir(const Program& program, const std::vector<CompiledKernel>& kernels,
                     const TableFacts& facts, const TableName& table) {
  std::string out = fmt::format("source_filename = \"{}\"\n{}", program.name, kTypes);
  for (const CompiledKernel& k : kernels) {
    if (!program.target.is_cpu()) {
      break;  // they are data
    }
    out += fmt::format("declare hidden void @{}(ptr, ptr, ptr)\n", k.symbol);
  }
  TableText text(out);
  const std::string name = text.string(program.name);
  const std::string manifest = text.string(facts.manifest);
  const std::string inputs = tensors(text, program.inputs);
  const std::string outputs = tensors(text, program.outputs);
  const std::string walk = steps(text, program, program.steps, kernels);
  const std::string open = sizes(text, program, kernels);
  const std::string computed = sums(text, program);
  const std::string target = text.string(plan::target_name(program.target));
  const std::string levels = levels_of(out, program, table);
  if (!facts.weights.empty()) {
    out += fmt::format("@{} = external hidden constant i8, align 64\n", facts.weights);
  }
  std::vector<std::string> digest;
  for (const uint8_t byte : facts.weights_sha256) {
    digest.push_back(fmt::format("i8 {}", byte));
  }
  out += fmt::format(
      "@{} = hidden {} %model {{ ptr {}, ptr {}, i64 {}, ptr {}, ptr {}, ptr {}, "
      "i32 {}, "
      "i32 {}, i32 {}, i32 0, i64 {}, i64 {}, i64 {}, i64 {}, [32 x i8] [{}], {}, ptr {}, ptr {}, "
      "{}, {} "
      "}}\n",
      table.symbol.empty() ? program.name + "_rt_model" : table.symbol,
      table.symbol.empty() && !table.levels.empty() ? "global" : "constant", name, manifest,
      facts.needs, inputs, outputs, walk, program.inputs.size(), program.outputs.size(),
      program.steps.size(), align_up(program.arena_bytes, alignment(program.target)),
      scratch_bytes(program, kernels), align_up(program.weights_bytes),
      static_cast<int64_t>(facts.weights_checksum), fmt::join(digest, ", "), open,
      facts.weights.empty() ? "null" : "@" + facts.weights, target, levels, computed);
  if (!program.target.is_cpu()) {
    append_gpu_table(out, text, program, kernels);
  }
  return out;
}

}  // namespace tenon::artifact
