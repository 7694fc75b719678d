// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/run.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <thread>

#include "timing/ceilings.h"
#include "timing/machine.h"

namespace tenon::bench {
namespace {

// Longer than the idle workers of OpenMP and OpenBLAS spin.
constexpr double kSettleS = 0.04;

// Empty when the contestant's first run gives the right answer.
std::string verify(const timing::Contestant& c, const Data& data, double& error) {
  c.run();
  error = error_of(c.output(), data.reference);
  return error <= kTolerance
             ? ""
             : fmt::format("WRONG (error {:.2g}, allowed {:.0e})", error, kTolerance);
}

// A contestant that may be timed, with the index of its entry.
struct Starter {
  timing::Contestant contestant;
  size_t entry;
};

// Fills `entries` with every contestant, also those that fail.
std::vector<Starter> line_up(const Workload& w, const Data& data, const tenon_runtime* rt,
                             const std::vector<SourceRow>& sources, std::vector<Entry>& entries) {
  std::vector<Starter> starters;
  for (const SourceRow& source : sources) {
    try {
      for (timing::Contestant& c : source.make(w, data, rt)) {
        Entry entry{.name = c.name, .detail = c.detail, .compile_ms = c.compile_ms};
        entry.fault = verify(c, data, entry.error);
        if (entry.fault.empty()) {
          starters.push_back({std::move(c), entries.size()});
        }
        entries.push_back(entry);
      }
    } catch (const std::exception& e) {
      entries.push_back({.name = source.name, .fault = fmt::format("FAILED ({})", e.what())});
    }
  }
  return starters;
}

}  // namespace

const Entry* Row::find(const std::string& name) const {
  for (const Entry& e : entries) {
    if (e.name == name && e.fault.empty()) {
      return &e;
    }
  }
  return nullptr;
}

bool Row::faulty() const {
  for (const Entry& e : entries) {
    if (!e.fault.empty()) {
      return true;
    }
  }
  return false;
}

double Row::share(const Entry& e) const {
  return workload.bound() == Bound::kCompute
             ? gflops(e) / peak_gflops
             : workload.bytes() / e.timing.best_s * 1e-9 / bandwidth_gbs;
}

double Row::ratio(const std::string& peer) const {
  const Entry* ours = find("tenon");
  const Entry* theirs = find(peer);
  return ours == nullptr || theirs == nullptr ? 0 : theirs->timing.best_s / ours->timing.best_s;
}

std::string Row::placement() const {
  const std::string before = timing::placement_text(fork_join_us[0]);
  return before == timing::placement_text(fork_join_us[1]) ? before : "moved";
}

Row run_row(const Workload& w, const Data& data, const tenon_runtime* rt, timing::Protocol protocol,
            const std::vector<SourceRow>& sources) {
  Row row;
  row.workload = w;
  row.threads = rt->threads;
  const std::vector<Starter> starters = line_up(w, data, rt, sources, row.entries);
  const timing::Pinned pinned(
      rt->threads);  // only now: pools that start in a first run inherit the mask
  std::vector<timing::Contestant> contestants;
  for (const Starter& s : starters) {
    contestants.push_back(s.contestant);
  }
  const timing::Ceiling peak = timing::fma_ceiling(rt);
  const bool memory = w.bound() == Bound::kMemory;
  const timing::Ceiling triad =
      timing::triad_ceiling(rt, memory ? static_cast<int64_t>(w.bytes()) : 0);
  contestants.push_back(peak.contestant);
  if (memory) {
    contestants.push_back(triad.contestant);
  }
  protocol.settle_s = rt->threads > 1 ? kSettleS : 0;
  std::this_thread::sleep_for(std::chrono::duration<double>(kSettleS));
  row.fork_join_us[0] = timing::fork_join_us(rt);
  const std::vector<timing::Timing> timings = measure(contestants, protocol);
  row.fork_join_us[1] = timing::fork_join_us(rt);
  for (size_t i = 0; i < starters.size(); ++i) {
    row.entries[starters[i].entry].timing = timings[i];
  }
  row.peak_gflops = peak.amount / timings[starters.size()].best_s * 1e-9;
  row.bandwidth_gbs = memory ? triad.amount / timings.back().best_s * 1e-9 : 0;
  return row;
}

}  // namespace tenon::bench
