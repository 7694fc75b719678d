// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/tune/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "files/file.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;

Json ms_or_null(double s) { return s > 0 && std::isfinite(s) ? Json(s * 1e3) : Json(nullptr); }

std::string model_text(const tune::ModelSummary& m) {
  if (m.kept != "tuned") {
    return fmt::format("{}  kept the {}  {}\n", escaped(m.name), escaped(m.kept),
                       escaped(m.directory.string()));
  }
  return fmt::format("{}  {} -> {}  {:.2f}x ({:.2f} to {:.2f})  {} of {} tasks tuned  {}\n",
                     escaped(m.name), time_text(m.times.a_s), time_text(m.times.b_s), m.times.ratio,
                     m.times.low, m.times.high, m.tuned, m.tasks, escaped(m.directory.string()));
}

Json model_json(const tune::ModelSummary& m) {
  return {{"name", m.name},
          {"directory", m.directory.string()},
          {"kept", m.kept},
          {"default_ms", ms_or_null(m.times.a_s)},
          {"tuned_ms", ms_or_null(m.times.b_s)},
          {"ratio", m.times.ratio},
          {"low", m.times.low},
          {"high", m.times.high},
          {"difference", m.times.difference},
          {"tasks", m.tasks},
          {"tuned", m.tuned},
          {"refused", m.refused}};
}

// A word for a file's name and for a shell.
std::string plain_word(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  return text;
}

std::string quoted(const fs::path& path) {
  const std::string text = path.string();
  const bool plain = text.find_first_of(" \t'\"\\$`*?<>|&;()") == std::string::npos;
  return plain ? text : "'" + text + "'";
}

}  // namespace

std::string summary_text(const tune::Summary& s, const TuneProgress& p) {
  std::string text;
  for (const tune::ModelSummary& m : s.models) {
    text += model_text(m);
    for (const std::string& refused : m.refused) text += fmt::format("  {}\n", escaped(refused));
  }
  if (!s.models.empty()) {
    return text;
  }
  for (const ModelProgress& m : p.models()) {
    text += fmt::format("{}  {} so far  {}\n", escaped(m.name), counted(m.tuned, "tuned task"),
                        escaped(m.directory));
  }
  return text;
}

Json summary_json(const tune::Summary& s, const TuneProgress& p,
                  const tune::SessionOptions& options) {
  Json models = Json::array();
  for (const tune::ModelSummary& m : s.models) {
    models.push_back(model_json(m));
  }
  Json tasks = Json::array();
  for (size_t i = 0; i < s.tasks.size() && i < p.tasks().size(); ++i) {
    const tune::TaskResult& r = s.tasks[i];
    tasks.push_back({{"key", p.tasks()[i].key},
                     {"label", p.tasks()[i].label},
                     {"calls", p.tasks()[i].calls},
                     {"default_ms", ms_or_null(r.start_s)},
                     {"best_ms", ms_or_null(r.best_s)},
                     {"origin", r.origin},
                     {"measured", r.measured},
                     {"failed", r.failed},
                     {"failures", r.failures}});
  }
  Json left = nullptr;
  if (options.budget_s > 0) {
    left = std::max(0.0, options.budget_s - s.spent_s);
  }
  return {{"schema", "tenon.tune/1"}, {"run", s.run},        {"reason", s.reason},
          {"models", models},         {"tasks", tasks},      {"measured", s.measured},
          {"again", s.again},         {"failed", s.failed},  {"spent_s", s.spent_s},
          {"budget_left_s", left},    {"seconds", s.seconds}};
}

std::string what_is_left(const tune::Summary& s, const tune::SessionOptions& options) {
  if (options.budget_s > 0) {
    return fmt::format("{} of budget left",
                       duration_text(std::max(0.0, options.budget_s - s.spent_s)));
  }
  const int64_t trials = options.tuner.trials;
  return fmt::format("{} of {} trials left", grouped(std::max<int64_t>(0, trials - s.measured)),
                     grouped(trials));
}

std::vector<Reproducer> write_reproducers(const std::vector<tune::TaskTuner::Reason>& reasons,
                                          const db::Database& db, const fs::path& folder,
                                          int threads) {
  std::vector<Reproducer> all;
  const auto tasks = db.tasks();
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  for (const tune::TaskTuner::Reason& r : reasons) {
    const auto task =
        std::find_if(tasks.begin(), tasks.end(), [&](const auto& t) { return t.key == r.task; });
    Reproducer one{r, "", ""};
    if (task != tasks.end()) {
      const fs::path te = fs::absolute(folder / (r.task + ".te"));
      const fs::path trace =
          fs::absolute(folder / (r.task + "-" + plain_word(r.outcome) + ".trace"));
      files::write_file(te.string(), task->te);
      files::write_file(trace.string(), r.trace);
      one.label = task->label;
      one.command = fmt::format("tenon bench --te {} --trace {} --threads {}", quoted(te),
                                quoted(trace), threads);
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace tenon::tools
