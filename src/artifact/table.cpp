// SPDX-License-Identifier: Apache-2.0
#include "artifact/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "ir/print.h"
#include "runtime/model.h"

namespace tenon::artifact {
namespace {

// The types of runtime/model.h.
constexpr const char* kTypes =
    "%tensor = type { ptr, ptr, i32, ptr, i64 }\n"
    "%param = type { i32, i32, i64 }\n"
    "%step = type { ptr, ptr, ptr, i64 }\n"
    "%model = type { ptr, ptr, i64, ptr, ptr, ptr, i32, i32, i32, i32, i64, i64, i64, i64, "
    "[32 x i8] }\n";

static_assert(static_cast<int>(Place::kInput) == kTenonInput &&
              static_cast<int>(Place::kOutput) == kTenonOutput &&
              static_cast<int>(Place::kWeights) == kTenonWeights &&
              static_cast<int>(Place::kArena) == kTenonArena);

class Text {
 public:
  explicit Text(std::string& out) : out_(out) {}

  // Names of constants with these contents, each defined once.
  std::string string(const std::string& s) {
    const auto [it, fresh] = strings_.try_emplace(s, fmt::format("@s{}", strings_.size()));
    if (fresh) {
      out_ +=
          fmt::format("{} = private unnamed_addr constant [{} x i8] c\"", it->second, s.size() + 1);
      for (const char c : s) {
        const bool plain = c >= ' ' && c < 127 && c != '"' && c != '\\';
        out_ += plain ? std::string(1, c) : fmt::format("\\{:02X}", static_cast<unsigned char>(c));
      }
      out_ += "\\00\"\n";
    }
    return it->second;
  }

  // "null" for an empty one.
  std::string array(const std::string& type, const std::vector<std::string>& items) {
    if (items.empty()) {
      return "null";
    }
    const std::string name = fmt::format("@a{}", arrays_++);
    out_ += fmt::format("{} = private unnamed_addr constant [{} x {}] [", name, items.size(), type);
    for (size_t i = 0; i < items.size(); ++i) {
      out_ += fmt::format("{}{} {}", i == 0 ? "" : ", ", type, items[i]);
    }
    out_ += "]\n";
    return name;
  }

 private:
  std::string& out_;
  std::map<std::string, std::string> strings_;
  int arrays_ = 0;
};

std::string tensors(Text& text, const std::vector<TensorInfo>& all) {
  std::vector<std::string> items;
  for (const TensorInfo& t : all) {
    std::vector<std::string> extents;
    for (const int64_t extent : t.shape) {
      extents.push_back(std::to_string(extent));
    }
    const std::string shape = text.array("i64", extents);
    items.push_back(fmt::format("{{ ptr {}, ptr {}, i32 {}, ptr {}, i64 {} }}", text.string(t.name),
                                text.string(ir::to_string(t.dtype)), t.shape.size(), shape,
                                t.bytes()));
  }
  return text.array("%tensor", items);
}

std::string steps(Text& text, const Program& program, const std::vector<CompiledKernel>& kernels) {
  std::vector<std::string> items;
  for (const Step& s : program.steps) {
    std::vector<std::string> params;
    for (const Param& p : s.params) {
      params.push_back(fmt::format("{{ i32 {}, i32 {}, i64 {} }}", static_cast<int>(p.place),
                                   p.index, p.offset));
    }
    const auto k = static_cast<size_t>(s.kernel);
    const std::string list = text.array("%param", params);
    items.push_back(fmt::format("{{ ptr @{}, ptr {}, ptr {}, i64 {} }}", kernels[k].symbol,
                                text.string(program.kernels[k].name), list, params.size()));
  }
  return text.array("%step", items);
}

}  // namespace

int64_t scratch_bytes(const std::vector<CompiledKernel>& kernels) {
  int64_t bytes = 0;
  for (const CompiledKernel& k : kernels) {
    bytes = std::max(bytes, k.workspace_bytes);
  }
  return align_up(bytes);
}

std::string table_ir(const Program& program, const std::vector<CompiledKernel>& kernels,
                     const TableFacts& facts) {
  std::string out = fmt::format("source_filename = \"{}\"\n{}", program.name, kTypes);
  for (const CompiledKernel& k : kernels) {
    out += fmt::format("declare hidden void @{}(ptr, ptr, ptr)\n", k.symbol);
  }
  Text text(out);
  const std::string name = text.string(program.name);
  const std::string manifest = text.string(facts.manifest);
  const std::string inputs = tensors(text, program.inputs);
  const std::string outputs = tensors(text, program.outputs);
  const std::string walk = steps(text, program, kernels);
  std::vector<std::string> digest;
  for (const uint8_t byte : facts.weights_sha256) {
    digest.push_back(fmt::format("i8 {}", byte));
  }
  out += fmt::format(
      "@{}_rt_model = hidden constant %model {{ ptr {}, ptr {}, i64 {}, ptr {}, ptr {}, ptr {}, "
      "i32 {}, "
      "i32 {}, i32 {}, i32 0, i64 {}, i64 {}, i64 {}, i64 {}, [32 x i8] [{}] }}\n",
      program.name, name, manifest, facts.needs, inputs, outputs, walk, program.inputs.size(),
      program.outputs.size(), program.steps.size(), align_up(program.arena_bytes),
      scratch_bytes(kernels), align_up(program.weights_bytes),
      static_cast<int64_t>(facts.weights_checksum), fmt::join(digest, ", "));
  return out;
}

}  // namespace tenon::artifact
