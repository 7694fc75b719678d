// SPDX-License-Identifier: Apache-2.0
#include "artifact/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "artifact/table.h"
#include "backend/objects.h"
#include "ir/print.h"
#include "runtime/cpu_check.h"
#include "support/check.h"

namespace tenon::artifact {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> feature_names(target::Arch arch) {
  std::vector<std::string> names;
  if (arch == target::Arch::kX86_64) {
    for (const runtime::X86Feature& f : runtime::kX86Features) {
      names.emplace_back(f.name);
    }
  } else {
    TENON_CHECK(arch == target::Arch::kAArch64) << "no features of this architecture";
    for (const runtime::Arm64Feature& f : runtime::kArm64Features) {
      names.emplace_back(f.name);
    }
  }
  return names;
}

// Names from files are bytes of any kind; JSON wants UTF-8.
std::string dump(const Json& j) {
  return j.dump(1, ' ', false, nlohmann::detail::error_handler_t::replace) + "\n";
}

Json tensors(const std::vector<TensorInfo>& all) {
  Json list = Json::array();
  for (const TensorInfo& t : all) {
    list.push_back({{"name", t.name},
                    {"dtype", ir::to_string(t.dtype)},
                    {"shape", t.shape},
                    {"bytes", t.bytes()}});
    if (!t.dims.empty()) list.back()["dims"] = t.dims;
    if (t.counted) list.back()["counted"] = true;
    for (const auto& [axis, sum] : t.sums) {
      list.back()["computed"][std::to_string(axis)] = sum.text();
    }
  }
  return list;
}

Json dims_json(const Program& program) {
  Json list = Json::array();
  for (const Dim& d : program.dims) {
    list.push_back({{"name", d.name}, {"values", d.values}});
    if (d.compiled != d.values) {
      list.back()[d.padded ? "padded_to" : "put_together_of"] = d.compiled;
    }
  }
  return list;
}

// Lists of nodes that steps of any size compute, each once: sizes have most of them in common.
std::vector<std::vector<std::string>> node_lists(const Program& program) {
  std::set<std::vector<std::string>> all;
  for (const Variant& v : program.variants) {
    for (const Step& s : v.steps) all.insert(s.nodes);
  }
  return {all.begin(), all.end()};
}

// A step is its kernel, task, flops and bytes, and which of the lists its nodes are.
Json variants_json(const Program& program, const std::vector<std::vector<std::string>>& nodes) {
  Json list = Json::array();
  for (const Variant& v : program.variants) {
    Json steps = Json::array();
    for (const Step& s : v.steps) {
      const auto at = std::lower_bound(nodes.begin(), nodes.end(), s.nodes) - nodes.begin();
      steps.push_back(Json::array({s.kernel, s.task, s.flops, s.bytes, at}));
    }
    list.push_back({{"sizes", v.sizes},
                    {"outputs", v.output_shapes},
                    {"arena_bytes", v.arena_bytes},
                    {"steps", steps}});
  }
  return list;
}

Json target_json(const target::Target& t, uint64_t needs) {
  if (!t.is_cpu()) {
    return {{"name", plan::target_name(t)},
            {"triple", t.triple},
            {"gpu", t.gpu().processor},
            {"host", host_of(t).triple},
            {"needs", Json::array({"libcuda.so.1"})}};
  }
  Json names = Json::array();
  const auto rows = feature_names(t.arch);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (((needs >> i) & 1) != 0) {
      names.push_back(rows[i]);
    }
  }
  return {{"name", plan::target_name(t)},
          {"triple", t.triple},
          {"cpu", t.cpu().processor},
          {"features", t.cpu().features},
          {"needs", names}};
}

Json launches_json(const backend::GpuModule& gpu) {
  Json list = Json::array();
  for (const backend::Launch& l : gpu.launches) {
    list.push_back({{"kernel", l.kernel},
                    {"grid", l.grid},
                    {"block", l.block},
                    {"shared_bytes", l.shared_bytes}});
  }
  return list;
}

Json kernels_json(const Program& program, const std::vector<CompiledKernel>& compiled) {
  Json list = Json::array();
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    const Kernel& k = program.kernels[i];
    const plan::TaskPlan* decided = program.plan.find(k.task);
    TENON_CHECK(decided != nullptr) << "nothing is decided about the task of " << k.name;
    Json row = {{"name", k.name}, {"task", k.task}, {"origin", decided->origin}};
    if (!decided->algorithm.empty()) {
      row["algorithm"] = decided->algorithm;
      row["error"] = plan::rounded(decided->error);
      row["direct_error"] = plan::rounded(decided->direct_error);
    }
    if (!k.also.empty()) row["also"] = k.also;
    row["flops"] = k.flops;
    row["bytes"] = k.bytes;
    row["workspace_bytes"] = compiled[i].workspace_bytes;
    if (!program.target.is_cpu()) {
      row["launches"] = launches_json(compiled[i].gpu);
    }
    list.push_back(std::move(row));
  }
  return list;
}

// "input 0", "arena 4096+802816": offset and bytes.
std::string param_text(const Param& p) {
  switch (p.place) {
    case Place::kInput:
      return fmt::format("input {}", p.index);
    case Place::kOutput:
      return fmt::format("output {}", p.index);
    case Place::kWeights:
      return fmt::format("weights {}+{}", p.offset, p.bytes);
    case Place::kArena:
      return fmt::format("arena {}+{}", p.offset, p.bytes);
    case Place::kNumbers:
      return fmt::format("numbers {}+{}", p.offset, p.bytes);
    case Place::kSize:
      return fmt::format("size {}", p.index);
  }
  return "";
}

Json steps_json(const Program& program) {
  Json list = Json::array();
  for (const Step& s : program.steps) {
    Json params = Json::array();
    for (const Param& p : s.params) {
      params.push_back(param_text(p));
    }
    list.push_back({{"kernel", s.kernel}, {"nodes", s.nodes}, {"params", params}});
  }
  return list;
}

// "run 3+2": two steps from step 3 on; "unless arena 0+1: 7".
std::string flow_text(const FlowOp& op) {
  const std::string to = param_text(op.to), from = param_text(op.from), at = param_text(op.at);
  const char* order = op.number > 0 ? "last - " : "";
  switch (op.kind) {
    case FlowKind::kRun:
      return fmt::format("run {}+{}", op.number, op.count);
    case FlowKind::kCopy:
      return fmt::format("copy {} = {}", to, from);
    case FlowKind::kSet:
      return fmt::format("set {} = {}", to, op.number);
    case FlowKind::kAdd:
      return fmt::format("add {} += {}", to, op.number);
    case FlowKind::kClear:
      return fmt::format("clear {}", to);
    case FlowKind::kTake:
      return fmt::format("take {} = {} [{}{}]", to, from, order, at);
    case FlowKind::kPut:
      return fmt::format("put {} [{}{}] = {}", to, order, at, from);
    case FlowKind::kUnless:
      return fmt::format("unless {}: {}", from, op.target);
    case FlowKind::kReached:
      return fmt::format("if {} reached {}: {}", at, from, op.target);
    case FlowKind::kJump:
      return fmt::format("go to {}", op.target);
    case FlowKind::kCount:
      return fmt::format("rows of {} = {}", to, at);
  }
  return "";
}

Json flow_json(const std::vector<FlowOp>& flow) {
  Json list = Json::array();
  for (const FlowOp& op : flow) list.push_back(flow_text(op));
  return list;
}

Json provenance_json(const Program& program) {
  Json map = Json::object();
  for (const auto& [key, value] : program.provenance) {
    map[key] = value;
  }
  return map;
}

}  // namespace

uint64_t cpu_needs(const target::Target& t) {
  if (!t.is_cpu()) {
    return 0;  // the host's part is for the plainest of its kind
  }
  const std::vector<std::string> names = feature_names(t.arch);
  std::istringstream words(t.cpu().features);
  for (std::string word; std::getline(words, word, ',');) {
    if (word.starts_with('+') &&
        std::find(names.begin(), names.end(), word.substr(1)) == names.end()) {
      throw UserError("target feature '" + word + "' cannot be checked when a library is loaded");
    }
  }
  const std::vector<bool> has = backend::has_features(t, names);
  uint64_t needs = 0;
  for (size_t i = 0; i < has.size(); ++i) {
    needs |= static_cast<uint64_t>(has[i]) << i;
  }
  return needs;
}

std::string manifest_text(const Program& program, const std::vector<CompiledKernel>& kernels,
                          uint64_t needs, const Sha256::Digest& weights_sha256, bool embedded) {
  Json j = {{"schema", kManifestSchema},
            {"name", program.name},
            {"tenon", TENON_VERSION},
            {"target", target_json(program.target, needs)},
            {"inputs", tensors(program.inputs)},
            {"outputs", tensors(program.outputs)},
            {"memory",
             {{"weights_bytes", align_up(program.weights_bytes)},
              {"arena_bytes", align_up(program.arena_bytes, alignment(program.target))},
              {"scratch_bytes", scratch_bytes(program, kernels)}}}};
  if (program.weights_bytes > 0) {
    if (!embedded) j["weights"]["file"] = program.name + ".weights";
    j["weights"]["sha256"] = hex(weights_sha256);
  }
  if (!program.plan.accuracy.empty()) {
    j["accuracy"] = {{"level", program.plan.accuracy},
                     {"error", plan::rounded(program.plan.error)}};
  }
  j["kernels"] = kernels_json(program, kernels);
  j["steps"] = steps_json(program);
  if (!program.flow.empty()) j["flow"] = flow_json(program.flow);
  if (!program.dims.empty()) {
    j["dims"] = dims_json(program);
    const std::vector<std::vector<std::string>> nodes = node_lists(program);
    j["node_lists"] = nodes;
    j["variants"] = variants_json(program, nodes);
  }
  j["provenance"] = provenance_json(program);
  j["licences"] = Json::array({{{"part", "tenon runtime"}, {"licence", "Apache-2.0"}}});
  return dump(j);
}

std::string manifest_text(const Program& program) {
  return manifest_text(program, std::vector<CompiledKernel>(program.kernels.size()), 0, {});
}

std::string with_levels(const std::vector<std::string>& levels) {
  Json j = Json::parse(levels.back());
  if (levels.size() == 1) return dump(j);
  for (const std::string& level : levels) {
    Json one = Json::parse(level);
    const std::string target = one.at("target").at("name");
    j["levels"][target] = std::move(one);
  }
  return dump(j);
}

std::string with_files(const std::string& manifest, const std::vector<FileEntry>& files) {
  Json j = Json::parse(manifest);
  Json list = Json::array();
  for (const FileEntry& f : files) {
    list.push_back({{"name", f.name}, {"bytes", f.bytes}, {"sha256", f.sha256}});
  }
  j["files"] = list;
  return dump(j);
}

}  // namespace tenon::artifact
