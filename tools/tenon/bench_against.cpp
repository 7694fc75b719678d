// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/bench_against.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/support/machine.h"
#include "runtime/cpus.h"
#include "support/median.h"
#include "tools/tenon/json.h"
#include "tools/tenon/latency.h"
#include "tools/tenon/loaded_session.h"
#include "tools/tenon/step_times.h"
#include "tools/tenon/tensors.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kTurnS = 0.02;     // of one artifact, before it is the other's turn
constexpr size_t kLeastTurns = 8;   // pairs of turns
constexpr double kStepShare = 0.3;  // of the duration, for the times of steps

Median median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return median_of(v);
}

// Both run on one pool: two would take the cores from each other.
class Pool {
 public:
  explicit Pool(int threads) : runtime_(tenon_runtime_create(threads)) {
    if (runtime_ == nullptr) throw UserError(fmt::format("cannot start {} threads", threads));
  }
  ~Pool() { tenon_runtime_destroy(runtime_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  const tenon_runtime* get() const { return runtime_; }

 private:
  const tenon_runtime* runtime_;
};

// One turn: runs until the time is up, at least one; the median of them.
double turn(LoadedSession& s) {
  std::vector<double> seconds;
  const auto begin = Clock::now();
  auto last = begin;
  do {
    s.run();
    const auto now = Clock::now();
    seconds.push_back(std::chrono::duration<double>(now - last).count());
    last = now;
  } while (std::chrono::duration<double>(last - begin).count() < kTurnS);
  return median(seconds).middle;
}

struct Turns {
  std::vector<double> a, b, ratios;
};

// a b b a a b ...: neither always follows the other.
Turns take_turns(LoadedSession& a, LoadedSession& b, double duration_s) {
  turn(a);
  turn(b);
  Turns t;
  const auto begin = Clock::now();
  while (t.a.size() < kLeastTurns ||
         std::chrono::duration<double>(Clock::now() - begin).count() < duration_s) {
    const bool a_first = t.a.size() % 2 == 0;
    const double first = turn(a_first ? a : b);
    const double second = turn(a_first ? b : a);
    t.a.push_back(a_first ? first : second);
    t.b.push_back(a_first ? second : first);
    t.ratios.push_back(t.a.back() / t.b.back());
  }
  return t;
}

// Per step, medians over all passes.
struct Steps {
  std::vector<std::vector<double>> seconds;
  void add(const StepTimes& t) {
    seconds.resize(t.seconds.size());
    for (size_t i = 0; i < seconds.size(); ++i) {
      seconds[i].insert(seconds[i].end(), t.seconds[i].begin(), t.seconds[i].end());
    }
  }
  std::vector<double> medians() const {
    std::vector<double> out;
    for (const auto& s : seconds) out.push_back(median(s).middle);
    return out;
  }
};

std::pair<Steps, Steps> time_steps(LoadedSession& a, LoadedSession& b, double run_s,
                                   double duration_s) {
  constexpr int64_t kRunsPerPass = 2;
  constexpr int kLeastPasses = 2;
  // measure_steps runs without its hook as often, and once more.
  const double pass_s = 2 * (2 * kRunsPerPass + 1) * run_s;
  const int passes = std::max(kLeastPasses, static_cast<int>(duration_s / pass_s));
  std::pair<Steps, Steps> steps;
  for (int i = 0; i < passes; ++i) {
    steps.first.add(measure_steps(a, kRunsPerPass));
    steps.second.add(measure_steps(b, kRunsPerPass));
  }
  return steps;
}

// Relative to the largest magnitude of each output; integers may flip where floats are close, and are left out.
double difference(const std::vector<ir::Array>& a, const std::vector<ir::Array>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].dtype().is_float()) continue;
    double scale = 0, gap = 0;
    for (int64_t k = 0; k < a[i].elements(); ++k) {
      const double x = a[i].get_double(k), y = b[i].get_double(k);
      if (std::isnan(x) && std::isnan(y)) continue;
      if (x == y) continue;
      scale = std::max(scale, std::abs(x));
      const double d = std::abs(x - y);
      gap = std::isfinite(d) ? std::max(gap, d) : INFINITY;
    }
    for (int64_t k = 0; k < a[i].elements() && gap > 0; ++k) {
      if (std::isfinite(a[i].get_double(k))) scale = std::max(scale, std::abs(a[i].get_double(k)));
    }
    if (gap > 0) most = std::max(most, scale > 0 ? gap / scale : gap);
  }
  return most;
}

void check_alike(const artifact::Model& a, const artifact::Model& b) {
  const auto same = [](const std::vector<artifact::TensorInfo>& x,
                       const std::vector<artifact::TensorInfo>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& s, const auto& t) {
      return s.name == t.name && s.dtype == t.dtype && s.shape == t.shape;
    });
  };
  if (!same(a.inputs(), b.inputs()) || !same(a.outputs(), b.outputs())) {
    throw UserError(fmt::format("{} and {} have not the same inputs and outputs",
                                a.directory().string(), b.directory().string()));
  }
}

}  // namespace

int bench_against(const ModelBenchOptions& options, const std::string& against,
                  const Console& console) {
  const std::vector<int> threads = options.threads.empty()
                                       ? std::vector<int>{runtime::default_threads()}
                                       : parse_thread_list(options.threads);
  const LoadedModel first(options.model, console);
  ModelOptions other = options.model;
  other.path = against;
  const LoadedModel second(other, console);
  check_alike(first.model(), second.model());
  const std::vector<ir::Array> inputs = load_inputs(options.inputs, first.model().inputs());
  const Pool pool(threads.front());
  const artifact::SessionOptions shared{threads.front(), pool.get()};
  LoadedSession a(first.model(), shared, inputs), b(second.model(), shared, inputs);
  const double gap = difference(a.session().run(inputs), b.session().run(inputs));
  const bench::Pinned pinned(threads.front());
  const Turns turns = take_turns(a, b, options.duration_s * (1 - kStepShare));
  const Median ratio = median(turns.ratios);
  const double a_s = median(turns.a).middle, b_s = median(turns.b).middle;
  if (!console.json()) {
    console.answer(fmt::format(
        "{}  {}\n{}  {}\nratio    {:.3f} ({:.3f} to {:.3f}) in {} pairs of turns, threads {}\n"
        "outputs  differ by {:.2g} at most, relative to the largest\n",
        time_text(a_s), first.model().directory().string(), time_text(b_s),
        second.model().directory().string(), ratio.middle, ratio.low, ratio.high,
        turns.ratios.size(), threads.front(), gap));
    return 0;
  }
  const auto steps = time_steps(a, b, a_s + b_s, options.duration_s * kStepShare);
  console.answer(to_text(Json{{"schema", "tenon.bench-against/1"},
                              {"threads", threads.front()},
                              {"turns", turns.ratios.size()},
                              {"a_s", a_s},
                              {"b_s", b_s},
                              {"ratio", ratio.middle},
                              {"low", ratio.low},
                              {"high", ratio.high},
                              {"a_steps_s", steps.first.medians()},
                              {"b_steps_s", steps.second.medians()},
                              {"difference", gap}}));
  return 0;
}

}  // namespace tenon::tools
