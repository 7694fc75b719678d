// SPDX-License-Identifier: Apache-2.0
#include "history/known_programs.h"

#include <algorithm>
#include <cmath>

#include "history/task_history.h"
#include "support/check.h"

namespace tenon::history {
namespace {

constexpr size_t kBest = 4;            // programs of one task
constexpr double kMostRelative = 1.2;  // slower ones are no examples
constexpr double kFarthest = 16;       // what is farther away is not alike

space::Choices choices_of(const task::Measurement& m) {
  try {
    return m.choices.empty() ? space::Choices{} : space::choices_from_json(m.choices);
  } catch (const UserError&) {
    return {};
  }
}

}  // namespace

std::vector<KnownProgram> best_programs(const std::vector<task::Measurement>& rows,
                                        const Translator& of, size_t most) {
  TaskHistory history;
  for (const task::Measurement& m : rows) history.add(m);
  const auto fastest = history.fastest(SIZE_MAX);
  std::vector<KnownProgram> out;
  for (const task::Measurement* m : fastest) {
    const double relative = m->median_s / fastest[0]->median_s;
    if (out.size() == most || relative > kMostRelative) break;
    auto recipe = of.recipe(choices_of(*m));
    if (!recipe) continue;
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const KnownProgram& p) { return p.recipe == *recipe; });
    if (!known) out.push_back({*std::move(recipe), relative});
  }
  return out;
}

void KnownPrograms::add_records(const db::Database& db, Where where) {
  db_ = &db;
  where_ = std::move(where);
}

void KnownPrograms::renew() {
  if (db_ == nullptr) return;
  for (const db::TaskRow& row : db_->tasks()) {
    const auto [it, fresh] = recorded_.try_emplace(row.key);
    if (!fresh) continue;
    try {
      const task::Task t = task_of(row, where_.target);
      it->second.label = row.label;
      it->second.likeness = likeness_of(t);
      it->second.translator = std::make_unique<Translator>(t);
    } catch (const UserError&) {  // the row stays without a translator
    }
  }
}

std::vector<KnownPrograms::Near> KnownPrograms::in_order(const task::Task& t) const {
  const Likeness likeness = likeness_of(t);
  std::vector<Near> all;
  const auto add = [&](const Likeness& other, Near n) {
    n.distance = distance(likeness, other);
    if (n.distance <= kFarthest) all.push_back(std::move(n));
  };
  for (const KnownTask& k : table_) add(k.likeness, {0, k.key, &k, nullptr});
  for (const auto& [key, r] : recorded_) {
    const bool own = key == t.key || key == t.exact_key;
    if (!own && r.translator != nullptr) add(r.likeness, {0, key, nullptr, &r});
  }
  // What this machine recorded comes before the same from a table.
  std::sort(all.begin(), all.end(), [](const Near& a, const Near& b) {
    if (a.distance != b.distance) return a.distance < b.distance;
    if (a.key != b.key) return a.key < b.key;
    return a.of_table < b.of_table;  // null first, then in the order of the table
  });
  return all;
}

KnownTask KnownPrograms::read(const Near& n) const {
  if (n.of_table != nullptr) return *n.of_table;
  const auto rows = db_->measurements({n.key, where_.measured, where_.protocol, ""});
  return {n.key, n.recorded->label, n.recorded->likeness,
          best_programs(rows, *n.recorded->translator, kBest)};
}

std::vector<KnownTask> KnownPrograms::nearest(const task::Task& t, size_t most) {
  renew();
  std::vector<KnownTask> out;
  for (const Near& n : in_order(t)) {
    if (out.size() == most) break;
    KnownTask k = read(n);
    if (!k.programs.empty()) out.push_back(std::move(k));
  }
  return out;
}

}  // namespace tenon::history
