// SPDX-License-Identifier: Apache-2.0
#include "gpu/random_programs.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <mutex>
#include <thread>

#include "backend/backend.h"
#include "backend/harness.h"
#include "backend/random_program.h"
#include "fuzz/gpu_trace.h"
#include "fuzz/random_dag.h"
#include "ir/print.h"
#include "lower/lower.h"
#include "runtime/cuda/driver.h"
#include "schedule/state.h"
#include "simt/bound_to_threads.h"
#include "simt/run_module.h"
#include "support/check.h"
#include "te/text.h"

namespace tenon::gpu {
namespace {

namespace cuda = runtime::cuda;
using Arrays = std::vector<ir::Array>;

// The primary context of the first card.
class Card {
 public:
  Card() {
    char sentence[runtime::kSentenceBytes] = "";
    driver_ = cuda::open_driver(sentence);
    if (driver_ == nullptr) throw UserError(sentence);
    must(driver_->DeviceGet(&device_, 0));
    must(driver_->DevicePrimaryCtxRetain(&context_, device_));
  }
  ~Card() { driver_->DevicePrimaryCtxRelease(device_); }
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  // Empty, or what the driver said. One program at a time: a fault of one must not be taken for another's.
  std::string run(const backend::GpuModule& module, Arrays& args) {
    const std::lock_guard lock(one_at_a_time_);
    driver_->CtxSetCurrent(context_);
    const cuda::Status s = simt::run_module(*driver_, module, args);
    return s == cuda::kSuccess ? "" : words(s);
  }

 private:
  std::string words(cuda::Status s) const {
    char text[256];
    cuda::explain(*driver_, s, text, sizeof text);
    return text;
  }
  void must(cuda::Status s) const {
    if (s != cuda::kSuccess) throw UserError(words(s));
  }

  const cuda::Driver* driver_ = nullptr;
  cuda::Device device_ = 0;
  cuda::Context context_ = nullptr;
  std::mutex one_at_a_time_;
};

struct Tried {
  bool refused = false;
  int64_t kernels = 0;
  std::string problem;
};

bool same(ir::DType t, const ir::Scalar& x, const ir::Scalar& y) {
  if (!t.is_float()) return x.i == y.i;
  return x.f == y.f || (std::isnan(x.f) && std::isnan(y.f));
}

std::string difference(const ir::Function& f, const Arrays& expected, const Arrays& actual) {
  for (size_t i = f.num_inputs; i < expected.size(); ++i) {
    for (int64_t k = 0; k < expected[i].elements(); ++k) {
      if (same(expected[i].dtype(), expected[i].get(k), actual[i].get(k))) continue;
      return fmt::format("{}[{}] is {}, not {}", f.params[i].name(), k, actual[i].get_double(k),
                         expected[i].get_double(k));
    }
  }
  return "";
}

backend::GpuModule compile(const ir::Function& f, backend::Compiler& compiler) {
  return backend::gpu_module_from(compiler.emit(f, backend::Emit::kObject).bytes);
}

// Loops of every kind: small whole numbers, whose sums do not depend on their order.
Tried try_loops(Rng& rng, backend::Compiler& compiler, Card& card) {
  const ir::Function f = backend::RandomProgram(rng).make();
  const ir::Function on_gpu = simt::bound_to_threads(f, rng);
  const Arrays args = backend::small_args(f, rng, 0, 8);
  Arrays expected = args;
  ir::interpret(f, expected);
  Arrays actual = args;
  const backend::GpuModule module = compile(on_gpu, compiler);
  Tried t{false, static_cast<int64_t>(module.launches.size()), card.run(module, actual)};
  if (t.problem.empty()) t.problem = difference(f, expected, actual);
  if (!t.problem.empty()) t.problem += "\n" + ir::to_string(on_gpu);
  return t;
}

te::ComputeDag draw_dag(Rng& rng) {
  fuzz::RandomDagOptions o;
  o.max_work = rng.chance(0.7) ? 400 : 5000;
  o.max_steps = rng.chance(0.5) ? 1 : 3;
  return fuzz::random_dag(rng, o);
}

// A random schedule of a random dag.
Tried try_schedule(Rng& rng, const target::Target& target, backend::Compiler& compiler,
                   Card& card) {
  const auto dag = std::make_shared<const te::ComputeDag>(draw_dag(rng));
  const schedule::State s =
      fuzz::gpu_trace(schedule::State(dag, std::make_shared<const target::Target>(target)), rng)
          .state;
  const auto f = lower::lower(s);
  if (!f) return {true, 0, ""};
  const Arrays inputs = fuzz::random_inputs(*dag, rng);
  Arrays args = lower::pack_inputs(s, inputs);
  const auto packed = static_cast<int64_t>(args.size());
  for (ir::Array& a : lower::make_outputs(s)) args.push_back(std::move(a));
  const backend::GpuModule module = compile(*f, compiler);
  Tried t{false, static_cast<int64_t>(module.launches.size()), card.run(module, args)};
  if (t.problem.empty()) {
    const Arrays got = lower::unpack_outputs(s, {args.begin() + packed, args.end()});
    const std::string at_all =
        fuzz::compare(te::evaluate(*dag, inputs), got, *dag, s.error_factor());
    const std::string interpreted =
        fuzz::compare(lower::interpret(s, *f, inputs), got, *dag, s.error_factor());
    t.problem = at_all.empty() ? interpreted : at_all;
  }
  if (!t.problem.empty()) t.problem += "\n" + te::to_text(*dag) + "\n" + ir::to_string(*f);
  return t;
}

class Check {
 public:
  explicit Check(const RandomOptions& options)
      : options_(options), target_(target::parse_target(options.target)), next_(options.seed) {}

  Found run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < std::max(1, options_.threads); ++i) {
      threads.emplace_back([this] { work(); });
    }
    for (std::thread& t : threads) t.join();
    if (found_.run < options_.runs && found_.problems.empty()) {
      found_.problems.push_back(fmt::format("there was time for {} programs only", found_.run));
    }
    return found_;
  }

 private:
  bool goes_on() {
    const std::lock_guard lock(guard_);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start_;
    return found_.run + begun_ < options_.runs && took.count() < options_.deadline_s &&
           static_cast<int64_t>(found_.problems.size()) < options_.most_problems && ++begun_ > 0;
  }
  void work() {
    const auto compiler = backend::make_compiler(target_);
    while (goes_on()) {
      const uint64_t seed = next_++;
      Tried t;
      try {
        Rng rng(seed);
        t = seed % 2 == 0 ? try_loops(rng, *compiler, card_)
                          : try_schedule(rng, target_, *compiler, card_);
      } catch (const std::exception& e) {
        t.problem = e.what();
      }
      count(t, seed);
    }
  }
  void count(const Tried& t, uint64_t seed) {
    const std::lock_guard lock(guard_);
    --begun_;
    found_.refused += t.refused ? 1 : 0;
    found_.run += t.refused ? 0 : 1;
    found_.kernels += t.kernels;
    if (!t.problem.empty()) {
      found_.problems.push_back(fmt::format("--seed {} --runs 1: {}", seed, t.problem));
    }
  }

  const RandomOptions& options_;
  const target::Target target_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Card card_;
  std::atomic<uint64_t> next_;
  std::mutex guard_;
  int64_t begun_ = 0;
  Found found_;
};

}  // namespace

Found check_random_programs(const RandomOptions& options) { return Check(options).run(); }

}  // namespace tenon::gpu
