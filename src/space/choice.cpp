// SPDX-License-Identifier: Apache-2.0
#include "space/choice.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "support/check.h"

namespace tenon::space {
namespace {

struct KindRow {
  HoleKind kind;
  std::string_view word;
};
constexpr KindRow kKinds[] = {
    {HoleKind::kLayout, "layout"},       {HoleKind::kAlgorithm, "algorithm"},
    {HoleKind::kStructure, "structure"}, {HoleKind::kFactor, "factor"},
    {HoleKind::kParts, "parts"},         {HoleKind::kLocation, "location"},
    {HoleKind::kParallel, "parallel"},   {HoleKind::kUnroll, "unroll"},
    {HoleKind::kLanes, "lanes"},         {HoleKind::kSwitch, "switch"},
};

HoleKind parse_kind(const std::string& text) {
  for (const KindRow& r : kKinds) {
    if (r.word == text) return r.kind;
  }
  throw UserError(fmt::format("choices: no kind of hole is called '{}'", text));
}

}  // namespace

std::string_view word(HoleKind kind) {
  for (const KindRow& r : kKinds) {
    if (r.kind == kind) return r.word;
  }
  throw InternalError("a kind of hole without a word");
}

std::string to_json(const Choices& choices) {
  std::string out = "[";
  for (const Choice& c : choices) {
    out += fmt::format("{}[\"{}\",{},{},{}]", out.size() > 1 ? "," : "", word(c.hole.kind),
                       c.hole.stage, c.hole.number, c.value);
  }
  return out + "]";
}

Choices choices_from_json(const std::string& json) {
  const auto rows = nlohmann::json::parse(json, nullptr, false);
  if (!rows.is_array()) throw UserError("choices: not a JSON array");
  Choices out;
  for (const auto& r : rows) {
    const bool good = r.is_array() && r.size() == 4 && r[0].is_string() &&
                      r[1].is_number_integer() && r[2].is_number_integer() &&
                      r[3].is_number_integer();
    if (!good) throw UserError(fmt::format("choices: not a choice: {}", r.dump()));
    const HoleId hole{parse_kind(r[0].get<std::string>()), r[1].get<int32_t>(),
                      r[2].get<int32_t>()};
    out.push_back({hole, r[3].get<int64_t>()});
  }
  return out;
}

}  // namespace tenon::space
