// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/compare/same_tensors.h"

#include <fmt/format.h>

#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

constexpr const char* kHint =
    "is it of another model? sizes and constants are given with --dims, --shape and --bind, as "
    "when it was compiled";

std::string text(const artifact::TensorInfo& t) {
  return fmt::format("{} {}", ir::to_string(t.dtype), shape_text(t.shape));
}

}  // namespace

Side side_of(const std::string& name, const graph::Graph& g,
             const std::vector<graph::ValueId>& values) {
  Side side{name, {}};
  for (const graph::ValueId v : values) {
    side.tensors.push_back({g.value(v).name, g.value(v).dtype, g.value(v).shape});
  }
  return side;
}

void require_same_tensors(const char* kind, const Side& reference, const Side& tested) {
  const size_t count = tested.tensors.size();
  if (reference.tensors.size() != count) {
    throw UserError(
        fmt::format("{} has {} and {} has {}: they cannot be compared", reference.name,
                    counted(reference.tensors.size(), kind), tested.name, counted(count, kind)),
        kHint);
  }
  for (size_t i = 0; i < count; ++i) {
    const artifact::TensorInfo &a = reference.tensors[i], &b = tested.tensors[i];
    if (a.dtype != b.dtype || a.shape != b.shape) {
      throw UserError(fmt::format("{} '{}' is {} in {} and {} in {}: they cannot be compared", kind,
                                  b.name, text(a), reference.name, text(b), tested.name),
                      kHint);
    }
  }
}

}  // namespace tenon::tools
