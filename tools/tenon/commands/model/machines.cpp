// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "support/check.h"
#include "target/fingerprint.h"
#include "tools/tenon/commands/model/verbs.h"

namespace tenon::tools {
namespace {

// The name has both machines ("A on B") where code for one was timed on another; the code's is wanted.
std::shared_ptr<const target::Target> target_of(const std::string& measured) {
  if (auto here = target_here(measured)) return here;
  auto there = target::target_of_fingerprint(measured.substr(0, measured.find(" on ")));
  return there ? std::make_shared<const target::Target>(*std::move(there)) : nullptr;
}

}  // namespace

std::vector<Machine> machines(const db::Database& db, const history::SelectionOptions& options) {
  std::map<std::pair<std::string, std::string>, int64_t> rows;
  for (const auto& [key, groups] : select(db, with_host(options)).keys) {
    for (const db::Group& g : groups) rows[{g.target, g.protocol}] += g.count;
  }
  std::vector<Machine> out;
  for (const auto& [name, n] : rows) {
    auto target = target_of(name.first);
    const bool known = target != nullptr || name.first.starts_with("sim ");
    if (target == nullptr) target = std::make_shared<const target::Target>(target::host_target());
    out.push_back({{std::move(target), name.first, name.second}, n, known});
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

history::Limits records_limits(int64_t records) {
  const auto total = static_cast<size_t>(records);
  return {.per_task = total, .total = total, .least = 1, .threads = 0};
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
