// SPDX-License-Identifier: Apache-2.0
#include "report/run/html_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "report/page/charts.h"
#include "report/page/markup.h"
#include "report/page/words.h"
#include "support/text.h"

namespace tenon::report {
namespace {

// What all tasks take in one run of each network.
struct Totals {
  double best_s = 0;
  double longest_s = 0;  // of one task, default or best
};

Totals totals(const RunStory& run) {
  Totals t;
  for (const TaskStory& task : run.tasks) {
    t.best_s += network_time(task, task.best_s).value_or(0);
    for (const Seconds s : {task.best_s, task.default_s}) {
      t.longest_s = std::max(t.longest_s, network_time(task, s).value_or(0));
    }
  }
  return t;
}

// `sort` is what script sorts by; cells without a value come last.
std::string cell(const char* name, const std::string& html, std::optional<double> sort,
                 const char* kind = "number") {
  return fmt::format("<td class=\"{}\" data-name=\"{}\"{}>{}</td>", kind, name,
                     sort ? fmt::format(" data-sort=\"{:.9g}\"", *sort) : "", html);
}

std::string gain_html(const TaskStory& t) {
  const auto gain = t.gain();
  if (!gain) return "–";
  const char* kind = !t.tuned || *gain < 1.005 ? "flat" : *gain < 1.2 ? "some" : "much";
  return fmt::format("<span class=\"gain {}\">{}</span>", kind, ratio_text(*gain));
}

// The default's time as an outline, the best's as a bar in it.
std::string before_after(const TaskStory& t, const Totals& all) {
  const double scale = all.longest_s > 0 ? 1000 / all.longest_s : 0;
  const double before = scale * network_time(t, t.default_s).value_or(0);
  const double now = scale * network_time(t, t.best_s).value_or(0);
  return fmt::format(
      "<svg class=\"bar\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" "
      "aria-hidden=\"true\">"
      "<path class=\"before\" d=\"M0 0H{0:.6g}V10H0z\"/><path class=\"now\" d=\"M0 "
      "0H{1:.6g}V10H0z\"/></svg>",
      before, now);
}

std::string default_html(const TaskStory& t) {
  if (t.default_s || t.default_outcome.empty() || t.default_outcome == "ok") {
    return time_or_dash(t.default_s);
  }
  return fmt::format("<span class=\"bad\">{}</span>", escape_html(t.default_outcome));
}

std::string task_row(const RunStory& run, const TaskStory& t, const Totals& all) {
  const Seconds now = network_time(t, t.best_s);
  const double share = now && all.best_s > 0 ? *now / all.best_s : 0;
  const Seconds rate = t.best_s && t.flops > 0 ? Seconds(t.flops / *t.best_s * 1e-9) : std::nullopt;
  std::string row = fmt::format(
      "<tr><th scope=\"row\" data-sort-text=\"{0}\"><a href=\"#task-{1}\">{0}</a>"
      "<small>{2}</small>{3}</th>",
      escape_html(t.label), escape_html(t.key), escape_html(t.shape.empty() ? t.key : t.shape),
      t.nodes.empty() ? "" : fmt::format("<small>{}</small>", escape_html(nodes_text(t))));
  row += cell("calls", fmt::format("{:g}", t.all_calls()), t.all_calls());
  row += cell("default", default_html(t), t.default_s);
  row += cell("best", time_or_dash(t.best_s), t.best_s);
  row += cell("gain", gain_html(t), t.gain());
  row += cell("in the network", before_after(t, all), now, "wide");
  row += cell("share", now ? fmt::format("{:.1f} %", 100 * share) : "–", share);
  row += cell("GFLOP/s", rate ? fmt::format("{:.1f}", *rate) : "–", rate);
  row += cell("trials", grouped(t.trials), static_cast<double>(t.trials));
  row += cell("failed", t.failed > 0 ? grouped(t.failed) : "0", static_cast<double>(t.failed));
  row += cell("over time", task_spark(run, t), t.gain(), "spark-cell");
  return row + "</tr>";
}

// ---- schedules -----------------------------------------------------------------------------------------------------

// The word that begins a loop decides its colour.
std::string loop_line(const std::string& line) {
  static constexpr const char* kWords[] = {"parallel",   "vectorized", "unrolled", "reduce",
                                           "tensorized", "thread",     "for"};
  const size_t begin = line.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  if (line[begin] == '#') return fmt::format("<i>{}</i>", escape_html(line));
  const size_t note = line.find("  #");
  const std::string code = line.substr(0, note);
  const std::string tail =
      note == std::string::npos ? "" : fmt::format("<i>{}</i>", escape_html(line.substr(note)));
  for (const std::string word : kWords) {
    if (code.compare(begin, word.size() + 1, word + " ") == 0) {
      return fmt::format("{}<b class=\"loop-{}\">{}</b>{}{}", code.substr(0, begin), word, word,
                         escape_html(code.substr(begin + word.size())), tail);
    }
  }
  return escape_html(code) + tail;
}

std::string loops_html(const std::string& loops) {
  std::string out;
  std::istringstream lines(loops);
  for (std::string line; std::getline(lines, line);) out += loop_line(line) + "\n";
  return out;
}

std::string schedule_html(const char* title, const std::string& about, const ScheduleText& s) {
  std::string out = fmt::format("<section class=\"schedule\"><h4>{} <small>{}</small></h4>", title,
                                escape_html(about));
  if (!s.problem.empty()) {
    out += fmt::format("<p class=\"note\">No loop nest: {}</p>", escape_html(s.problem));
  } else {
    out += fmt::format("<pre class=\"loops\" tabindex=\"0\">{}</pre>", loops_html(s.loops));
  }
  if (!s.trace.empty()) {
    out += fmt::format(
        "<details class=\"steps\"><summary>{} steps</summary><pre "
        "tabindex=\"0\">{}</pre></details>",
        std::count(s.trace.begin(), s.trace.end(), '\n'), escape_html(s.trace));
  }
  return out + "</section>";
}

std::string schedules_of(const TaskStory& t) {
  std::string out;
  if (!t.start.json.empty()) {
    out += schedule_html("default", t.origin + " " + time_or_dash(t.default_s), t.start);
  }
  if (!t.winner.json.empty()) {
    out += schedule_html("tuned", time_or_dash(t.best_s), t.winner);
  }
  if (out.empty()) return "<p class=\"note\">No schedule of this task is in the database.</p>";
  const bool searched = t.winner.json.empty() && t.trials > 1;
  return fmt::format("<div class=\"pair\">{}</div>{}", out,
                     searched ? "<p class=\"note\">Nothing faster was found.</p>" : "");
}

std::string task_fold(const RunStory& run, const TaskStory& t, bool open) {
  const std::string chart = task_chart(t);
  return fmt::format(
      "<details class=\"task card\" id=\"task-{}\"{}><summary><span class=\"name\">{} "
      "<small>{}</small></span><span class=\"times\">{} → {}</span>{}{}</summary>{}{}{}</details>",
      escape_html(t.key), open ? " open" : "", escape_html(t.label), escape_html(t.shape),
      default_html(t), time_or_dash(t.best_s), gain_html(t), task_spark(run, t),
      chart.empty()
          ? ""
          : "<p class=\"note\">Each dot is a measured program, each tick at the top one "
            "that failed; over trials of this task. Finalists are timed again at the end, so "
            "that the times above can differ.</p>" +
                chart,
      schedules_of(t),
      t.te.empty() ? ""
                   : fmt::format("<details class=\"steps\"><summary>expression {}</summary><pre "
                                 "tabindex=\"0\">{}</pre></details>",
                                 escape_html(t.key), escape_html(t.te)));
}

std::string failure_row(const Failure& f, int64_t most) {
  const std::string again =
      f.command.empty()
          ? ""
          : fmt::format(
                "<details class=\"steps\"><summary>see it again</summary><pre class=\"copy\" "
                "tabindex=\"0\">{}</pre></details>",
                escape_html(f.command));
  return fmt::format(
      "<li><div class=\"kind\"><b>{}</b><span>{}</span><svg class=\"bar\" viewBox=\"0 0 1000 10\" "
      "preserveAspectRatio=\"none\" aria-hidden=\"true\"><path class=\"bad\" d=\"M0 "
      "0H{:.6g}V10H0z\"/></svg></div><div class=\"first\"><p>{}</p>{}</div></li>",
      escape_html(f.outcome), f.count > 0 ? grouped(f.count) : "",
      1000.0 * static_cast<double>(f.count) / static_cast<double>(std::max<int64_t>(most, 1)),
      f.error.empty()
          ? "<span class=\"note\">its error was not kept</span>"
          : fmt::format("<span class=\"note\">first in {}:</span> <code>{}</code>",
                        escape_html(f.label.empty() ? f.task : f.label), escape_html(f.error)),
      again);
}

}  // namespace

std::string task_table(const RunStory& run) {
  if (run.tasks.empty()) return "";
  const Totals all = totals(run);
  std::string rows;
  for (const TaskStory& t : run.tasks) rows += task_row(run, t, all);
  return "<table class=\"tasks\"><thead><tr><th scope=\"col\">task</th><th scope=\"col\">calls</th>"
         "<th scope=\"col\">default</th><th scope=\"col\">best</th><th scope=\"col\">gain</th>"
         "<th scope=\"col\" class=\"wide\">in the network</th><th scope=\"col\">share</th>"
         "<th scope=\"col\">GFLOP/s</th><th scope=\"col\">trials</th><th scope=\"col\">failed</th>"
         "<th scope=\"col\">over time</th></tr></thead><tbody>" +
         rows + "</tbody></table>";
}

std::string task_schedules(const RunStory& run) {
  if (run.tasks.empty()) return "";
  std::string out = "<h2 class=\"loose\" id=\"schedules\">Winning schedules</h2>";
  for (size_t i = 0; i < run.tasks.size(); ++i) out += task_fold(run, run.tasks[i], i == 0);
  return out;
}

std::string failure_table(const RunStory& run) {
  if (run.failures.empty()) return "<p class=\"note\">Nothing failed.</p>";
  std::string rows;
  for (const Failure& f : run.failures) rows += failure_row(f, run.failures[0].count);
  return "<ul class=\"failures\">" + rows + "</ul>";
}

}  // namespace tenon::report
