// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "support/check.h"
#include "tools/tenon/commands/model/verbs.h"

namespace tenon::tools {

std::vector<Machine> machines(const db::Database& db, const history::SelectionOptions& options) {
  std::map<std::pair<std::string, std::string>, int64_t> rows;
  for (const auto& [key, groups] : select(db, with_host(options)).keys) {
    for (const db::Group& g : groups) rows[{g.target, g.protocol}] += g.count;
  }
  std::vector<Machine> out;
  for (const auto& [name, n] : rows) {
    auto target = target_here(name.first);
    const bool here = target != nullptr || name.first.starts_with("sim ");
    if (target == nullptr) target = std::make_shared<const target::Target>(target::host_target());
    out.push_back({{std::move(target), name.first, name.second}, n, here});
  }
  if (out.empty()) {
    throw UserError("the database has no such records", "tenon tune makes them");
  }
  std::sort(out.begin(), out.end(), [](const Machine& a, const Machine& b) {
    return std::tie(b.rows, a.where.measured, a.where.protocol) <
           std::tie(a.rows, b.where.measured, b.where.protocol);
  });
  return out;
}

Json scores_json(const history::Scores& s) {
  if (s.tasks == 0) return nullptr;
  return {{"top1", s.top1}, {"top5", s.top5}, {"pairwise", s.pairwise}, {"held_out", s.tasks}};
}

std::string scores_text(const history::Scores& s) {
  if (s.tasks == 0) return "no task was held out";
  return fmt::format("top-1 {:.2f}  top-5 {:.2f}  pairs {:.2f}  on {} held-out task{}", s.top1,
                     s.top5, s.pairwise, s.tasks, s.tasks == 1 ? "" : "s");
}

Json card_json(const history::Card& c) {
  const std::string at = trained_at_text(c);
  return {{"model", c.model},
          {"target", c.target},
          {"protocol", c.protocol},
          {"features", c.features},
          {"tenon", c.tenon},
          {"records", c.records},
          {"tasks", c.tasks.size()},
          {"trained_at", at.empty() ? Json() : Json(at)},
          {"scores", scores_json(c.scores)}};
}

}  // namespace tenon::tools
