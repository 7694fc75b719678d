// SPDX-License-Identifier: Apache-2.0
#include "report/sample_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "schedule/trace.h"
#include "support/rng.h"
#include "task/record.h"
#include "te/text.h"
#include "templates/template.h"

namespace tenon::report {
namespace {

using Json = nlohmann::ordered_json;

struct Given {
  const char* key;
  const char* label;
  const char* te;
  double calls[2];
  double default_s, floor;  // the best that search can reach, as a share of the default
};

// clang-format off
constexpr Given kTasks[] = {
  {"3f0c6a91d2e84b57", "conv bias relu",
   "input X: f32[1, 64, 28, 28]\nconst W: f32[64, 64, 3, 3]\nconst B: f32[64]\n"
   "P[n: 1, c: 64, y: 30, x: 30] = select(1 <= y and y < 29 and 1 <= x and x < 29, X[n, c, y - 1, x - 1], 0.0)\n"
   "C[n: 1, k: 64, y: 28, x: 28] = sum(c: 64, r: 3, s: 3) P[n, c, y + r, x + s] * W[k, c, r, s]\n"
   "R[n: 1, k: 64, y: 28, x: 28] = max(C[n, k, y, x] + B[k], 0.0)\noutput R\n", {6, 2}, 610e-6, 0.58},
  {"a81bb6203c55e9f4", "conv bias",
   "input X: f32[1, 96, 14, 14]\nconst W: f32[384, 96, 1, 1]\nconst B: f32[384]\n"
   "C[n: 1, k: 384, y: 14, x: 14] = sum(c: 96, r: 1, s: 1) X[n, c, y + r, x + s] * W[k, c, r, s]\n"
   "R[n: 1, k: 384, y: 14, x: 14] = C[n, k, y, x] + B[k]\noutput R\n", {4, 0}, 142e-6, 0.43},
  {"0d9e47fb1a6c3382", "matmul relu",
   "input A: f32[128, 768]\nconst B: f32[768, 768]\n"
   "C[i: 128, j: 768] = sum(k: 768) A[i, k] * B[k, j]\nD[i: 128, j: 768] = max(C[i, j], 0.0)\noutput D\n",
   {1, 12}, 1240e-6, 0.71},
  {"77c2e15590ab4d0e", "depthwise conv clip",
   "input X: f32[1, 144, 58, 58]\nconst W: f32[144, 3, 3]\n"
   "C[n: 1, c: 144, y: 56, x: 56] = sum(r: 3, s: 3) X[n, c, y + r, x + s] * W[c, r, s]\n"
   "R[n: 1, c: 144, y: 56, x: 56] = min(max(C[n, c, y, x], 0.0), 6.0)\noutput R\n", {3, 0}, 402e-6, 0.33},
  {"c5d04417e8f2b936", "softmax",
   "input X: f32[12, 128, 128]\nM[h: 12, i: 128] = max(j: 128) X[h, i, j]\n"
   "E[h: 12, i: 128, j: 128] = exp(X[h, i, j] - M[h, i])\nS[h: 12, i: 128] = sum(j: 128) E[h, i, j]\n"
   "Y[h: 12, i: 128, j: 128] = E[h, i, j] / S[h, i]\noutput Y\n", {0, 12}, 96e-6, 0.9},
  {"18f6ab02cc7d5e41", kHostileLabel,
   "input A: f32[1, 1280]\nconst B: f32[1280, 1000]\nC[i: 1, j: 1000] = sum(k: 1280) A[i, k] * B[k, j]\noutput C\n",
   {1, 1}, 188e-6, 1.0},
};
// clang-format on

constexpr const char* kTarget =
    "x86_64-unknown-linux-gnu;x86-64-v4;+avx512f,+avx512vl;AuthenticAMD "
    "25/17/1;vector=64x32;cores=2;l1d=32768;l2=1048576;l3=33554432;line=64";
constexpr const char* kProtocol = "v1 threads=2 cold";

struct Failing {
  task::Outcome outcome;
  const char* error;
};
constexpr Failing kFailing[] = {
    {task::Outcome::kRefused, "needs 36 vector registers, the target has 32"},
    {task::Outcome::kRunTimeout, "longer than 10 times the best (6.1 ms)"},
    {task::Outcome::kCompileTimeout, "the compiler was stopped after 5 s"},
    {task::Outcome::kRunCrash, "signal 11 <b>at</b> 0x7f00deadbeef"},
    {task::Outcome::kWrong, "element 1472 of R: got 0.25, should be 0.31 (atol 1e-4)"},
};

schedule::State initial(const char* te) {
  return {std::make_shared<const te::ComputeDag>(te::parse(te)),
          std::make_shared<const target::Target>(target::parse_target("x86-64-v4 cores=2"))};
}

// The template's own trace, and one with another value for one of its choices, where there is one.
std::pair<std::string, std::string> traces_of(const char* te) {
  const schedule::State start = initial(te);
  const templates::Choice chosen = templates::choose(start);
  const std::string first = schedule::to_json(chosen.trace);
  const auto& rows = templates::templates(start.target());
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const auto& t) { return t.name == chosen.name; });
  for (space::Choice c : chosen.choices) {
    for (c.value = 2; c.value <= 8; ++c.value) {
      space::ByRule rule;
      space::Follow other({&c, 1}, rule);
      space::Builder b(start, other);
      row->write(b, {});
      const std::string json = schedule::to_json(b.trace());
      if (!b.refused() && json != first) return {first, json};
    }
  }
  return {first, first};
}

struct Now {
  const Given* given;
  std::string start, winner;
  double best_s;
  int64_t tried = 0;
};

class Maker {
 public:
  Maker(db::Database& db, Kind kind, uint64_t seed) : db_(db), kind_(kind), rng_(seed) {
    models_ = {"mobilenet_v2"};
    if (kind == Kind::kTwoModels) models_ = {"mobilenet_v2", "bert_base"};
    for (const Given& g : kTasks) {
      if (kind != Kind::kTwoModels && g.calls[0] == 0) continue;
      auto [start, winner] = traces_of(g.te);
      tasks_.push_back({&g, std::move(start), std::move(winner), g.default_s});
      db.add_task({g.key, g.te, "", g.label, te::flops(te::parse(g.te))});
    }
  }

  std::string make() {
    run_ = db_.begin_run("tenon tune " + models_[0] + ".onnx --budget 5m -o out",
                         models_[0] + ".onnx");
    if (kind_ == Kind::kEmpty) return run_;
    tell_run();
    for (Now& n : tasks_) {
      measure_default(n);
      if (kind_ == Kind::kNoRounds && &n == &tasks_[1]) return run_;
    }
    tell({{"event", "artifact"},
          {"model", models_[0]},
          {"directory", "out"},
          {"tuned", 0},
          {"seconds", 2.1}},
         2.1);
    if (kind_ == Kind::kWhole) layouts();
    if (kind_ != Kind::kOnlyFailures) rounds();
    if (kind_ == Kind::kCutOff) return run_;
    if (kind_ != Kind::kOnlyFailures) finals_and_networks();
    tell({{"event", "end"},
          {"reason", kind_ == Kind::kOnlyFailures ? "exhausted" : "budget"},
          {"measured", measured_},
          {"failed", failed_},
          {"spent_s", at_s_},
          {"seconds",
           {{"search", 41.2},
            {"train", 12.9},
            {"measure", 180.4},
            {"verify", 17.1},
            {"finals", 8.0},
            {"record", 1.3},
            {"write", 6.2},
            {"network", 20.4}}}},
         0);
    db_.end_run(run_);
    return run_;
  }

 private:
  double uniform() { return rng_.unit(); }

  void tell(Json event, double seconds) {
    at_s_ += seconds;
    event["t"] = at_s_;
    db_.add_event(run_, {at_s_, event.dump()});
  }

  void tell_run() {
    Json models = Json::array();
    for (const std::string& m : models_) models.push_back({{"name", m}, {"directory", "out/" + m}});
    Json tasks = Json::array();
    for (const Now& n : tasks_) {
      Json calls = Json::array();
      for (size_t m = 0; m < models_.size(); ++m) calls.push_back(n.given->calls[m]);
      tasks.push_back({{"key", n.given->key},
                       {"label", n.given->label},
                       {"calls", calls},
                       {"flops", te::flops(te::parse(n.given->te))},
                       {"origin", "template conv"},
                       {"nodes", {"layer1/Conv", "layer1/Relu", "layer2/Conv"}}});
    }
    tell({{"event", "run"},
          {"run", run_},
          {"command", "tenon tune"},
          {"models", models},
          {"tasks", tasks},
          {"budget_s", 300},
          {"trials", 0},
          {"target", kTarget},
          {"protocol", kProtocol},
          {"seed", 1},
          {"space", "joint"},
          {"strategy", "evolution"},
          {"cost_model", "xgb"},
          {"measured_before", measured_},
          {"spent_before_s", at_s_},
          {"disturbed", {"load: 6.9 on 2 CPUs"}}},
         0);
  }

  task::Measurement row(const Now& n, const std::string& trace, double s) {
    task::Measurement m;
    m.task = n.given->key;
    m.target = kTarget;
    m.protocol = kProtocol;
    m.trace = trace;
    m.run = run_;
    m.seconds = {s};
    m.best_s = m.median_s = s;
    m.verified = true;
    m.time = 1'760'000'000 + static_cast<int64_t>(at_s_);
    return m;
  }

  void fail(task::Measurement& m, size_t which) {
    m.outcome = kFailing[which].outcome;
    m.error = kFailing[which].error;
    m.seconds.clear();
    m.best_s = m.median_s = 0;
    m.verified = false;
    ++failed_;
  }

  void measure_default(Now& n) {
    task::Measurement m = row(n, n.start, n.given->default_s);
    if (kind_ == Kind::kOnlyFailures) fail(m, 3);
    db_.record({m});
    ++measured_;
    const bool ok = m.outcome == task::Outcome::kOk;
    tell({{"event", "default"},
          {"task", n.given->key},
          {"s", ok ? Json(m.median_s) : Json(nullptr)},
          {"outcome", to_string(m.outcome)}},
         0.4);
  }

  // Of the operators with convolutions, before the rounds; the network then stays as it was.
  void layouts() {
    for (const Now& n : tasks_) {
      if (std::string(n.given->label).find("conv") == std::string::npos) continue;
      for (int i = 0; i < 9; ++i) {
        const double s = n.given->default_s * (i == 0 ? 1 : 0.7 + uniform());
        tell({{"event", "layout"},
              {"task", n.given->key},
              {"label", n.given->label},
              {"point",
               i == 0 ? std::string("as it was")
                      : fmt::format("h_t={} w_t=28 o_t=16 i_t={} x_t=0", 7 * i, 1 << (i % 5))},
              {"edges", i == 0 ? "" : fmt::format("X: pad(2,{},0)\n", i)},
              {"s", i == 5 ? Json(nullptr) : Json(s)},
              {"default_s", n.given->default_s},
              {"best_s", n.given->default_s * 0.7},
              {"tried", i + 1}},
             0.8);
      }
    }
    tell({{"event", "layouts"}, {"models", {{models_[0], Json::object()}}}}, 0.1);
  }

  Json estimates(bool best) const {
    Json out = Json::array();
    for (size_t m = 0; m < models_.size(); ++m) {
      double sum = 0;
      for (const Now& n : tasks_) sum += n.given->calls[m] * (best ? n.best_s : n.given->default_s);
      out.push_back(sum);
    }
    return out;
  }

  void rounds() {
    const int n = kind_ == Kind::kCutOff ? 14 : 60;
    for (int i = 1; i <= n; ++i) {
      if (kind_ == Kind::kTwoModels && i == 30) tell_run();  // killed and started again
      Now& t = tasks_[i <= static_cast<int>(tasks_.size())
                          ? static_cast<size_t>(i - 1)
                          : static_cast<size_t>(std::pow(uniform(), 2) *
                                                static_cast<double>(tasks_.size()))];
      round(t, i);
    }
  }

  // The n-th program of a task lies above a floor that sinks with n.
  void round(Now& t, int number) {
    std::vector<task::Measurement> rows;
    Json failures = Json::object();
    double best = t.best_s;
    for (int i = 0; i < 16; ++i) {
      const double reach =
          t.given->floor + (1 - t.given->floor) * std::exp(-static_cast<double>(t.tried) / 60);
      const double s =
          t.given->default_s * reach * (1 + 2.5 * std::pow(uniform(), 3) + 0.02 * uniform());
      task::Measurement m = row(t, fmt::format("[[\"candidate\",{}]]", t.tried), s);
      if (uniform() < 0.09) {
        fail(m, static_cast<size_t>(std::pow(uniform(), 2) * std::size(kFailing)));
        failures[to_string(m.outcome)] = failures.value(to_string(m.outcome), 0) + 1;
        m.trace = t.winner;
      } else if (s < best) {
        best = s;
        m.trace = t.winner;
      }
      ++t.tried;
      ++measured_;
      rows.push_back(std::move(m));
    }
    db_.record(rows);
    if (best < t.best_s) {
      tell({{"event", "best"},
            {"task", t.given->key},
            {"s", best},
            {"was_s", t.best_s},
            {"default_s", t.given->default_s},
            {"trace", t.winner}},
           0.1);
      t.best_s = best;
    }
    Json ranking = nullptr;
    if (number > 4) {
      const double up = 1 - std::exp(-number / 15.0);
      ranking = {{"pairwise", 0.5 + 0.32 * up + 0.12 * (uniform() - 0.5)},
                 {"recall", 0.15 + 0.5 * up + 0.3 * (uniform() - 0.5)},
                 {"top", std::min(1.0, 0.62 + 0.3 * up + 0.14 * (uniform() - 0.5))},
                 {"k", 4},
                 {"samples", 16}};
    }
    tell({{"event", "round"},
          {"round", number},
          {"task", t.given->key},
          {"tried", 16},
          {"ok", 16 - static_cast<int>(failures.size())},
          {"failures", failures},
          {"best_s", t.best_s},
          {"default_s", t.given->default_s},
          {"measured", measured_},
          {"failed", failed_},
          {"estimate_s", estimates(true)},
          {"default_estimate_s", estimates(false)},
          {"ranking", ranking},
          {"seconds", {{"search", 0.7}, {"train", 0.2}, {"measure", 3.0}, {"verify", 0.3}}}},
         4.2);
  }

  void finals_and_networks() {
    for (Now& n : tasks_) {
      const bool tuned = n.best_s < 0.97 * n.given->default_s;
      if (!tuned) n.best_s = n.given->default_s;
      tell({{"event", "finals"},
            {"task", n.given->key},
            {"default_s", n.given->default_s},
            {"best_s", n.best_s},
            {"kept", tuned ? "tuned" : "default"}},
           1.5);
    }
    const Json now = estimates(true);
    const Json before = estimates(false);
    for (size_t m = 0; m < models_.size(); ++m) {
      const double a = before[m].get<double>() * 1.04;
      const double b = now[m].get<double>() * 1.06;
      tell({{"event", "network"},
            {"model", models_[m]},
            {"default_s", a},
            {"tuned_s", b},
            {"ratio", a / b},
            {"low", a / b * 0.985},
            {"high", a / b * 1.012},
            {"difference", 3e-7},
            {"kept", "tuned"},
            {"tuned", 4},
            {"tasks", tasks_.size()}},
           10);
    }
  }

  db::Database& db_;
  Kind kind_;
  Rng rng_;
  std::string run_;
  std::vector<std::string> models_;
  std::vector<Now> tasks_;
  double at_s_ = 0;
  int64_t measured_ = 0, failed_ = 0;
};

}  // namespace

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kWhole:
      return "whole";
    case Kind::kTwoModels:
      return "two_models";
    case Kind::kCutOff:
      return "cut_off";
    case Kind::kNoRounds:
      return "no_rounds";
    case Kind::kOnlyFailures:
      return "only_failures";
    case Kind::kEmpty:
      return "empty";
  }
  return "";
}

std::string add_sample_run(db::Database& db, Kind kind, uint64_t seed) {
  return Maker(db, kind, seed).make();
}

SampleDatabase::SampleDatabase() {
  folder_ = std::filesystem::temp_directory_path() /
            fmt::format("tenon-report-{}-{:08x}", ::getpid(), std::random_device{}());
  std::filesystem::create_directories(folder_);
  db_ = db::Database::open(file());
}

SampleDatabase::~SampleDatabase() {
  db_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace tenon::report
