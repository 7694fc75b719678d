// SPDX-License-Identifier: Apache-2.0
// A pretend device for tests of search: the time of a program is computed from its loops. It rewards what real machines
// reward (vectors, parallel loops that fill the threads, tiles that stay in cache, unrolled inner loops) and is the same
// on every machine for the same seed.
#include <algorithm>
#include <cmath>

#include "measure/measure.h"
#include "schedule/bounds.h"
#include "schedule/program.h"
#include "support/hash.h"
#include "te/access.h"

namespace tenon::measure {
namespace {

using schedule::LoopId;
using schedule::LoopKind;
using schedule::Mark;
using schedule::StageId;

constexpr double kCycle_s = 0.3e-9;
constexpr double kFork_s = 3e-6;
constexpr double kCacheBytes = 32 << 10;

struct LoopTerm {
  const schedule::Loop* loop;
  int64_t extent;
};

class Cost {
 public:
  Cost(const schedule::State& s, const schedule::Bounds& bounds, int threads)
      : s_(s), b_(bounds), threads_(threads) {}

  double seconds() const {
    double total = 0;
    for (const StageId id : s_.order()) {
      const schedule::Stage& st = s_.stage(id);
      if (st.is_input() || st.place == schedule::Place::kInlined) continue;
      total += stage_seconds(st);
    }
    return total;
  }

 private:
  // Its own loops, inside those that it is attached to.
  std::vector<LoopTerm> nest(const schedule::Stage& st) const {
    std::vector<LoopTerm> terms;
    if (st.place == schedule::Place::kAt) {
      const schedule::Stage& at = s_.stage(st.at_stage);
      terms = nest(at);
      // Loops of `at` inside the attachment do not enclose the stage.
      const size_t inner = at.leaves.size() - 1 - static_cast<size_t>(at.position(st.at_loop));
      terms.resize(terms.size() - std::min(inner, terms.size()));
    }
    const auto& extents = b_.stages[static_cast<size_t>(st.id)].extents;
    for (const LoopId l : st.leaves) {
      terms.push_back({&st.loop(l), std::max<int64_t>(1, extents[static_cast<size_t>(l)])});
    }
    return terms;
  }

  double stage_seconds(const schedule::Stage& st) const {
    const std::vector<LoopTerm> terms = nest(st);
    double iterations = 1;
    double lanes = 1;
    double unrolled = 1;
    int64_t parallel = 1;
    for (const LoopTerm& t : terms) {
      iterations *= static_cast<double>(t.extent);
      // Groups of a dot product are one instruction too.
      const bool vector = t.loop->mark == Mark::kVectorize || t.loop->mark == Mark::kTensorize;
      if (vector) lanes *= static_cast<double>(t.extent);
      if (t.loop->mark == Mark::kUnroll) unrolled *= static_cast<double>(t.extent);
      if (t.loop->mark == Mark::kParallel) parallel *= t.extent;
    }
    const double width = s_.target().lanes(st.buffer.dtype().bytes());
    const double used = std::min(lanes, width) * (lanes > width         ? 1.0
                                                  : lanes / width > 0.5 ? 1
                                                                        : 0.8);
    const double overhead = 1 + 2 / std::max(1.0, std::min(unrolled + lanes / width, 32.0));
    double cycles = iterations / std::max(1.0, used) * overhead * cache_factor(st, terms);
    if (unrolled > 512) cycles *= 1 + unrolled / 2048;  // code that no longer fits
    const double shares = std::min<double>(static_cast<double>(parallel), threads_);
    const double rounds = std::ceil(static_cast<double>(parallel) / shares) * shares;
    const double fill = static_cast<double>(parallel) / rounds;
    return cycles * kCycle_s / std::max(1.0, shares * fill) + (parallel > 1 ? kFork_s : 0);
  }

  // How many bytes the innermost loops touch until a tile's worth of cache is full: the later, the better.
  double cache_factor(const schedule::Stage& st, const std::vector<LoopTerm>& terms) const {
    double bytes = static_cast<double>(st.buffer.dtype().bytes());
    double work = 1;
    size_t inside = 0;
    for (size_t i = terms.size(); i-- > 0;) {
      const bool reduce = terms[i].loop->kind == LoopKind::kReduce;
      const double e = static_cast<double>(terms[i].extent);
      if (bytes * e > kCacheBytes) break;
      bytes *= e;
      work *= reduce ? e * 1.5 : e;
      ++inside;
    }
    const double reuse = std::log2(1 + work) + static_cast<double>(inside);
    return 1 + 8 / (1 + reuse);
  }

  const schedule::State& s_;
  const schedule::Bounds& b_;
  int threads_;
};

class Sim : public Measurer {
 public:
  explicit Sim(const SimOptions& options) : options_(options) {}

  std::string target(const target::Target&) const override {
    return "sim " + std::to_string(options_.seed);
  }
  std::string protocol() const override { return to_string(options_.protocol); }

  std::vector<task::Measurement> measure(const task::Task& t,
                                         std::span<const schedule::Trace> traces, double,
                                         const std::function<bool()>& stop) override {
    std::vector<task::Measurement> out;
    for (const schedule::Trace& trace : traces) {
      if (stop && stop()) break;
      out.push_back(one(t, trace, 0));
    }
    return out;
  }

  std::string verify(const task::Task& t, const schedule::Trace& trace) override {
    return draw(t, trace, 3) < options_.failures / 4 ? "an element differs (pretended)" : "";
  }

  std::vector<task::Measurement> finals(const task::Task& t,
                                        std::span<const schedule::Trace> traces, double) override {
    std::vector<task::Measurement> out;
    for (const schedule::Trace& trace : traces) out.push_back(one(t, trace, 1));
    return out;
  }

 private:
  // In [0, 1), the same for the same seed, task, trace and purpose.
  double draw(const task::Task& t, const schedule::Trace& trace, int purpose) const {
    Hasher h;
    h.add(options_.seed).add(t.key).add(schedule::hash(trace)).add(purpose);
    return static_cast<double>(h.value() >> 11) * 0x1.0p-53;
  }

  task::Measurement one(const task::Task& t, const schedule::Trace& trace, int round) const {
    task::Measurement m;
    m.task = t.key;
    m.target = target(*t.target);
    m.protocol = protocol();
    m.trace = schedule::to_json(trace);
    const double luck = draw(t, trace, 10);
    if (luck < options_.failures) {
      constexpr task::Outcome kFaults[] = {task::Outcome::kCompileTimeout, task::Outcome::kRunCrash,
                                           task::Outcome::kRunTimeout};
      m.outcome = kFaults[static_cast<size_t>(luck / options_.failures * 3) % 3];
      m.error = "pretended";
      return m;
    }
    const schedule::State initial(t.dag, t.target);
    const auto state = schedule::replay(initial, trace);
    const auto bounds =
        state ? schedule::infer_bounds(*state) : Result<schedule::Bounds>(state.illegal());
    if (!bounds || !schedule::check_program(*state, *bounds)) {
      m.outcome = task::Outcome::kRefused;
      m.error = "the program does not fit the target";
      return m;
    }
    const double exact = Cost(*state, *bounds, options_.protocol.threads).seconds();
    for (int r = 0; r < 3; ++r) {
      m.seconds.push_back(exact * (1 + options_.noise * draw(t, trace, 100 + 10 * round + r)));
    }
    std::vector<double> sorted = m.seconds;
    std::sort(sorted.begin(), sorted.end());
    m.best_s = m.low_s = sorted.front();
    m.median_s = sorted[1];
    m.high_s = sorted.back();
    return m;
  }

  SimOptions options_;
};

}  // namespace

std::unique_ptr<Measurer> sim_measurer(const SimOptions& options) {
  return std::make_unique<Sim>(options);
}

}  // namespace tenon::measure
