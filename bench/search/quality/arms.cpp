// SPDX-License-Identifier: Apache-2.0
#include "bench/search/quality/arms.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "cost/model.h"
#include "files/file.h"
#include "history/model_file.h"
#include "history/program_table.h"
#include "neural/compiled.h"
#include "search/space/spaces.h"
#include "search/strategy/scoring.h"
#include "search/strategy/strategy.h"
#include "support/check.h"
#include "support/rng.h"
#include "templates/template.h"
#include "value/instant.h"

namespace tenon::quality {
namespace {

constexpr Arm kArms[] = {
    {.name = "random", .space = "joint", .strategy = "random", .cost_model = "random"},
    {.name = "evolution+random", .space = "joint", .strategy = "evolution", .cost_model = "random"},
    {.name = "evolution+xgb", .space = "joint", .strategy = "evolution", .cost_model = "xgb"},
    {.name = "evolution+xgb-draft",
     .space = "joint",
     .strategy = "evolution",
     .cost_model = "xgb",
     .draft = false},
    {.name = "evolution+xgb+history",
     .space = "joint",
     .strategy = "evolution",
     .cost_model = "xgb",
     .history = true},
    {.name = "evolution+xgb+history+transplant",
     .space = "joint",
     .strategy = "evolution",
     .cost_model = "xgb",
     .history = true,
     .transplant = true},
    {.name = "annealing+xgb-rank",
     .space = "joint",
     .strategy = "annealing",
     .cost_model = "xgb-rank"},
    {.name = "annealing+xgb-rank+history",
     .space = "joint",
     .strategy = "annealing",
     .cost_model = "xgb-rank",
     .history = true},
    {.name = "annealing+xgb-rank+history+transplant",
     .space = "joint",
     .strategy = "annealing",
     .cost_model = "xgb-rank",
     .history = true,
     .transplant = true},
    {.name = "annealing+treegru",
     .space = "joint",
     .strategy = "annealing",
     .cost_model = "treegru"},
    {.name = "sketch+random",
     .space = "sketch",
     .strategy = "evolution",
     .cost_model = "random",
     .start = Start::kSpace},
    {.name = "sketch+xgb",
     .space = "sketch",
     .strategy = "evolution",
     .cost_model = "xgb",
     .start = Start::kSpace},
    {.name = "sketch+xgb+history",
     .space = "sketch",
     .strategy = "evolution",
     .cost_model = "xgb",
     .history = true,
     .start = Start::kSpace},
    {.name = "template-direct",
     .space = "joint",
     .strategy = "",
     .cost_model = "random",
     .start = Start::kDirect},
    {.name = "rules", .space = "joint", .strategy = "", .cost_model = "random"},
    {.name = "instant-greedy",
     .space = "joint",
     .strategy = "",
     .cost_model = "random",
     .start = Start::kGreedy},
    {.name = "instant",
     .space = "joint",
     .strategy = "",
     .cost_model = "random",
     .start = Start::kBeam},
    {.name = "instant-sketch",
     .space = "sketch",
     .strategy = "",
     .cost_model = "random",
     .start = Start::kBeam},
    {.name = "annealing+xgb-rank+instant",
     .space = "joint",
     .strategy = "annealing",
     .cost_model = "xgb-rank",
     .start = Start::kBeam},
    {.name = "annealing+xgb-rank+history+transplant+instant",
     .space = "joint",
     .strategy = "annealing",
     .cost_model = "xgb-rank",
     .history = true,
     .transplant = true,
     .start = Start::kBeam},
};

template <class Rows>
bool has_row(const Rows& rows, std::string_view name) {
  return std::any_of(rows.begin(), rows.end(), [&](const auto& r) { return r.name == name; });
}

// The file whose model is of the arm's kind; empty: none is.
std::string history_of(const Arm& a, const Given& given) {
  for (const std::string& file : given.history) {
    if (history::parse_model_file(files::read_file(file)).card.model == a.cost_model) return file;
  }
  return "";
}

bool by_value(const Arm& a) { return a.start == Start::kGreedy || a.start == Start::kBeam; }

// By rule; `direct`: with the definition's own algorithm, which sketches are compared with.
schedule::Trace template_program(const task::Task& t, bool direct) {
  templates::Request request{t.edges, false};
  if (direct) request.algorithm = 0;
  return templates::choose(schedule::State(t.dag, t.target), request).trace;
}

}  // namespace

std::span<const Arm> arms() { return kArms; }

const Arm* find_arm(const std::string& name) {
  for (const Arm& a : kArms) {
    if (name == a.name) return &a;
  }
  return nullptr;
}

std::string why_missing(const Arm& a, const Given& given) {
  if (*a.strategy != '\0' && !has_row(search::strategies(), a.strategy)) {
    return fmt::format("there is no strategy {}", a.strategy);
  }
  if (!has_row(cost::models(), a.cost_model)) {
    return fmt::format("there is no cost model {}", a.cost_model);
  }
  if (a.transplant && given.programs.empty()) return "--programs FILE was not given";
  if (a.history && history_of(a, given).empty()) {
    return fmt::format("no --history FILE with a model {} was given", a.cost_model);
  }
  if (by_value(a) && given.value.empty()) return "--value FILE was not given";
  return "";
}

tune::TunerOptions tuner_options(const Arm& a, const Given& given, uint64_t seed) {
  tune::TunerOptions o;
  o.seed = seed;
  o.space = a.space;
  o.strategy = *a.strategy == '\0' ? "random" : a.strategy;
  o.cost_model = a.cost_model;
  o.search.draft = a.draft;
  if (a.history) o.cost_model_file = history_of(a, given);
  if (a.transplant) {
    o.known = std::make_shared<history::KnownPrograms>(
        history::read_table(files::read_file(given.programs)).tasks);
  }
  return o;
}

namespace {

tune::TaskToTune first_of(const Arm& a, const task::Task& t, uint64_t seed) {
  const auto space = search::make_space(a.space, t);
  if (space == nullptr) throw UserError("an empty space");
  std::vector<space::Program> first = space->first();
  if (!first.empty()) return {t, first.front().trace, a.space};
  Rng rng(seed);
  const std::optional<space::Program> drawn = search::sample_valid(*space, rng);
  if (!drawn) throw UserError("no draw from the space fits");
  return {t, drawn->trace, a.space};
}

tune::TaskToTune instant_of(const Arm& a, const Given& given, const task::Task& t) {
  value::InstantOptions options;
  options.space = a.space;
  options.beam.width = a.start == Start::kGreedy ? 1 : 8;
  std::vector<history::KnownTask> known;
  if (!given.programs.empty()) known = history::read_table(files::read_file(given.programs)).tasks;
  const value::Instant instant(
      value::ValueFunction(value::model_from_bytes(files::read_file(given.value)),
                           neural::compiled_rows_scorers({.cache = {}, .threads = 1})),
      std::move(known), options);
  const auto chosen = instant.choose(t);
  if (!chosen) return {t, template_program(t, false), "template"};
  return {t, chosen->taken.look.program.trace, chosen->is_rule() ? "template" : "instant"};
}

}  // namespace

tune::TaskToTune start_of(const Arm& a, const Given& given, const task::Task& t, uint64_t seed) {
  if (a.start == Start::kSpace) return first_of(a, t, seed);
  if (by_value(a)) return instant_of(a, given, t);
  return {t, template_program(t, a.start == Start::kDirect), "template"};
}

}  // namespace tenon::quality
