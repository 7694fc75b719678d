// SPDX-License-Identifier: Apache-2.0
#include "report/run/markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/network/network_text.h"
#include "report/page/markup.h"
#include "report/page/words.h"
#include "support/text.h"

namespace tenon::report {
namespace {

// A fence longer than any run of backticks inside, so that no text can end it.
std::string fenced(const std::string& text) {
  size_t longest = 0;
  size_t now = 0;
  for (const char c : text) {
    now = c == '`' ? now + 1 : 0;
    longest = std::max(longest, now);
  }
  const std::string fence(std::max<size_t>(3, longest + 1), '`');
  return fence + "\n" + text + (text.ends_with('\n') ? "" : "\n") + fence + "\n\n";
}

std::string head(const RunStory& run) {
  std::string out = fmt::format("# Tuning run {}\n\n", escape_markdown(run.id));
  for (const ModelStory& m : run.models) {
    const Verdict v = verdict(run, m);
    out += fmt::format("**{}: {}**", escape_markdown(m.name), v.headline);
    if (v.default_s && v.tuned_s) {
      out += fmt::format(", {} → {}", time_or_dash(v.default_s), time_or_dash(v.tuned_s));
    }
    out += fmt::format("  \n{}\n\n", escape_markdown(v.detail));
  }
  if (run.models.empty()) out += fmt::format("**{}**\n\n", verdict(run, {}).headline);
  out += fmt::format("- {}\n", ending(run));
  if (!run.disturbed.empty()) out += fmt::format("- {}\n", escape_markdown(disturbed_text(run)));
  for (const Fact& f : facts(run))
    out += fmt::format("- {}: {}\n", f.name, escape_markdown(f.value));
  if (!run.command.empty()) out += fmt::format("- command: {}\n", escape_markdown(run.command));
  if (!run.unreadable.empty()) out += fmt::format("- {}\n", unreadable_text(run));
  return out + "\n";
}

std::string task_rows(const RunStory& run) {
  if (run.tasks.empty()) return "The run names no task.\n\n";
  double all = 0;
  for (const TaskStory& t : run.tasks) all += network_time(t, t.best_s).value_or(0);
  std::string out =
      "| task | calls | default | best | gain | share | trials | failed |\n"
      "|---|--:|--:|--:|--:|--:|--:|--:|\n";
  for (const TaskStory& t : run.tasks) {
    const Seconds now = network_time(t, t.best_s);
    const bool broken = !t.default_s && !t.default_outcome.empty();
    out += fmt::format("| {} | {:g} | {} | {} | {} | {} | {} | {} |\n",
                       escape_markdown(task_name(t)) +
                           (t.nodes.empty() ? "" : ": " + escape_markdown(nodes_text(t))),
                       t.all_calls(),
                       broken ? escape_markdown(t.default_outcome) : time_or_dash(t.default_s),
                       time_or_dash(t.best_s), t.gain() ? ratio_text(*t.gain()) : "–",
                       now && all > 0 ? fmt::format("{:.1f} %", 100 * *now / all) : "–",
                       grouped(t.trials), grouped(t.failed));
  }
  return out + "\n";
}

std::string failure_rows(const RunStory& run) {
  if (run.failures.empty()) return "Nothing failed.\n\n";
  std::string out;
  for (const Failure& f : run.failures) {
    out += fmt::format("- **{}**{}", escape_markdown(f.outcome),
                       f.count > 0 ? " " + grouped(f.count) : "");
    if (!f.error.empty()) {
      out += fmt::format("; first in {}: {}", escape_markdown(f.label.empty() ? f.task : f.label),
                         escape_markdown(f.error));
    }
    out += "\n";
  }
  return out + "\n";
}

std::string ranking_rows(const RunStory& run) {
  if (run.ranking.empty()) return "The cost model was never trained in this run.\n\n";
  const size_t n = std::min<size_t>(5, run.ranking.size());
  RankingPoint mean;
  for (size_t i = run.ranking.size() - n; i < run.ranking.size(); ++i) {
    mean.pairwise += run.ranking[i].pairwise / static_cast<double>(n);
    mean.recall += run.ranking[i].recall / static_cast<double>(n);
    mean.top += run.ranking[i].top / static_cast<double>(n);
  }
  const int64_t k = run.ranking.back().k;
  return fmt::format(
      "Mean of the last {}: {:.2f} of the pairs ordered right, {:.2f} of the best {} among "
      "its "
      "first {}, its first {} at {:.2f} of the best speed.\n\n",
      counted(n, "round"), mean.pairwise, mean.recall, k, k, k, mean.top);
}

std::string wall_rows(const RunStory& run) {
  std::string out;
  for (const auto& [name, s] : wall_time(run)) {
    out += fmt::format("- {} {} {}\n", escape_markdown(name), duration_text(s), part_meaning(name));
  }
  if (!run.kinds.empty()) out += "\n" + kinds_text(run) + "\n";
  return out.empty() ? "" : "## Where the time went\n\n" + out + "\n";
}

std::string pair_rows(const RunStory& run) {
  if (run.pairs.empty()) return "";
  std::string out = fmt::format(
      "## Pairs\n\n{}\n\n| pair | calls | one task | two | taken |\n"
      "|---|--:|--:|--:|---|\n",
      escape_markdown(pairs_text(run)));
  for (const PairTry& p : run.pairs) {
    out += fmt::format("| {} | {} | {} | {} | {} |\n", escape_markdown(p.label), p.calls,
                       time_or_dash(p.s), time_or_dash(p.apart_s), p.taken ? "yes" : "no");
  }
  return out + "\n";
}

std::string layout_rows(const RunStory& run) {
  std::string out;
  for (const LayoutSearch& o : run.layouts) {
    out += fmt::format("### {} {}\n\n| layout | time | ratio | taken by |\n|---|--:|--:|--:|\n",
                       escape_markdown(o.label), escape_markdown(o.shape));
    for (const LayoutTry& t : by_time(o)) {
      const auto ratio = gain(o, t);
      out += fmt::format(
          "| {} | {} | {} | {} |\n", escape_markdown(t.point), t.s ? time_or_dash(t.s) : "failed",
          ratio ? ratio_text(*ratio) : "–",
          run.layouts_decided && t.calls > 0 ? counted(static_cast<size_t>(t.calls), "call") : "–");
    }
    out += "\n";
  }
  for (const ModelStory& m : run.models) {
    if (m.picture) {
      out += fmt::format("### {} along its graph\n\n", escape_markdown(m.name)) +
             fenced(to_text(*m.picture));
    }
  }
  if (out.empty()) return "";
  return fmt::format("## Layouts\n\n{}\n\n{}", escape_markdown(layouts_text(run)), out);
}

std::string winners(const RunStory& run) {
  std::string out;
  for (const TaskStory& t : run.tasks) {
    if (t.winner.json.empty()) continue;
    out += fmt::format("### {}: {} → {}\n\n", escape_markdown(task_name(t)),
                       time_or_dash(t.default_s), time_or_dash(t.best_s));
    out += t.winner.problem.empty()
               ? fenced(t.winner.loops)
               : fmt::format("No loop nest: {}\n\n", escape_markdown(t.winner.problem));
  }
  return out.empty() ? "" : "## Winning loop nests\n\n" + out;
}

}  // namespace

std::string to_markdown(const RunStory& run) {
  return head(run) + "## Tasks\n\n" + task_rows(run) + pair_rows(run) + layout_rows(run) +
         "## Failures\n\n" + failure_rows(run) + "## Ranking quality\n\n" + ranking_rows(run) +
         wall_rows(run) + winners(run);
}

}  // namespace tenon::report
