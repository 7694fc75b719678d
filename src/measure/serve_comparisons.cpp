// SPDX-License-Identifier: Apache-2.0
// The side of a comparison that runs the networks.
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "artifact/loaded_session.h"
#include "artifact/random_array.h"
#include "measure/network_wire.h"
#include "measure/step_times.h"
#include "runtime/cpus.h"
#include "support/check.h"
#include "support/median.h"

namespace tenon::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kTurnS = 0.02;     // of one artifact, before it is the other's turn
constexpr size_t kLeastTurns = 8;   // pairs of turns
constexpr double kStepShare = 0.3;  // of the duration, for the times of steps

Median median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return median_of(v);
}

// A network at the sizes of the inputs. What it refuses is told with the name of its folder.
class Contestant {
 public:
  Contestant(const artifact::Model& model, const artifact::SessionOptions& options,
             const std::vector<ir::Array>& inputs) try
      : session_(model, options, inputs), outputs_(session_.session().run(inputs)) {
  } catch (const UserError& e) {
    throw UserError(model.directory().string(), 0, 0, e.what());
  }
  artifact::LoadedSession& session() { return session_; }
  const std::vector<ir::Array>& outputs() const { return outputs_; }

 private:
  artifact::LoadedSession session_;
  std::vector<ir::Array> outputs_;
};

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
double turn(artifact::LoadedSession& s) {
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
Turns take_turns(artifact::LoadedSession& a, artifact::LoadedSession& b, double duration_s) {
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

std::pair<Steps, Steps> time_steps(artifact::LoadedSession& a, artifact::LoadedSession& b,
                                   double run_s, double duration_s) {
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

// The sizes of one may be open where those of the other are not: they are looked at when they are set.
void check_alike(const artifact::Model& a, const artifact::Model& b) {
  const auto same = [](const std::vector<artifact::TensorInfo>& x,
                       const std::vector<artifact::TensorInfo>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& s, const auto& t) {
      return s.name == t.name && s.dtype == t.dtype && s.shape.size() == t.shape.size();
    });
  };
  if (!same(a.inputs(), b.inputs()) || !same(a.outputs(), b.outputs())) {
    throw UserError(fmt::format("{} and {} have not the same inputs and outputs",
                                a.directory().string(), b.directory().string()));
  }
}

void check_alike(const std::vector<ir::Array>& a, const std::vector<ir::Array>& b) {
  const bool same = std::equal(a.begin(), a.end(), b.begin(), b.end(),
                               [](const auto& x, const auto& y) { return x.shape() == y.shape(); });
  if (!same) throw UserError("the networks give outputs of different shapes for the same inputs");
}

// The pool has pinned its workers by now; this thread takes the CPU that it left.
void pin_this_thread(int threads) {
  const auto cpus = runtime::usable_cpus();
  if (cpus.count < threads || cpus.count == 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(cpus.cpus[0]), &one);
  sched_setaffinity(0, sizeof one, &one);
}

std::vector<ir::Array> inputs_of(const NetworkJob& job,
                                 const std::vector<artifact::TensorInfo>& tensors) {
  constexpr uint64_t kSeed = 1;
  if (job.inputs.empty()) return artifact::random_inputs(tensors, kSeed);
  std::vector<ir::Array> inputs;
  bool fit = job.inputs.size() == tensors.size();
  for (size_t i = 0; fit && i < tensors.size(); ++i) {
    const std::string& bytes = job.inputs[i].bytes;
    ir::Array& in = inputs.emplace_back(tensors[i].dtype, job.inputs[i].shape);
    fit = static_cast<int64_t>(bytes.size()) == in.bytes();
    if (fit && in.bytes() > 0) std::memcpy(in.data(), bytes.data(), bytes.size());
  }
  if (!fit) throw UserError("the inputs are not those of the networks");
  return inputs;
}

NetworkTimes compare(const NetworkJob& job) {
  const artifact::Model first = artifact::Model::load(job.a);
  const artifact::Model second = artifact::Model::load(job.b);
  check_alike(first, second);
  const std::vector<ir::Array> inputs = inputs_of(job, first.inputs());
  const Pool pool(job.threads);
  const artifact::SessionOptions shared{job.threads, pool.get()};
  Contestant one(first, shared, inputs), other(second, shared, inputs);
  check_alike(one.outputs(), other.outputs());
  artifact::LoadedSession &a = one.session(), &b = other.session();
  NetworkTimes t;
  t.difference = difference(one.outputs(), other.outputs());
  pin_this_thread(job.threads);
  const Turns turns = take_turns(a, b, job.seconds * (1 - kStepShare));
  const Median ratio = median(turns.ratios);
  t.a_s = median(turns.a).middle;
  t.b_s = median(turns.b).middle;
  t.ratio = ratio.middle;
  t.low = ratio.low;
  t.high = ratio.high;
  t.turns = static_cast<int64_t>(turns.ratios.size());
  const auto steps = time_steps(a, b, t.a_s + t.b_s, job.seconds * kStepShare);
  t.a_steps_s = steps.first.medians();
  t.b_steps_s = steps.second.medians();
  return t;
}

NetworkTimes answer(const Message& request) {
  NetworkTimes t;
  NetworkJob job;
  if (!decode(request, job)) {
    t.error = "not a request";
    return t;
  }
  try {
    return compare(job);
  } catch (const UserError& e) {
    t.error = e.what();
  } catch (const InternalError& e) {
    t.error = e.what();
  }
  return t;
}

}  // namespace

int serve_comparisons(int argc) {
  if (argc != 1 || !has_channel()) {
    fmt::print(stderr,
               "tenon-compare is a part of tenon that measures; it is not started by hand\n");
    return 2;
  }
  exit_when_left(kChannel, nullptr);
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  for (Message request; receive(kChannel, request) == Got::kMessage;) {
    if (send(kChannel, encode(answer(request))) != Got::kMessage) break;
  }
  return 0;
}

}  // namespace tenon::measure
