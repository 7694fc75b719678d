// SPDX-License-Identifier: Apache-2.0
#include "report/page/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "support/text.h"

namespace tenon::report {
namespace {

constexpr double kMostlySpent = 0.9;  // of a budget

// Differences below this are not worth a word, whatever the interval says.
constexpr double kSame = 0.005;

Tone tone_of(double ratio, double low, double high) {
  if (low > 1 && ratio > 1 + kSame) return Tone::kFaster;
  if (high < 1 && ratio < 1 - kSame) return Tone::kSlower;
  return Tone::kSame;
}

std::string headline_of(Tone tone, double ratio) {
  switch (tone) {
    case Tone::kFaster:
      return ratio_text(ratio) + " faster";
    case Tone::kSlower:
      return ratio_text(ratio) + ", slower";
    default:
      return "no significant gain";
  }
}

Verdict measured_verdict(const NetworkResult& n) {
  Verdict v;
  v.measured = true;
  v.default_s = n.default_s;
  v.tuned_s = n.tuned_s;
  const bool kept_default = n.kept.starts_with("default");
  const double ratio = n.ratio.value_or(*n.default_s / *n.tuned_s);
  v.tone = tone_of(ratio, n.low.value_or(ratio), n.high.value_or(ratio));
  v.headline = headline_of(v.tone, ratio);
  v.detail = "whole network, measured turn by turn with the default";
  if (n.low && n.high) {
    v.detail += fmt::format("; 95 % interval {} to {}", ratio_text(*n.low), ratio_text(*n.high));
  }
  if (kept_default) {
    v.headline = v.tone == Tone::kSame ? "no significant gain, the default was kept"
                                       : "the default was kept";
    v.tone = Tone::kSame;
    const size_t colon = n.kept.find(':');
    if (colon != std::string::npos) v.detail = n.kept.substr(colon + 2) + "; " + v.detail;
  } else if (n.tasks > 0) {
    v.detail += fmt::format("; {} of {} tasks with a tuned schedule", n.tuned, n.tasks);
  }
  return v;
}

Verdict nothing(const RunStory& run) {
  Verdict v;
  v.headline = "no result";
  if (run.measured > 0 && run.failed >= run.measured) {
    v.detail = fmt::format("none of {} programs could be measured", grouped(run.measured));
  } else if (run.rounds == 0) {
    v.detail = "the run has no round of tuning";
  } else {
    v.detail = "not every task of the network has a time";
  }
  return v;
}

std::string machine_of(const std::string& fingerprint) {
  std::vector<std::string> fields;
  std::istringstream in(fingerprint);
  for (std::string f; std::getline(in, f, ';');) fields.push_back(f);
  if (fields.size() < 4) return fingerprint;
  std::string text = fields[3].empty() ? fields[1] : fields[3] + ", " + fields[1];
  for (size_t i = 4; i < fields.size(); ++i) {
    if (fields[i].starts_with("cores=")) text += ", " + fields[i].substr(6) + " cores";
    if (fields[i].starts_with("vector=")) {
      text += ", vectors of " + fields[i].substr(7, fields[i].find('x') - 7) + " bytes";
    }
  }
  return text;
}

}  // namespace

std::string page_time(double seconds) {
  std::string text = time_text(seconds);
  if (text.ends_with("us")) text.replace(text.size() - 2, 2, "µs");
  return text;
}

std::string time_or_dash(Seconds s) { return s ? page_time(*s) : "–"; }

std::string ratio_text(double ratio) {
  return ratio < 9.995 ? fmt::format("{:.2f}×", ratio) : fmt::format("{:.1f}×", ratio);
}

Verdict verdict(const RunStory& run, const ModelStory& model) {
  if (model.network && model.network->default_s && model.network->tuned_s) {
    return measured_verdict(*model.network);
  }
  const Seconds best = model.best_estimate_s();
  if (!best || !model.default_estimate_s) return nothing(run);
  Verdict v;
  v.default_s = model.default_estimate_s;
  v.tuned_s = best;
  const double ratio = *v.default_s / *v.tuned_s;
  v.tone = tone_of(ratio, ratio, ratio);
  v.headline = "≈ " + headline_of(v.tone, ratio);
  v.detail = "sum of the tasks; the whole network was not compared";
  if (model.network && !model.network->kept.empty()) v.detail += " (" + model.network->kept + ")";
  return v;
}

std::string ending(const RunStory& run) {
  // Time is kept for comparing networks at the end, which may take less.
  const bool early = run.spent_s < kMostlySpent * run.budget_s;
  if (run.reason == "budget" && early) return "finished: the time for searching was used up";
  if (run.reason == "budget") return "finished: the budget was used up";
  if (run.reason == "trials") return "finished: the trials were used up";
  if (run.reason == "exhausted") return "finished: nothing was left to try";
  if (run.reason == "interrupted") return "interrupted; the same command goes on";
  if (!run.reason.empty()) return "finished: " + run.reason;
  return run.finished.empty() ? "cut off, or still going on" : "finished";
}

std::string history_text(const events::HistoryUsed& e) {
  std::string out = e.from.empty() ? "none" : "";
  if (!e.from.empty()) {
    out = fmt::format("{} of {}", counted(static_cast<size_t>(e.records), "record"),
                      counted(static_cast<size_t>(e.tasks), "task"));
    if (e.from == "shipped") out += ", as it ships with tenon";
    if (!e.trained_at.empty()) out += ", trained " + e.trained_at;
  }
  if (e.held_out > 0 && e.top1 && e.top5 && e.pairwise) {
    out += fmt::format(
        "; on {} that it did not learn from: top-1 {:.2f}, top-5 {:.2f}, pairs {:.2f}",
        counted(static_cast<size_t>(e.held_out), "task"), *e.top1, *e.top5, *e.pairwise);
  }
  for (const std::string& note : e.notes) out += "; " + note;
  return out;
}

namespace {

std::string transplants_text(const RunStory& run) {
  const TransplantStory& t = run.transplants;
  if (t.tried == 0) return "";
  return fmt::format("{} of {} into {}, best of {}",
                     counted(static_cast<size_t>(t.tried), "program"),
                     counted(static_cast<size_t>(t.from), "similar task"),
                     counted(static_cast<size_t>(t.tasks), "task"), t.kept);
}

}  // namespace

std::vector<Fact> facts(const RunStory& run) {
  std::vector<Fact> out;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out.push_back({name, value});
  };
  add("machine", machine_of(run.target));
  add("protocol", run.protocol);
  std::string budget = run.budget_s > 0 ? duration_text(run.budget_s) : "";
  if (run.trials_limit > 0) {
    budget +=
        (budget.empty() ? "" : ", ") + counted(static_cast<size_t>(run.trials_limit), "trial");
  }
  add("budget", budget);
  add("spent",
      duration_text(run.spent_s) + (run.parts > 1 ? fmt::format(" in {} parts", run.parts) : ""));
  add("measured",
      fmt::format("{}, {} failed{}", counted(static_cast<size_t>(run.measured), "program"),
                  grouped(run.failed),
                  run.again > 0 ? fmt::format("; {} again at the end", grouped(run.again)) : ""));
  if (run.measured_before > 0) {
    add("known before", counted(static_cast<size_t>(run.measured_before), "record"));
  }
  if (run.history) add("history", history_text(*run.history));
  add("transplanted", transplants_text(run));
  if (run.first_artifact_s) add("first artifact after", duration_text(*run.first_artifact_s));
  std::string search = run.strategy;
  if (!run.space.empty()) search += " over " + run.space;
  if (!run.cost_model.empty()) search += ", cost model " + run.cost_model;
  if (!search.empty()) add("search", search + fmt::format(", seed {}", run.seed));
  add("started", run.started);
  add("run", run.id);
  return out;
}

std::string task_name(const TaskStory& t) {
  return t.shape.empty() ? t.label : t.label + " " + t.shape;
}

std::string counted(size_t n, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(static_cast<int64_t>(n)), noun, n == 1 ? "" : "s");
}

std::string pairs_text(const RunStory& run) {
  if (run.pairs.empty()) return "";
  const auto taken =
      std::count_if(run.pairs.begin(), run.pairs.end(), [](const PairTry& p) { return p.taken; });
  std::string text = fmt::format(
      "{} of a depthwise and a pointwise convolution, each tuned as one task and as two; {} faster "
      "as one.",
      counted(run.pairs.size(), "pair"), taken);
  for (const ModelStory& m : run.models) {
    text += m.pairs.empty() ? fmt::format(" {} has none.", m.name)
                            : fmt::format(" {} has {} of them.", m.name, m.pairs.size());
  }
  return text;
}

std::string layouts_text(const RunStory& run) {
  if (run.layouts.empty()) return "Layouts were not searched in this run.";
  size_t tried = 0;
  size_t better = 0;
  for (const LayoutSearch& o : run.layouts) {
    tried += o.tries.size();
    better += std::any_of(o.tries.begin(), o.tries.end(),
                          [&](const LayoutTry& t) { return gain(o, t).value_or(0) > 1 + kSame; });
  }
  std::string text = fmt::format(
      "{}, {}, each with the same number of trials for its loops; {} faster in another layout.",
      counted(run.layouts.size(), "operator"), counted(tried, "layout"), better);
  if (!run.layouts_decided) return text + " The run ended before the networks chose.";
  for (const ModelStory& m : run.models) {
    text += m.layouts.empty()
                ? fmt::format(" {} keeps its layouts.", m.name)
                : fmt::format(
                      " {} stores the edges of {} by what was measured, conversions between them "
                      "included.",
                      m.name, counted(m.layouts.size(), "call"));
  }
  return text;
}

std::string nodes_text(const TaskStory& t) {
  constexpr size_t kMost = 2;
  std::string text;
  for (size_t i = 0; i < std::min(kMost, t.nodes.size()); ++i) {
    text += (i > 0 ? ", " : "") + t.nodes[i];
  }
  if (t.nodes.size() > kMost) text += fmt::format(" and {} more", t.nodes.size() - kMost);
  return text;
}

std::string disturbed_text(const RunStory& run) {
  if (run.disturbed.empty()) return "";
  return fmt::format(
      "Measured while the machine was not quiet ({}). Times taken then differ more from each other "
      "than on a quiet machine, and small gains may not be found.",
      fmt::join(run.disturbed, "; "));
}

std::string why_not_taken(const RunStory& run, const LayoutSearch& o, const LayoutTry& t) {
  const auto ratio = gain(o, t);
  if (!ratio || *ratio <= 1 + kSame || t.calls > 0) return "";
  if (!run.layouts_decided) return "not taken: the run ended before the networks chose";
  if (o.best_s() && *t.s > *o.best_s()) {
    return "not taken: another layout of this operator was faster still";
  }
  const bool taken_back = std::any_of(run.models.begin(), run.models.end(), [](const auto& m) {
    return m.network && m.network->kept.starts_with("default");
  });
  if (taken_back) return "not taken: the whole network was no faster with what was chosen";
  return fmt::format(
      "not taken: {} less in this operator, and at least as much more in conversions around it and "
      "in operators that share its tensors",
      time_or_dash(*o.default_s - *t.s));
}

std::string unreadable_text(const RunStory& run) {
  if (run.unreadable.empty()) return "";
  constexpr size_t kMost = 10;
  const size_t shown = std::min(run.unreadable.size(), kMost);
  std::string rows;
  for (size_t i = 0; i < shown; ++i) {
    rows += fmt::format("{}{}", i == 0 ? "" : ", ", run.unreadable[i]);
  }
  const size_t more = run.unreadable.size() - shown;
  return fmt::format("Left out, because it is no event: row {}{} of the run's events.", rows,
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

namespace {

struct Part {
  const char* name;
  const char* meaning;
};
constexpr Part kParts[] = {
    {"search", "proposing and scoring programs"},
    {"train", "training the cost model"},
    {"measure", "building and timing programs"},
    {"verify", "comparing new bests with the reference"},
    {"finals", "timing the finalists again, in turns"},
    {"record", "writing the database"},
    {"write", "writing artifacts"},
    {"network", "timing whole networks"},
};
constexpr const char* kOther = "other";

}  // namespace

std::string kinds_text(const RunStory& run) {
  std::string out;
  for (const auto& [name, k] : run.kinds) {
    const std::string gained =
        k.gained_s > 0 ? fmt::format("gained {}", page_time(k.gained_s)) : "gained nothing";
    out += fmt::format("{}{} took {} and {}", out.empty() ? "" : "; ", name,
                       duration_text(k.spent_s), gained);
  }
  return out.empty() ? "" : out + ".";
}

std::vector<std::pair<std::string, double>> wall_time(const RunStory& run) {
  std::vector<std::pair<std::string, double>> out;
  double told = 0;
  for (const Part& part : kParts) {
    for (const auto& [name, s] : run.seconds) {
      if (name == part.name && s > 0) out.emplace_back(name, s);
    }
  }
  for (const auto& p : run.seconds) {
    const bool known = std::any_of(std::begin(kParts), std::end(kParts),
                                   [&](const Part& part) { return p.first == part.name; });
    if (!known && p.second > 0) out.push_back(p);
  }
  for (const auto& [name, s] : out) told += s;
  if (!out.empty() && run.spent_s - told > 0.005 * run.spent_s) {
    out.emplace_back(kOther, run.spent_s - told);
  }
  return out;
}

std::string part_meaning(const std::string& part) {
  for (const Part& p : kParts) {
    if (part == p.name) return p.meaning;
  }
  return part == kOther ? "start, checks and waiting" : "";
}

}  // namespace tenon::report
