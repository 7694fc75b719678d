// SPDX-License-Identifier: Apache-2.0
#include "report/page/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/page/markup.h"
#include "report/page/plot.h"
#include "report/page/words.h"
#include "support/text.h"

namespace tenon::report {
namespace {

constexpr double kShownSlower =
    4;  // than the default: what is slower lies at the edge of a task's chart
constexpr size_t kSmoothed = 5;  // rounds in the mean that a line of the ranking shows

// ---- progress ------------------------------------------------------------------------------------------------------

enum class Over { kTime, kLogTime, kTrials };

struct Progress {
  const RunStory& run;
  std::vector<Point> points;  // from the default on
  double default_s;
};

Axis progress_axis(const Progress& p, Over over) {
  if (over == Over::kTrials) {
    return {0, std::max<double>(1, static_cast<double>(p.run.measured)), false};
  }
  const double end = std::max(p.run.spent_s, p.points.back().at_s);
  if (over == Over::kTime) return {0, std::max(end, 1e-3), false};
  double first = end;
  for (const Point& q : p.points) {
    if (q.at_s > 0) first = std::min(first, q.at_s);
  }
  return {std::max(first / 2, end / 1e5), std::max(end, 1e-3), true};
}

std::string progress_readout(const Point& q, double default_s) {
  return fmt::format("{} ({}) after {}, {} trials", time_or_dash(q.s), ratio_text(default_s / q.s),
                     duration_text(q.at_s), grouped(q.trial));
}

std::string progress_plot(const Progress& p, Over over) {
  Plot plot;
  plot.kind = "progress";
  plot.x = progress_axis(p, over);
  double low = p.default_s;
  double high = p.default_s;
  Values values;
  for (const Point& q : p.points) {
    low = std::min(low, q.s);
    high = std::max(high, q.s);
    values.emplace_back(over == Over::kTrials ? static_cast<double>(q.trial) : q.at_s, q.s);
  }
  plot.y = latency_axis(low, high);
  plot.x_ticks = over == Over::kTrials ? count_ticks(plot.x) : clock_ticks(plot.x);
  plot.y_ticks = latency_ticks(plot.y);
  const std::string best = step_path(plot.x, plot.y, values, plot.x.high);
  // Areas compare from zero only.
  plot.marks = {{"area", plot.y.low == 0 ? area_path(best) : ""},
                {"level", level_path(plot.y, p.default_s)},
                {"best", best}};
  for (size_t i = 0; i < p.points.size(); ++i) {
    plot.readouts.push_back({plot.x.place(values[i].first), plot.y.place(values[i].second),
                             progress_readout(p.points[i], p.default_s)});
  }
  const Point& last = p.points.back();
  plot.labels = {{"above", 1, plot.y.place(p.default_s), "default " + time_or_dash(p.default_s)},
                 {"below strong", 1, plot.y.place(last.s), "best " + time_or_dash(last.s)}};
  plot.says = fmt::format("Estimated latency over {}: from {} to {}",
                          over == Over::kTrials ? "trials" : "time", time_or_dash(p.default_s),
                          time_or_dash(last.s));
  return to_html(plot);
}

// ---- one task ------------------------------------------------------------------------------------------------------

// The fastest so far at each trial at which it changed.
Values running_best(const TaskStory& t) {
  Values out;
  for (size_t i = 0; i < t.tried.size(); ++i) {
    const Seconds s = t.tried[i];
    if (s && (out.empty() || *s < out.back().second)) out.emplace_back(static_cast<double>(i), *s);
  }
  return out;
}

std::string failed_path(const TaskStory& t, const Axis& x) {
  std::string d;
  for (size_t i = 0; i < t.tried.size(); ++i) {
    if (!t.tried[i]) d += fmt::format("M{:.6g} 0v40", 1000 * x.place(static_cast<double>(i)));
  }
  return d;
}

// ---- ranking -------------------------------------------------------------------------------------------------------

struct Quality {
  const char* kind;
  double RankingPoint::*value;
};
constexpr Quality kQualities[] = {{"one", &RankingPoint::pairwise},
                                  {"two", &RankingPoint::recall},
                                  {"three", &RankingPoint::top}};

Values smoothed(const std::vector<RankingPoint>& points, double RankingPoint::*value) {
  Values out;
  double sum = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    sum += points[i].*value;
    if (i >= kSmoothed) sum -= points[i - kSmoothed].*value;
    const size_t n = std::min(i + 1, kSmoothed);
    out.emplace_back(static_cast<double>(points[i].round), sum / static_cast<double>(n));
  }
  return out;
}

std::string legend(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string out = "<ul class=\"legend\">";
  for (const auto& [kind, text] : rows) {
    out += fmt::format("<li><i class=\"{}\"></i>{}</li>", kind, text);
  }
  return out + "</ul>";
}

}  // namespace

std::string progress_chart(const RunStory& run, const ModelStory& model, size_t id) {
  if (model.estimate.empty() || !model.default_estimate_s) return "";
  Progress p{run, {{0, 0, *model.default_estimate_s}}, *model.default_estimate_s};
  p.points.insert(p.points.end(), model.estimate.begin(), model.estimate.end());
  struct Choice {
    Over over;
    const char* name;
  };
  constexpr Choice kChoices[] = {
      {Over::kTime, "time"}, {Over::kLogTime, "time, log"}, {Over::kTrials, "trials"}};
  std::string inputs, plots;
  for (size_t i = 0; i < std::size(kChoices); ++i) {
    inputs += fmt::format(
        "<label><input type=\"radio\" name=\"over{0}\" value=\"{1}\"{2}><span>{3}</span></label>",
        id, i, i == 0 ? " checked" : "", kChoices[i].name);
    plots +=
        fmt::format("<div class=\"choice c{}\">{}</div>", i, progress_plot(p, kChoices[i].over));
  }
  return fmt::format(
      "<div class=\"switched\"><fieldset "
      "class=\"switch\"><legend>over</legend>{}</fieldset>{}</div>",
      inputs, plots);
}

std::string task_spark(const RunStory& run, const TaskStory& t) {
  if (t.best.empty() || !t.default_s) return "";
  Axis y{0, *t.default_s, false};
  const Axis x{0, std::max(run.spent_s, 1e-3), false};
  Values values = {{0, *t.default_s}};
  for (const Point& p : t.best) {
    values.emplace_back(p.at_s, p.s);
    y.high = std::max(y.high, p.s);
  }
  y.high *= 1.08;
  const std::string best = step_path(x, y, values, x.high);
  return sparkline(
      {{"area", area_path(best)}, {"level", level_path(y, *t.default_s)}, {"best", best}},
      fmt::format("from {} to {}", time_or_dash(t.default_s), time_or_dash(t.best_s)));
}

std::string task_chart(const TaskStory& t) {
  const Values best = running_best(t);
  if (best.empty() || t.tried.size() < 2) return "";
  Plot plot;
  plot.kind = "task";
  plot.x = {0, static_cast<double>(t.tried.size()), false};
  Values all;
  double slowest = 0;
  for (size_t i = 0; i < t.tried.size(); ++i) {
    if (!t.tried[i]) continue;
    all.emplace_back(static_cast<double>(i), *t.tried[i]);
    slowest = std::max(slowest, *t.tried[i]);
  }
  const double fastest = best.back().second;
  const double from = std::max(t.default_s.value_or(fastest), fastest);
  const double high = std::max(from, std::min(slowest, kShownSlower * from));
  plot.y = {fastest * 0.8, high * 1.1, true};
  plot.x_ticks = count_ticks(plot.x);
  plot.y_ticks = latency_ticks(plot.y);
  plot.marks = {{"dots", dots_path(plot.x, plot.y, all)}, {"failed", failed_path(t, plot.x)}};
  if (t.default_s) {
    plot.marks.push_back({"level", level_path(plot.y, *t.default_s)});
    plot.labels.push_back(
        {"above", 1, plot.y.place(*t.default_s), "default " + time_or_dash(t.default_s)});
  }
  plot.marks.push_back({"best", step_path(plot.x, plot.y, best, plot.x.high)});
  plot.labels.push_back(
      {"below strong", 1, plot.y.place(fastest), "best " + time_or_dash(fastest)});
  for (const auto& [trial, s] : best) {
    plot.readouts.push_back({plot.x.place(trial), plot.y.place(s),
                             fmt::format("{} at trial {:.0f}", time_or_dash(s), trial)});
  }
  plot.says = fmt::format("Times of {} programs of this task; the best is {}", t.tried.size(),
                          time_or_dash(fastest));
  return to_html(plot);
}

std::string ranking_chart(const RunStory& run) {
  if (run.ranking.empty()) return "";
  Plot plot;
  plot.kind = "ranking";
  plot.x = {static_cast<double>(run.ranking.front().round),
            static_cast<double>(run.ranking.back().round), false};
  plot.y = {0, 1, false};
  plot.x_ticks = count_ticks(plot.x);
  for (const double v : {0.0, 0.25, 0.5, 0.75, 1.0})
    plot.y_ticks.push_back({v, fmt::format("{:.2f}", v)});
  for (const Quality& q : kQualities) {
    Values each;
    for (const RankingPoint& p : run.ranking)
      each.emplace_back(static_cast<double>(p.round), p.*q.value);
    plot.marks.push_back({std::string("dots ") + q.kind, dots_path(plot.x, plot.y, each)});
  }
  for (const Quality& q : kQualities) {
    plot.marks.push_back(
        {std::string("line ") + q.kind, line_path(plot.x, plot.y, smoothed(run.ranking, q.value))});
  }
  for (const RankingPoint& p : run.ranking) {
    plot.readouts.push_back({plot.x.place(static_cast<double>(p.round)), p.pairwise,
                             fmt::format("round {}: pairs {:.2f}, recall {:.2f}, top {:.2f}",
                                         p.round, p.pairwise, p.recall, p.top)});
  }
  const RankingPoint& last = run.ranking.back();
  plot.says = fmt::format("Ranking quality over rounds; pairwise accuracy at the end {:.2f}",
                          last.pairwise);
  return legend({{"one", "pairs ordered right"},
                 {"two", fmt::format("best {} among its first {}", last.k, last.k)},
                 {"three", fmt::format("speed of its first {} against the best", last.k)}}) +
         to_html(plot);
}

std::string wall_time_chart(const RunStory& run) {
  const auto parts = wall_time(run);
  double all = 0;
  for (const auto& [name, s] : parts) all += s;
  if (all <= 0) return "";
  std::string bars, rows, says = "Wall time:";
  double at = 0;
  for (const auto& [name, s] : parts) {
    const std::string kind = "part-" + escape_html(name);
    bars += fmt::format("<path class=\"{}\" d=\"M{:.6g} 0h{:.6g}v1000H{:.6g}z\"/>", kind,
                        1000 * at / all, 1000 * s / all, 1000 * at / all);
    at += s;
    says += fmt::format(" {} {:.0f} %", name, 100 * s / all);
    rows += fmt::format(
        "<li><i class=\"{}\"></i><b>{}</b><span>{}</span><em>{}</em><em>{:.1f} %</em></li>", kind,
        escape_html(name), part_meaning(name), duration_text(s), 100 * s / all);
  }
  return fmt::format(
      "<svg class=\"stack\" viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"{}\">{}</svg><ul class=\"parts\">{}</ul>",
      escape_html(says), bars, rows);
}

}  // namespace tenon::report
