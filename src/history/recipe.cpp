// SPDX-License-Identifier: Apache-2.0
#include "history/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

#include "schedule/algorithms/algorithms.h"
#include "search/space/structures.h"

namespace tenon::history {
namespace {

using space::Choice;
using space::Choices;
using space::HoleKind;

constexpr space::HoleId kAlgorithmHole{HoleKind::kAlgorithm, -1, 0};
constexpr space::HoleId kStructureHole{HoleKind::kStructure, -1, 0};

std::optional<int64_t> value_of(const Choices& choices, const space::HoleId& hole) {
  for (const Choice& c : choices) {
    if (c.hole == hole) return c.value;
  }
  return std::nullopt;
}

template <class T>
bool read(std::string_view text, T* out) {
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && at == text.data() + text.size();
}

std::optional<HoleKind> parse_kind(std::string_view text) {
  for (auto k = static_cast<int>(HoleKind::kFactor); k <= static_cast<int>(HoleKind::kSwitch);
       ++k) {
    if (space::word(static_cast<HoleKind>(k)) == text) return static_cast<HoleKind>(k);
  }
  return std::nullopt;
}

// "factor@last+out.9=16"
std::optional<RecipeChoice> parse_choice(std::string_view text) {
  const size_t at = text.find('@');
  const size_t dot = text.find('.');
  const size_t equals = text.find('=');
  if (at == text.npos || dot == text.npos || equals == text.npos || at > dot || dot > equals) {
    return std::nullopt;
  }
  RecipeChoice c;
  const auto kind = parse_kind(text.substr(0, at));
  if (!kind || !read(text.substr(dot + 1, equals - dot - 1), &c.number) ||
      !read(text.substr(equals + 1), &c.value)) {
    return std::nullopt;
  }
  c.kind = *kind;
  c.role = text.substr(at + 1, dot - at - 1);
  return c.role.empty() ? std::nullopt : std::optional(c);
}

}  // namespace

std::string to_text(const Recipe& r) {
  std::string out = fmt::format("{} {}", r.algorithm, r.structure);
  for (const RecipeChoice& c : r.choices) {
    out += fmt::format(" {}@{}.{}={}", space::word(c.kind), c.role, c.number, c.value);
  }
  return out;
}

std::optional<Recipe> parse_recipe(std::string_view text) {
  std::istringstream words{std::string(text)};
  Recipe r;
  std::string word;
  if (!(words >> word) || !read(word, &r.algorithm) || r.algorithm < 0) return std::nullopt;
  if (!(words >> r.structure)) return std::nullopt;
  while (words >> word) {
    const auto c = parse_choice(word);
    if (!c) return std::nullopt;
    r.choices.push_back(*c);
  }
  return r;
}

const std::vector<std::string>& Translator::structures(int64_t algorithm) const {
  const auto it = structures_.find(algorithm);
  if (it != structures_.end()) return it->second;
  return structures_.emplace(algorithm, search::structure_names(task_, algorithm)).first->second;
}

std::optional<Recipe> Translator::recipe(const Choices& choices) const {
  if (choices.empty()) return std::nullopt;
  Recipe r;
  r.algorithm = value_of(choices, kAlgorithmHole).value_or(0);
  if (r.algorithm < 0 || r.algorithm > std::ssize(schedule::algorithms())) return std::nullopt;
  const auto& names = structures(r.algorithm);
  // What has one value is not asked for: a template without sketches, or a sketch without a template.
  const int64_t which = value_of(choices, kStructureHole).value_or(names.size() == 2 ? 1 : 0);
  if (which < 0 || which >= std::ssize(names)) return std::nullopt;
  r.structure = names[static_cast<size_t>(which)];
  for (const Choice& c : choices) {
    if (c.hole.kind < HoleKind::kFactor) continue;
    r.choices.push_back({c.hole.kind, roles_.role(c.hole.stage), c.hole.number, c.value});
  }
  return r;
}

std::optional<Choices> Translator::choices(const Recipe& r) const {
  if (r.algorithm < 0 || r.algorithm > std::ssize(schedule::algorithms())) return std::nullopt;
  int64_t which = 0;
  if (r.structure != search::kTemplateStructure) {
    const auto& names = structures(r.algorithm);
    const auto it = std::find(names.begin(), names.end(), r.structure);
    if (it == names.end()) return std::nullopt;
    which = it - names.begin();
  }
  Choices out{{kAlgorithmHole, r.algorithm}, {kStructureHole, which}};
  // Two stages of the source may be one here: what fits in all words is followed.
  std::set<space::HoleId> known;
  for (const bool exact : {true, false}) {
    for (const RecipeChoice& c : r.choices) {
      for (const schedule::StageId stage : roles_.stages(c.role)) {
        const space::HoleId hole{c.kind, stage, c.number};
        if ((roles_.role(stage) == c.role) == exact && known.insert(hole).second) {
          out.push_back({hole, c.value});
        }
      }
    }
  }
  return out;
}

}  // namespace tenon::history
