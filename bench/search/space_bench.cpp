// SPDX-License-Identifier: Apache-2.0
// How many candidates a search looks at in a second, stage by stage, on one thread and on two, for
// each space and several kinds of dag:
//   sample, mutate, cross   valid candidates made, refused draws paid for
//   replay                  traces replayed, bounds inferred, program checked
//   draft                   candidates judged by the draft model
//   features, predict       candidates described and scored
//   unscreened, propose     a whole pass of evolution, counted by the candidates that the model is asked about; with
//                           propose the draft model has thrown out three of four blind draws before
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>

#include "cost/draft.h"
#include "cost/model.h"
#include "schedule/program.h"
#include "search/space/spaces.h"
#include "search/strategy/mutation.h"
#include "search/strategy/scoring.h"
#include "support/parallel.h"
#include "te/ops.h"
#include "timing/machine.h"

namespace tenon::search {
namespace {

constexpr size_t kProposals = 64;

struct Options {
  std::string filter;  // a part of "space dag"
  std::vector<int> threads{1, 2};
  std::string stage;         // only this one
  int repeats = 3;           // of each stage; the best counts
  size_t candidates = 2048;  // of each stage; the population of evolution
};

task::Task make(const std::function<te::Tensor(te::Builder&)>& build) {
  te::Builder b;
  b.output(build(b));
  auto dag = std::make_shared<const te::ComputeDag>(b.finish());
  auto edges = task::parse_edges("", *dag);
  return task::make_task(std::move(dag), std::move(edges),
                         std::make_shared<const target::Target>(target::host_target()));
}

te::Tensor bias_relu(te::Builder& b, const te::Tensor& y, int64_t channels) {
  const auto bias = b.constant("B", ir::kF32, {channels, 1, 1});
  return te::relu(b, "R", te::elementwise(b, "Z", {y, bias}, [](auto v) { return v[0] + v[1]; }));
}

struct Dag {
  const char* name;
  te::Tensor (*build)(te::Builder& b);
};
constexpr Dag kDags[] = {
    {"matmul 1024",
     [](te::Builder& b) {
       const auto a = b.input("A", ir::kF32, {1024, 1024});
       return te::matmul(b, "C", a, b.constant("W", ir::kF32, {1024, 1024}));
     }},
    {"conv 3x3 64 56 pad bias relu",
     [](te::Builder& b) {
       const auto x = b.input("X", ir::kF32, {1, 64, 56, 56});
       const auto w = b.constant("W", ir::kF32, {64, 64, 3, 3});
       return bias_relu(b, te::conv(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1}), 64);
     }},
    {"depthwise 3x3 96 56 pad bias relu",
     [](te::Builder& b) {
       const auto x = b.input("X", ir::kF32, {1, 96, 56, 56});
       const auto w = b.constant("W", ir::kF32, {96, 1, 3, 3});
       return bias_relu(b, te::depthwise_conv2d(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1}), 96);
     }},
    {"softmax 512x1000",
     [](te::Builder& b) {
       return te::softmax(b, "S", b.input("X", ir::kF32, {512, 1000}));
     }},
};

struct Rate {
  double per_s = 0;   // by the clock
  double cpu_us = 0;  // of all threads, for each: what counts on a machine that others use too
};

// The best of some repeats; `fn` says how many it did.
Rate measure(int repeats, const std::function<size_t()>& fn) {
  Rate best;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cpu = std::clock();
    const auto n = static_cast<double>(std::max<size_t>(fn(), 1));
    const double cpu_s = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    if (n / wall.count() > best.per_s) best.per_s = n / wall.count();
    if (i == 0 || 1e6 * cpu_s / n < best.cpu_us) best.cpu_us = 1e6 * cpu_s / n;
  }
  return best;
}

// Counts what the model within is asked about.
class CountingModel : public cost::CostModel {
 public:
  explicit CountingModel(const cost::CostModel& inner) : inner_(inner) {}
  std::string_view name() const override { return inner_.name(); }
  Result<cost::Row> encode(const cost::Subject& s) const override { return inner_.encode(s); }
  void learn(std::span<const cost::Sample>, cost::Role) override {}
  std::vector<float> score(std::span<const cost::Row> rows) const override {
    asked_ += rows.size();
    return inner_.score(rows);
  }
  bool trained() const override { return inner_.trained(); }
  std::string save() const override { return inner_.save(); }
  void load(const std::string&) override {}
  size_t asked() const { return asked_; }

 private:
  const cost::CostModel& inner_;
  mutable std::atomic<size_t> asked_{0};
};

class Bench {
 public:
  Bench(const task::Task& t, const space::Space& space, const Options& o, int threads)
      : task_(t), space_(space), options_(o), threads_(threads) {
    Rng rng(1);
    all_ = sample_many(space_, options_.candidates, rng, threads_);
    TENON_CHECK(!all_.empty()) << "no sample is valid";
    model_ = cost::make_model("xgb", 1, threads_);
    std::vector<cost::Sample> samples;
    for (size_t i = 0; i < 512 && i < all_.size(); ++i) {
      samples.push_back({encoded(all_[i]), "task", 1e-3 * (1 + rng.unit())});
    }
    model_->learn(samples, cost::Role::kThisRun);
  }

  struct Stage {
    const char* name;
    size_t (Bench::*run)();
  };
  static std::span<const Stage> stages() {
    static constexpr Stage kStages[] = {
        {"sample", &Bench::sample},   {"mutate", &Bench::mutate},
        {"cross", &Bench::cross},     {"replay", &Bench::replay},
        {"draft", &Bench::draft},     {"features", &Bench::encode},
        {"predict", &Bench::score},   {"unscreened", &Bench::pass_unscreened},
        {"propose", &Bench::propose},
    };
    return kStages;
  }
  Rate time(const Stage& s) {
    return measure(options_.repeats, [&] { return (this->*s.run)(); });
  }

 private:
  // Of as many calls as there are candidates, those that gave one.
  size_t each(const std::function<bool(const space::Program&, Rng&)>& fn) {
    std::atomic<size_t> ok{0};
    for_each_parallel(options_.candidates, threads_, [&](size_t i) {
      Rng own(i);
      if (fn(all_[i % all_.size()], own)) ++ok;
    });
    return ok;
  }

  size_t sample() {
    Rng rng(1);
    return sample_many(space_, options_.candidates, rng, threads_).size();
  }
  size_t mutate() {
    return each([&](const space::Program& c, Rng& own) { return bool(mutated(space_, c, own)); });
  }
  size_t cross() {
    return each([&](const space::Program& c, Rng& own) {
      return bool(crossed(space_, c, own.pick(all_), own));
    });
  }
  size_t replay() {
    const schedule::State initial(task_.dag, task_.target);
    return each([&](const space::Program& c, Rng&) {
      const auto s = schedule::replay(initial, c.trace);
      if (!s) return false;
      const auto b = schedule::infer_bounds(*s, -1, schedule::BoundsFor::kSearch);
      return b && schedule::check_program(*s, *b);
    });
  }
  // Programs come with bounds: whoever made them has inferred them.
  size_t draft() {
    return each([&](const space::Program& c, Rng&) {
      return c.bounds != nullptr && cost::draft_seconds(c.state, *c.bounds) > 0;
    });
  }
  cost::Row encoded(const space::Program& c) const { return *model_->encode(subject_of(task_, c)); }
  size_t encode() {
    rows_.assign(options_.candidates, {});
    for_each_parallel(options_.candidates, threads_, [&](size_t i) {
      const space::Program& c = all_[i % all_.size()];
      rows_[i] = encoded(c);
    });
    return options_.candidates;
  }
  size_t score() {
    if (rows_.empty()) encode();
    return model_->score(rows_).size();
  }
  size_t pass_unscreened() { return pass(false); }
  size_t propose() { return pass(true); }
  size_t pass(bool draft) {
    StrategyOptions o;
    o.draft = draft;
    o.threads = threads_;
    o.population = options_.candidates;
    const CountingModel model(*model_);
    Rng rng(1);
    (void)make_strategy("evolution", space_, &model, o)->propose(kProposals, rng);
    return model.asked();
  }

  const task::Task& task_;
  const space::Space& space_;
  const Options& options_;
  int threads_;
  std::vector<space::Program> all_;
  std::vector<cost::Row> rows_;
  std::unique_ptr<cost::CostModel> model_;
};

struct Slowest {
  std::string where;
  double per_s = 1e300;
};

void run(const Dag& dag, const std::string& space_name, const Options& o, Slowest& slowest) {
  const task::Task t = make(dag.build);
  const auto space = make_space(space_name, t);
  for (const int threads : o.threads) {
    Bench bench(t, *space, o, threads);
    fmt::print("{:<34}{:<9}{:>7}", dag.name, space_name, threads);
    Rate last;
    for (const Bench::Stage& s : Bench::stages()) {
      if (!o.stage.empty() && o.stage != s.name) continue;
      last = bench.time(s);
      fmt::print("{:>11.0f}", last.per_s);
      std::fflush(stdout);
    }
    fmt::print("{:>8.1f} us\n", last.cpu_us);
    if (threads == o.threads.back() && last.per_s < slowest.per_s) {
      slowest = {fmt::format("{}, {} space", dag.name, space_name), last.per_s};
    }
  }
}

void run_all(const Options& o) {
  fmt::print("{}\n{}, {}\n", timing::machine_text(), timing::clock_text(), timing::compiler_text());
  fmt::print(
      "candidates/s, best of {}; the last column is processor time per candidate of propose\n",
      o.repeats);
  fmt::print("{:<34}{:<9}{:>7}", "dag", "space", "threads");
  for (const Bench::Stage& s : Bench::stages()) {
    if (o.stage.empty() || o.stage == s.name) fmt::print("{:>11}", s.name);
  }
  fmt::print("{:>11}\n", "each");
  Slowest slowest;
  for (const char* space : {"sketch", "template", "joint"}) {
    for (const Dag& d : kDags) {
      if (fmt::format("{} {}", space, d.name).find(o.filter) == std::string::npos) continue;
      run(d, space, o, slowest);
    }
  }
  if (slowest.where.empty()) return;
  fmt::print("propose on {} threads: at least {:.0f} candidates/s (slowest: {})\n",
             o.threads.back(), slowest.per_s, slowest.where);
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--filter" && i + 1 < argc) {
      o.filter = argv[++i];
    } else if (arg == "--stage" && i + 1 < argc) {
      o.stage = argv[++i];
    } else if (arg == "--candidates" && i + 1 < argc) {
      o.candidates = static_cast<size_t>(std::max(1, std::atoi(argv[++i])));
    } else if (arg == "--repeat" && i + 1 < argc) {
      o.repeats = std::max(1, std::atoi(argv[++i]));
    } else if (arg == "--threads" && i + 1 < argc) {
      o.threads = {std::max(1, std::atoi(argv[++i]))};
    } else {
      throw UserError(
          "usage: space_bench [--filter TEXT] [--stage NAME] [--threads N] [--repeat N] "
          "[--candidates N]");
    }
  }
  return o;
}

}  // namespace
}  // namespace tenon::search

int main(int argc, char** argv) {
  try {
    tenon::search::run_all(tenon::search::parse(argc, argv));
  } catch (const tenon::UserError& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 2;
  }
}
