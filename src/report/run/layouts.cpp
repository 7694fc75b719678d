// SPDX-License-Identifier: Apache-2.0
#include "report/run/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "layout/describe.h"
#include "report/run/schedules.h"
#include "support/check.h"
#include "task/task.h"
#include "te/text.h"

namespace tenon::report {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// "x0: N C/16 H W 16c, relu: N C H W"
std::string words_of(const std::map<std::string, layout::Layout>& edges, bool image) {
  std::string out;
  for (const auto& [name, l] : edges) {
    const auto letters = layout::dimension_letters(l.logical_shape().size(), image);
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", name, layout::describe(l, letters));
  }
  return out;
}

double calls_of(const RunStory& story, const std::string& key) {
  for (const TaskStory& t : story.tasks) {
    if (t.key == key) return t.all_calls();
  }
  return 0;
}

void finish(LayoutSearch& o, const RunStory& story, const db::TaskRow& row) {
  o.shape = output_shape(row.te);
  try {
    const auto dag = std::make_shared<const te::ComputeDag>(te::parse(row.te, "task"));
    const auto target = std::make_shared<const target::Target>();
    const bool image = o.label.find("conv") != std::string::npos;
    for (LayoutTry& t : o.tries) {
      const auto edges = task::parse_edges(t.edges, *dag);
      t.words = words_of(edges, image);
      const bool as_it_was = t.edges == row.edges;
      t.calls = calls_of(story, as_it_was ? o.task : task::make_task(dag, edges, target).key);
    }
  } catch (const UserError&) {
    return;  // of another version: the times stay
  }
}

}  // namespace

Seconds LayoutSearch::best_s() const {
  Seconds best;
  for (const LayoutTry& t : tries) {
    if (t.s && (!best || *t.s < *best)) best = t.s;
  }
  return best;
}

std::optional<double> gain(const LayoutSearch& o, const LayoutTry& t) {
  if (!o.default_s || !t.s) return std::nullopt;
  return *o.default_s / *t.s;
}

std::vector<LayoutTry> by_time(const LayoutSearch& o) {
  std::vector<LayoutTry> tries = o.tries;
  std::sort(tries.begin(), tries.end(), [](const LayoutTry& a, const LayoutTry& b) {
    const double times[] = {a.s.value_or(kNever), b.s.value_or(kNever)};
    return times[0] != times[1] ? times[0] < times[1] : a.edges < b.edges;
  });
  return tries;
}

void finish_layouts(RunStory& story, const std::map<std::string, db::TaskRow>& rows) {
  for (LayoutSearch& o : story.layouts) {
    const auto row = rows.find(o.task);
    if (row != rows.end() && !row->second.te.empty()) finish(o, story, row->second);
  }
  std::sort(
      story.layouts.begin(), story.layouts.end(), [](const LayoutSearch& a, const LayoutSearch& b) {
        return a.tries.size() != b.tries.size() ? a.tries.size() > b.tries.size() : a.task < b.task;
      });
}

}  // namespace tenon::report
