// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/tune/frame.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

constexpr size_t kMostTasks = 12;
constexpr const char* kBold = "\033[1m";
constexpr const char* kFaint = "\033[2m";
constexpr const char* kGreen = "\033[32m";

std::string time_or_dash(const std::optional<double>& s) { return s ? time_text(*s) : "-"; }

// Labels and folders are words of others. Cut before it is coloured, so that colours do not count.
// The last column stays free: what erases the rest of a line would erase a letter there.
std::string fitted(const std::string& line, const FrameOptions& o, const char* style = "") {
  std::string text = escaped(line);
  const auto width = static_cast<size_t>(std::max(2, o.columns) - 1);
  if (text.size() > width) {
    text.resize(width);
  }
  return o.color && *style != '\0' ? style + text + "\033[0m" : text;
}

std::string default_line(const TuneProgress& p) {
  std::vector<std::string> written;
  for (const ModelProgress& m : p.models()) {
    if (m.written_s) {
      written.push_back(fmt::format("{} written at {}", m.directory, duration_text(*m.written_s)));
    }
  }
  const auto s = p.default_estimate_s();
  std::string line =
      s ? fmt::format("default  {}, sum of {} tasks", time_text(*s), p.tasks().size())
        : std::string("default  is being measured");
  return written.empty() ? line : line + fmt::format("; {}", fmt::join(written, ", "));
}

std::string failures_text(const TuneProgress& p) {
  std::vector<std::pair<std::string, int64_t>> kinds(p.failures().begin(), p.failures().end());
  std::sort(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
    return std::tie(b.second, a.first) < std::tie(a.second, b.first);
  });
  std::vector<std::string> words;
  for (const auto& [kind, n] : kinds) {
    words.push_back(fmt::format("{} {}", grouped(n), kind));
  }
  return words.empty() ? "" : fmt::format(" ({})", fmt::join(words, ", "));
}

// Nothing is counted while the best are timed again, which may take a while.
std::string again_text(const TuneProgress& p) {
  if (p.again() > 0) return fmt::format(", {} again", grouped(p.again()));
  return p.finals() > 0 ? fmt::format(", {} timed again", counted(p.finals(), "task")) : "";
}

std::string bar_line(const TuneProgress& p, double t, int columns) {
  const auto eta = p.eta_s(t);
  double done = 0;
  std::string clock = duration_text(t);
  if (p.budget_s() > 0) {
    done = t / p.budget_s();
    clock += " / " + duration_text(p.budget_s());
  }
  if (p.trials() > 0) {
    done = std::max(done, static_cast<double>(p.measured()) / static_cast<double>(p.trials()));
  }
  const int width = columns < 100 ? 14 : 22;
  const int filled = std::clamp(static_cast<int>(done * width), 0, width);
  return fmt::format("[{:#<{}}{:-<{}}] {}{}  {}{} measured{}  {} failed{}", "", filled, "",
                     width - filled, clock,
                     eta && p.ended().empty() ? "  eta " + duration_text(*eta) : "",
                     grouped(p.measured()), p.trials() > 0 ? " of " + grouped(p.trials()) : "",
                     again_text(p), grouped(p.failed()), failures_text(p));
}

std::string layouts_line(const LayoutProgress& l) {
  std::string line =
      fmt::format("layouts  {} tried, {} better", grouped(l.tried), grouped(l.better));
  if (l.decided) {
    line += l.calls > 0 ? fmt::format("; chosen for {} calls", grouped(l.calls))
                        : std::string("; kept as they were");
  }
  return line;
}

// Those that matter most first.
std::vector<const TaskProgress*> by_share(const TuneProgress& p) {
  std::vector<const TaskProgress*> tasks;
  for (const TaskProgress& t : p.tasks()) {
    tasks.push_back(&t);
  }
  std::sort(tasks.begin(), tasks.end(), [&](const auto* a, const auto* b) {
    const double shares[] = {p.share(*a), p.share(*b)};
    return shares[0] != shares[1] ? shares[0] > shares[1] : a < b;
  });
  return tasks;
}

std::string task_line(const TuneProgress& p, const TaskProgress& t, int name_width) {
  std::string name = fmt::format("{} {:.8}", t.label, t.key);
  if (static_cast<int>(name.size()) > name_width) {
    // The key's digits tell tasks of one label apart.
    const size_t room = static_cast<size_t>(std::max(1, name_width - 11));
    name = fmt::format("{:.{}}.. {:.8}", t.label, room, t.key);
  }
  return fmt::format("  {:<{}} {:>6} {:>10} {:>10} {:>4.0f} % {:>7}{}", name, name_width, t.calls,
                     time_or_dash(t.best_s), time_or_dash(t.start_s), 100 * p.share(t),
                     grouped(t.trials), t.key == p.last_task() && p.ended().empty() ? "  <-" : "");
}

void add_tasks(const TuneProgress& p, const FrameOptions& o, size_t room,
               std::vector<std::string>& lines) {
  if (room < 2 || p.tasks().empty()) {
    return;
  }
  constexpr int kNumbers = 52;
  const int name_width = std::clamp(o.columns - kNumbers, 12, 44);
  lines.push_back(fitted(fmt::format("  {:<{}} {:>6} {:>10} {:>10} {:>6} {:>7}", "task", name_width,
                                     "calls", "now", "was", "share", "trials"),
                         o, kFaint));
  const auto tasks = by_share(p);
  size_t shown = std::min({tasks.size(), kMostTasks, room - 1});
  const bool more = shown < tasks.size();
  shown -= more && shown == room - 1 ? 1 : 0;
  for (size_t i = 0; i < shown; ++i) {
    const TaskProgress& t = *tasks[i];
    const bool gained = t.best_s && t.start_s && *t.best_s < 0.98 * *t.start_s;
    lines.push_back(fitted(task_line(p, t, name_width), o, gained ? kGreen : ""));
  }
  if (more) {
    const double rest =
        std::accumulate(tasks.begin() + static_cast<std::ptrdiff_t>(shown), tasks.end(), 0.0,
                        [&](double sum, const TaskProgress* t) { return sum + p.share(*t); });
    lines.push_back(
        fitted(fmt::format("  {} more tasks, {:.0f} % together", tasks.size() - shown, 100 * rest),
               o, kFaint));
  }
}

std::vector<std::string> best_lines(const TuneProgress& p) {
  std::vector<std::string> lines;
  for (const ModelProgress& m : p.models()) {
    if (!m.default_s || !m.tuned_s || !m.ratio) {
      continue;
    }
    lines.push_back(fmt::format(
        "best     {}end to end {} against {}: {:.2f}x ({:.2f} to {:.2f}, interleaved), kept: {}",
        p.models().size() > 1 ? m.name + " " : "", time_text(*m.tuned_s), time_text(*m.default_s),
        *m.ratio, m.low.value_or(0), m.high.value_or(0), m.kept));
  }
  if (const auto best = p.estimate_s(); lines.empty() && best) {
    const auto start = p.default_estimate_s();
    lines.push_back(fmt::format("best     {}, sum of the best of its tasks{}", time_text(*best),
                                start ? fmt::format(" ({:.2f}x)", *start / *best) : ""));
  }
  return lines;
}

}  // namespace

std::vector<std::string> tune_frame(const TuneProgress& p, double t, const FrameOptions& o) {
  std::vector<std::string> lines;
  if (!p.begun()) {
    return lines;
  }
  const auto rows = static_cast<size_t>(std::max(3, o.rows - 1));  // the cursor's line is below
  std::vector<std::string> last = best_lines(p);
  if (!o.status.empty()) {
    last.push_back(o.status);
  }
  lines.push_back(fitted(default_line(p), o));
  lines.push_back(fitted(bar_line(p, t, o.columns), o));
  if (p.layouts().tried > 0 && rows > 4) {
    lines.push_back(fitted(layouts_line(p.layouts()), o));
  }
  const size_t used = lines.size() + last.size();
  add_tasks(p, o, rows > used ? rows - used : 0, lines);
  for (const std::string& line : last) {
    lines.push_back(fitted(line, o, kBold));
  }
  lines.resize(std::min(lines.size(), rows));
  return lines;
}

std::string tune_line(const TuneProgress& p, double t) {
  std::string line = fmt::format("t={:.0f} measured={} failed={}", t, p.measured(), p.failed());
  if (const LayoutProgress& l = p.layouts(); l.tried > 0) {
    line += fmt::format(" layouts={} better={}", l.tried, l.better);
  }
  if (const auto s = p.estimate_s()) {
    line += fmt::format(" best_ms={:.3g}", *s * 1e3);
  }
  if (const auto s = p.default_estimate_s()) {
    line += fmt::format(" default_ms={:.3g}", *s * 1e3);
  }
  if (const auto s = p.eta_s(t)) {
    line += fmt::format(" eta_s={:.0f}", *s);
  }
  return line;
}

}  // namespace tenon::tools
