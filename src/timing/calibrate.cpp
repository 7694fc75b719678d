// SPDX-License-Identifier: Apache-2.0
#include "timing/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "support/check.h"
#include "tenon/runtime.h"
#include "timing/ceilings.h"
#include "timing/turns.h"

namespace tenon::timing {
namespace {

constexpr const char* kFirstLine = "tenon.calibration/1";
constexpr double kEnough = 0.95;  // of the most that all cores read

// A pool of threads that ends with its owner.
class Threads {
 public:
  explicit Threads(int count) : runtime_(tenon_runtime_create(count)) {
    if (runtime_ == nullptr) throw UserError(fmt::format("cannot start {} threads", count));
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { tenon_runtime_destroy(runtime_); }
  const tenon_runtime* get() const { return runtime_; }

 private:
  const tenon_runtime* runtime_;
};

double per_second(const Ceiling& ceiling) {
  Protocol protocol;
  protocol.rounds = 6;
  return ceiling.amount / measure({ceiling.contestant}, protocol).front().best_s;
}

// More than the caches hold, less than a small machine has.
int64_t beyond_caches(const target::Cpu& host) {
  const int64_t last = std::max(host.l3_bytes, host.l2_bytes);
  return std::clamp<int64_t>(3 * last, 64 << 20, 1 << 30);
}

std::vector<int> counts_up_to(int cores) {
  std::vector<int> counts;
  for (int n = 1; n < cores; n *= 2) counts.push_back(n);
  counts.push_back(cores);
  return counts;
}

double most_read(const Calibration& c) {
  double most = 0;
  for (const Calibration::Memory& m : c.memory) most = std::max(most, m.bytes_per_s);
  return most;
}

}  // namespace

Calibration calibrate() {
  const target::Target host = target::host_target();
  Calibration c{.machine = host.fingerprint()};
  {
    const Threads one(1);
    c.flops_per_s = per_second(fma_ceiling(one.get()));
    c.cached_bytes_per_s = per_second(triad_ceiling(one.get(), host.cpu().l2_bytes / 2));
  }
  for (const int cores : counts_up_to(host.cpu().cores)) {
    const Threads some(cores);
    c.memory.push_back({cores, per_second(read_ceiling(some.get(), beyond_caches(host.cpu())))});
  }
  return c;
}

target::Rates rates_of(const Calibration& c) {
  TENON_CHECK(!c.memory.empty() && c.memory.front().cores == 1);
  const double one = c.memory.front().bytes_per_s;
  target::Rates r{.flops_per_byte = c.flops_per_s / one,
                  .flops_per_cached_byte = c.flops_per_s / c.cached_bytes_per_s};
  const auto enough = std::find_if(
      c.memory.begin(), c.memory.end(),
      [&](const Calibration::Memory& m) { return m.bytes_per_s >= kEnough * most_read(c); });
  // One core tells nothing about further ones.
  if (c.memory.size() == 1) return r;
  r.bandwidth_cores = enough->cores;
  r.bandwidth_per_core =
      enough->cores == 1 ? 0 : std::max(0.0, enough->bytes_per_s / one - 1) / (enough->cores - 1);
  return r;
}

std::string to_text(const Calibration& c) {
  std::string text =
      fmt::format("{}\n{}\n{} {}\n", kFirstLine, c.machine, c.flops_per_s, c.cached_bytes_per_s);
  for (const Calibration::Memory& m : c.memory)
    text += fmt::format("{} {}\n", m.cores, m.bytes_per_s);
  return text;
}

std::optional<Calibration> read_calibration(const std::string& text, const target::Target& host) {
  std::istringstream in(text);
  std::string first;
  Calibration c;
  if (!std::getline(in, first) || first != kFirstLine || !std::getline(in, c.machine) ||
      c.machine != host.fingerprint() || !(in >> c.flops_per_s >> c.cached_bytes_per_s))
    return std::nullopt;
  for (Calibration::Memory m; in >> m.cores >> m.bytes_per_s;) c.memory.push_back(m);
  const auto positive = [](const Calibration::Memory& m) {
    return m.cores > 0 && m.bytes_per_s > 0;
  };
  const bool whole = in.eof() && !c.memory.empty() && c.memory.front().cores == 1 &&
                     std::all_of(c.memory.begin(), c.memory.end(), positive);
  if (!whole || c.flops_per_s <= 0 || c.cached_bytes_per_s <= 0) return std::nullopt;
  return c;
}

}  // namespace tenon::timing
