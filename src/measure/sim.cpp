// SPDX-License-Identifier: Apache-2.0
// A pretend device for tests of search: the time of a program is computed from its loops (sim_cost.h), the same on every
// machine for the same seed.
#include <algorithm>

#include "measure/at_once.h"
#include "measure/sim_cost.h"
#include "support/hash.h"
#include "task/serve.h"

namespace tenon::measure {
namespace {

class Sim : public AtOnce {
 public:
  explicit Sim(const SimOptions& options) : options_(options) {}

  std::string target(const target::Target&) const override {
    return "sim " + std::to_string(options_.seed);
  }
  std::string protocol() const override { return to_string(options_.protocol); }

  bool overlaps() const override { return options_.overlaps; }

  Verdict verify(const task::Task& t, const schedule::Trace& trace) override {
    if (draw(t, trace, 3) >= options_.failures / 4) return {};
    return {Verdict::Kind::kWrong, "an element differs (pretended)"};
  }

  std::vector<task::Measurement> finals(const task::Task& t,
                                        std::span<const schedule::Trace> traces, double) override {
    std::vector<task::Measurement> out;
    for (const schedule::Trace& trace : traces) out.push_back(timed(t, trace, 1));
    return out;
  }

 protected:
  task::Measurement one(const task::Task& t, const schedule::Trace& trace) override {
    return timed(t, trace, 0);
  }

 private:
  // In [0, 1), the same for the same seed, task, trace and purpose.
  double draw(const task::Task& t, const schedule::Trace& trace, int purpose) const {
    Hasher h;
    h.add(options_.seed).add(t.key).add(schedule::hash(trace)).add(purpose);
    return static_cast<double>(h.value() >> 11) * 0x1.0p-53;
  }

  task::Measurement timed(const task::Task& t, const schedule::Trace& trace, int round) const {
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
    const task::Served program = task::serve(t, trace);
    if (!program) {
      m.outcome = task::Outcome::kRefused;
      m.error = program.why;
      return m;
    }
    const double exact =
        pretend_seconds(program->state, program->bounds, options_.protocol.threads);
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
