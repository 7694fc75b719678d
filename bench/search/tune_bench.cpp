// SPDX-License-Identifier: Apache-2.0
// How good a program a search finds in a number of trials, from no records: the curve of the best, failures by kind,
// where the time went, and at the end the ratio to the template's default, measured alternately.
//
//   tune_bench --case c6 --space sketch --trials 200 --threads 1 --seed 1
//   tune_bench --case c6 --trials 400 --threads 1 --rate    // programs per second of tenon tune's own loop
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>

#include "cases.h"
#include "cost/model.h"
#include "measure/measure.h"
#include "search/space/spaces.h"
#include "search/strategy/scoring.h"
#include "support/check.h"
#include "templates/template.h"
#include "tune/tuner.h"

namespace tenon::search {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Options {
  std::string name = "gmm1024";
  std::string space = "sketch", strategy = "evolution", model = "xgb";
  size_t trials = 200, round = 32;
  int threads = 1;
  uint64_t seed = 1;
  bool sim = false, plain = false, all = false, final = true, trace = false;
  bool rate = false, overlap = false;
  StrategyOptions search;
};

class Clock {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

class Run {
 public:
  Run(const Options& o, const task::Task& t, measure::Measurer& device)
      : o_(o), t_(t), device_(device), space_(make_space(o.space, t)) {}

  void search() {
    TENON_CHECK(space_ != nullptr) << "an empty space";
    const auto model = cost::make_model(o_.model, o_.seed, o_.search.threads);
    const auto strategy = make_strategy(o_.strategy, *space_, model.get(), o_.search);
    Rng rng(o_.seed);
    while (tried_ < o_.trials) {
      Clock clock;
      const auto batch = strategy->propose(std::min(o_.round, o_.trials - tried_), rng);
      seconds_["search"] += clock.lap();
      if (batch.empty()) break;
      const std::vector<cost::Row> rows = rows_of(*model, batch);
      std::vector<float> predicted;
      if (model->trained()) predicted = model->score(rows);
      clock.lap();
      const auto tried = measure(batch, rows);
      seconds_["measure"] += clock.lap();
      strategy->tell(tried);
      report_round(tried, predicted);
      model->learn(samples_, cost::Role::kThisRun);
      seconds_["train"] += clock.lap();
    }
  }

  void report() const {
    for (const auto& [kind, n] : failures_) fmt::print("failed {}: {}\n", kind, n);
    for (const auto& [part, s] : seconds_) fmt::print("{}: {:.1f} s\n", part, s);
  }

  const schedule::Trace& best() const { return best_; }
  double best_s() const { return best_s_; }

 private:
  std::vector<cost::Row> rows_of(const cost::CostModel& model,
                                 const std::vector<space::Program>& batch) const {
    std::vector<cost::Row> out;
    for (const space::Program& c : batch) {
      auto row = model.encode(subject_of(t_, c));
      out.push_back(row ? std::move(row.value()) : cost::Row{});
    }
    return out;
  }

  std::vector<Tried> measure(const std::vector<space::Program>& batch,
                             const std::vector<cost::Row>& rows) {
    std::vector<schedule::Trace> traces;
    for (const space::Program& c : batch) traces.push_back(c.trace);
    samples_.clear();
    const auto measured = measure::measure(device_, t_, traces, std::isinf(best_s_) ? 0 : best_s_);
    std::vector<Tried> out;
    for (size_t i = 0; i < measured.size(); ++i) {
      const bool ok = measured[i].outcome == task::Outcome::kOk;
      const double s = ok ? measured[i].median_s : kNever;
      if (!ok) ++failures_[to_string(measured[i].outcome) + ": " + measured[i].error];
      if (s < best_s_) {
        best_s_ = s;
        best_ = batch[i].trace;
      }
      out.push_back({batch[i], s});
      samples_.push_back({rows[i], t_.key, s});
      if (o_.all)
        fmt::print("trial {} {} {:.1f}\n", tried_ + i, to_json(batch[i].choices), gflops(s));
    }
    tried_ += measured.size();
    return out;
  }

  void report_round(const std::vector<Tried>& tried, const std::vector<float>& predicted) const {
    std::vector<double> s;
    for (const Tried& t : tried) s.push_back(t.seconds);
    std::sort(s.begin(), s.end());
    fmt::print("{:>5} trials  best {:>6.1f} GFLOP/s  round: best {:>6.1f} median {:>6.1f}", tried_,
               gflops(best_s_), gflops(s[0]), gflops(s[s.size() / 2]));
    if (!predicted.empty()) {
      const std::span<const cost::Sample> last =
          std::span(samples_).last(std::min(samples_.size(), predicted.size()));
      const auto q = cost::ranking_quality(predicted, last, 8);
      fmt::print("  pairwise {:.2f} recall {:.2f}", q.pairwise_accuracy, q.recall_at_k);
    }
    fmt::print("\n");
    std::fflush(stdout);
  }

  double gflops(double s) const { return std::isinf(s) ? 0 : t_.flops / s * 1e-9; }

  const Options& o_;
  const task::Task& t_;
  measure::Measurer& device_;
  std::unique_ptr<space::Space> space_;
  std::vector<cost::Sample> samples_;
  size_t tried_ = 0;
  double best_s_ = kNever;
  schedule::Trace best_;
  std::map<std::string, int> failures_;
  std::map<std::string, double> seconds_;
};

std::string beside(const char* self, const std::string& tool) {
  const std::string path(self);
  return path.substr(0, path.find("bench/search")) + "tools/tenon/" + tool;
}

// This does what tenon tune does with one task, without a database.
void report_rate(const Options& o, const task::Task& t, const schedule::Trace& start,
                 measure::Measurer& device) {
  tune::TunerOptions tuner;
  tuner.seed = o.seed;
  tuner.space = o.space;
  tuner.strategy = o.strategy;
  tuner.cost_model = o.model;
  tuner.trials = static_cast<int64_t>(o.trials);
  tuner.round = static_cast<int64_t>(o.round);
  tune::TaskTuner loop({{t, start, "template"}}, {{.weights = {1}}}, tuner, device, nullptr, "",
                       nullptr);
  Clock clock;
  while (loop.step({})) {
  }
  const double seconds = clock.lap();
  fmt::print("{} programs in {:.2f} s: {:.1f} per second, {} failed, best {:.3g} ms\n",
             loop.measured(), seconds, static_cast<double>(loop.measured()) / seconds,
             loop.failed(), 1e3 * loop.results()[0].best_s);
  for (const auto& [part, s] : loop.seconds()) fmt::print("{}: {:.2f} s\n", part, s);
}

int run(const Options& o, const char* self) {
  target::Target machine = target::host_target();
  machine.cpu().cores = o.threads;
  const task::Task t = make_case(o.name, machine, o.plain);
  std::unique_ptr<measure::Measurer> device;
  if (o.sim) {
    measure::SimOptions sim;
    sim.seed = o.seed;
    sim.protocol.threads = o.threads;
    device = measure::sim_measurer(sim);
  } else {
    measure::DeviceOptions d;
    d.protocol.threads = o.threads;
    d.overlap = o.overlap;
    d.build_tool = beside(self, "tenon-build");
    d.run_tool = beside(self, "tenon-run");
    device = measure::device_measurer(d);
  }
  const schedule::State initial(t.dag, t.target);
  // Sketches have no other algorithm than the definition's; so has what they are compared with.
  templates::Request direct{t.edges, false};
  direct.algorithm = 0;
  const auto rule = templates::choose(initial, direct);
  if (o.rate) {
    report_rate(o, t, rule.trace, *device);
    return 0;
  }
  const std::vector<schedule::Trace> start{rule.trace};
  const double start_s = measure::measure(*device, t, start, 0).at(0).median_s;
  fmt::print("{} ({}), template {}: {:.1f} GFLOP/s\n", o.name, t.label, rule.name,
             t.flops / start_s * 1e-9);
  Run search(o, t, *device);
  search.search();
  search.report();
  if (o.trace) fmt::print("{}\n", schedule::to_text(search.best(), initial));
  const measure::Verdict verdict = device->verify(t, search.best());
  if (!verdict.right()) fmt::print("NOT RIGHT: {}\n", verdict.why);
  if (!o.final) return 0;
  const std::vector<schedule::Trace> both{rule.trace, search.best()};
  const auto last = device->finals(t, both, 10);
  fmt::print("final {} {} {} seed {}: {:.1f} GFLOP/s, template {:.1f}, ratio {:.3f}\n", o.name,
             o.space, o.strategy, o.seed, t.flops / last[1].median_s * 1e-9,
             t.flops / last[0].median_s * 1e-9, last[0].median_s / last[1].median_s);
  return 0;
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    const auto flag = [&](const char* name, bool& value, bool to) {
      if (a == name) value = to;
      return a == name;
    };
    if (flag("--sim", o.sim, true) || flag("--plain", o.plain, true) ||
        flag("--all", o.all, true) || flag("--no-final", o.final, false) ||
        flag("--trace", o.trace, true) || flag("--rate", o.rate, true) ||
        flag("--overlap", o.overlap, true))
      continue;
    if (i + 1 >= argc) throw UserError("an option without a value: " + a);
    const std::string v = argv[++i];
    const auto number = [&] { return std::stoul(v); };
    if (a == "--case" || a == "--te")
      o.name = v;
    else if (a == "--space")
      o.space = v;
    else if (a == "--strategy")
      o.strategy = v;
    else if (a == "--model")
      o.model = v;
    else if (a == "--trials")
      o.trials = number();
    else if (a == "--round")
      o.round = number();
    else if (a == "--threads")
      o.threads = static_cast<int>(number());
    else if (a == "--seed")
      o.seed = number();
    else if (a == "--population")
      o.search.population = number();
    else if (a == "--generations")
      o.search.generations = static_cast<int>(number());
    else if (a == "--random-share")
      o.search.random_share = std::stod(v);
    else
      throw UserError("there is no option " + a);
  }
  o.search.threads = 2;
  return o;
}

}  // namespace
}  // namespace tenon::search

int main(int argc, char** argv) {
  try {
    return tenon::search::run(tenon::search::parse(argc, argv), argv[0]);
  } catch (const tenon::UserError& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 2;
  }
}
