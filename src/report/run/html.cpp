// SPDX-License-Identifier: Apache-2.0
#include "report/run/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/page/charts.h"
#include "report/page/markup.h"
#include "report/page/page.h"
#include "report/page/words.h"
#include "report/run/html_layouts.h"
#include "report/run/html_tasks.h"
#include "support/text.h"

namespace tenon::report {
namespace {

const char* tone_kind(Tone tone) {
  switch (tone) {
    case Tone::kFaster:
      return "faster";
    case Tone::kSame:
      return "same";
    case Tone::kSlower:
      return "slower";
    case Tone::kUnknown:
      return "unknown";
  }
  return "";
}

std::string duel_row(const char* kind, const char* name, Seconds s, double longest) {
  return fmt::format(
      "<li class=\"{0}\"><span>{1}</span><svg class=\"bar\" viewBox=\"0 0 1000 10\" "
      "preserveAspectRatio=\"none\" aria-hidden=\"true\"><path class=\"{0}\" d=\"M0 "
      "0H{2:.6g}V10H0z\"/></svg><b>{3}</b></li>",
      kind, name, 1000 * s.value_or(0) / longest, time_or_dash(s));
}

std::string duel(const Verdict& v) {
  if (!v.default_s || !v.tuned_s) return "";
  const double longest = std::max(*v.default_s, *v.tuned_s);
  return "<ul class=\"duel\">" + duel_row("before", "default", v.default_s, longest) +
         duel_row("now", "tuned", v.tuned_s, longest) + "</ul>";
}

std::string verdict_html(const RunStory& run, const ModelStory& m) {
  const Verdict v = verdict(run, m);
  return fmt::format(
      "<section class=\"verdict card {}\"><h2>{}</h2><p class=\"headline\">{}</p>{}<p "
      "class=\"note\">{}</p></section>",
      tone_kind(v.tone), escape_html(m.name), escape_html(v.headline), duel(v),
      escape_html(v.detail));
}

std::string title_of(const RunStory& run) {
  std::string names;
  for (const ModelStory& m : run.models) names += (names.empty() ? "" : ", ") + m.name;
  return names.empty() ? (run.model.empty() ? "run " + run.id : run.model) : names;
}

std::string disturbed_html(const RunStory& run) {
  if (run.disturbed.empty()) return "";
  return fmt::format("<p class=\"disturbed\">{}</p>", escape_html(disturbed_text(run)));
}

std::string header(const RunStory& run) {
  std::string out = fmt::format(
      "<header><p class=\"eyebrow\">tenon · tuning report</p><h1>{}</h1><p class=\"ending "
      "{}\">{}</p>"
      "</header>",
      escape_html(title_of(run)), run.reason.empty() ? "open" : "closed", escape_html(ending(run)));
  out += disturbed_html(run);
  std::string models;
  for (const ModelStory& m : run.models) models += verdict_html(run, m);
  if (models.empty()) models = verdict_html(run, {});
  out += fmt::format("<div class=\"verdicts\">{}</div>", models);
  std::string list;
  for (const Fact& f : facts(run)) {
    list += fmt::format("<div class=\"{0}\"><dt>{0}</dt><dd>{1}</dd></div>", f.name,
                        escape_html(f.value));
  }
  return out + fmt::format("<dl class=\"facts\">{}</dl>", list);
}

std::string progress(const RunStory& run) {
  std::string body;
  for (size_t i = 0; i < run.models.size(); ++i) {
    const std::string chart = progress_chart(run, run.models[i], i);
    if (chart.empty()) continue;
    const std::string name = escape_html(run.models[i].name);
    body += run.models.size() > 1 ? fmt::format("<h3>{}</h3>{}", name, chart) : chart;
  }
  if (body.empty()) {
    return section("progress", "Best latency",
                   run.rounds == 0
                       ? "The run has no round of tuning."
                       : "No network has a time for each of its tasks, so there is no sum.",
                   "");
  }
  return section("progress", "Best latency",
                 "The sum over the network's tasks of calls × best verified time; at the end the "
                 "finalists are "
                 "timed again. What the whole network takes stands above.",
                 body);
}

std::string thinking(const RunStory& run) {
  const std::string wall = wall_time_chart(run);
  const std::string ranking = ranking_chart(run);
  return "<div class=\"two\">" +
         section("wall", "Where the time went",
                 wall.empty() ? "The run does not say."
                              : "Wall time of the whole run. " + escape_html(kinds_text(run)),
                 wall) +
         section("ranking", "Ranking quality",
                 ranking.empty()
                     ? "The cost model was never trained in this run."
                     : "How the cost model ranked each round before it was measured: dots "
                       "are rounds, lines means of five. Guessing orders half of the pairs "
                       "right.",
                 ranking) +
         "</div>";
}

std::string footer(const RunStory& run) {
  std::string out = "<footer><p>";
  if (!run.command.empty()) out += fmt::format("<code>{}</code><br>", escape_html(run.command));
  if (!run.target.empty())
    out += fmt::format("target <code>{}</code><br>", escape_html(run.target));
  if (!run.unreadable.empty()) out += unreadable_text(run) + "<br>";
  return out +
         fmt::format("made by <code>tenon report {}</code></p></footer>", escape_html(run.id));
}

}  // namespace

std::string to_html(const RunStory& run) {
  return page(
      title_of(run),
      header(run) + progress(run) +
          section("tasks", "Tasks",
                  run.tasks.empty() ? "The run names no task."
                                    : "Longest in the network first. The bar is what all calls of "
                                      "a task take now, its muted end what tuning saved.",
                  task_table(run)) +
          pairs_section(run) + layouts_section(run) + thinking(run) +
          section("failures", "Failures",
                  run.failures.empty() ? "" : "By kind, with the first of each.",
                  failure_table(run)) +
          task_schedules(run) + footer(run));
}

}  // namespace tenon::report
