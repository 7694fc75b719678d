// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/kernels/sources.h"
#include "timing/ceilings.h"
#include "timing/machine.h"

namespace tenon::bench {
namespace {

using nlohmann::json;

constexpr const char* kPeers[] = {"openblas", "onednn", "onednn_winograd", "loops"};

std::string estimator_text(const timing::Protocol& p) {
  return fmt::format(
      "best run of {} interleaved rounds of {:.0f} ms each; spread = median / best - 1", p.rounds,
      p.turn_s * 1e3);
}

// "1.07x (109.5)": ours over the peer, and the peer's own GFLOP/s.
std::string peer_text(const Row& row, const char* peer) {
  const Entry* e = row.find(peer);
  if (e == nullptr) {
    return "-";
  }
  const double ratio = row.ratio(peer);
  return ratio > 0 ? fmt::format("{:.2f}x ({:.1f})", ratio, row.gflops(*e))
                   : fmt::format("({:.1f})", row.gflops(*e));
}

json entry_json(const Row& row, const Entry& e) {
  json j = {{"name", e.name}, {"error", e.error}};
  if (!e.fault.empty()) {
    j["fault"] = e.fault;
    return j;
  }
  j.update({{"gflops", row.gflops(e)},
            {"peak_share", row.share(e)},
            {"best_s", e.timing.best_s},
            {"median_s", e.timing.median_s},
            {"p90_s", e.timing.p90_s},
            {"spread", e.timing.spread()},
            {"samples", e.timing.samples},
            {"cpus", e.timing.cpus}});
  return j;
}

json row_json(const Row& row) {
  const Entry* ours = row.find("tenon");
  json vs = json::object();
  for (const char* peer : kPeers) {
    if (const double ratio = row.ratio(peer); ratio > 0) {
      vs[peer] = ratio;
    }
  }
  json entries = json::array();
  for (const Entry& e : row.entries) {
    entries.push_back(entry_json(row, e));
  }
  return {{"op", row.workload.op},
          {"shape", row.workload.shape},
          {"threads", row.threads},
          {"gflops", ours != nullptr ? json(row.gflops(*ours)) : json(nullptr)},
          {"peak_share", ours != nullptr ? json(row.share(*ours)) : json(nullptr)},
          {"vs", vs},
          {"compile_ms", ours != nullptr ? json(ours->compile_ms) : json(nullptr)},
          {"template", ours != nullptr ? json(ours->detail) : json(nullptr)},
          {"spread", ours != nullptr ? json(ours->timing.spread()) : json(nullptr)},
          {"share_of", row.workload.bound() == Bound::kCompute ? "fma peak" : "triad"},
          {"row_peak_gflops", row.peak_gflops},
          {"row_bandwidth_gbs", row.bandwidth_gbs},
          {"placement", row.placement()},
          {"fork_join_us", row.fork_join_us},
          {"flops", row.workload.flops()},
          {"bytes", row.workload.bytes()},
          {"contestants", entries}};
}

}  // namespace

std::string header_text(const timing::Protocol& protocol) {
  std::string peers;
  for (const SourceRow& s : all_sources()) {
    peers += fmt::format("{}{} {}", peers.empty() ? "" : ", ", s.name, s.version);
  }
  return fmt::format(
      "machine    {}; {}\ncompiler   {}\nclock      {}\nestimator  {}\nmeasured   {}\n"
      "share      of the FMA peak, or (b) of the bandwidth of a triad over as many bytes, measured "
      "inside each row\n"
      "peers      how many times as fast as the peer tenon is, and the peer's GFLOP/s\n",
      timing::machine_text(), timing::vector_text(), timing::compiler_text(), timing::clock_text(),
      estimator_text(protocol), peers);
}

std::string column_text() {
  return fmt::format(
      "{:<21} {:<15} {:>2} {:>9} {:>8} {:>16} {:>16} {:>16} {:>16} {:>8} {:>7} {:>8} {}\n", "op",
      "shape", "T", "GFLOP/s", "share", "openblas", "onednn", "onednn winograd", "loops", "compile",
      "spread", "peak", "placement");
}

std::string row_text(const Row& row) {
  const Entry* ours = row.find("tenon");
  const bool memory = row.workload.bound() == Bound::kMemory;
  std::string line =
      fmt::format("{:<21} {:<15} {:>2}", row.workload.op, row.workload.shape, row.threads);
  line += fmt::format(" {:>9}", ours == nullptr ? "-" : fmt::format("{:.1f}", row.gflops(*ours)));
  line += fmt::format(
      " {:>8}",
      ours == nullptr ? "-" : fmt::format("{:.0f}%{}", 100 * row.share(*ours), memory ? " b" : ""));
  for (const char* peer : kPeers) {
    line += fmt::format(" {:>16}", peer_text(row, peer));
  }
  line += fmt::format(" {:>8}", ours == nullptr ? "-" : fmt::format("{:.0f} ms", ours->compile_ms));
  line += fmt::format(" {:>7}",
                      ours == nullptr ? "-" : fmt::format("{:.1f}%", 100 * ours->timing.spread()));
  line += fmt::format(" {:>8.1f} {}\n", row.peak_gflops, row.placement());
  for (const Entry& e : row.entries) {
    if (!e.fault.empty()) {
      line += fmt::format("  {}: {}\n", e.name, e.fault);
    } else if (e.timing.cpus > row.threads + 0.2) {
      line +=
          fmt::format("  {}: used {:.2f} CPUs, {} asked for\n", e.name, e.timing.cpus, row.threads);
    }
  }
  return line;
}

std::string json_text(const std::vector<Row>& rows, const timing::Protocol& protocol) {
  std::map<int, double> peaks;
  json list = json::array();
  for (const Row& row : rows) {
    peaks[row.threads] = std::max(peaks[row.threads], row.peak_gflops);
    list.push_back(row_json(row));
  }
  json by_threads = json::object();
  for (const auto& [threads, peak] : peaks) {
    by_threads[std::to_string(threads)] = peak;
  }
  const double one = peaks.empty() ? 0 : peaks.begin()->second / peaks.begin()->first;
  const json out = {{"peak_gflops", one},
                    {"peak_gflops_by_threads", by_threads},
                    {"machine", timing::machine_text()},
                    {"compiler", timing::compiler_text()},
                    {"clock", timing::clock_text()},
                    {"estimator", estimator_text(protocol)},
                    {"repeats", protocol.rounds},
                    {"rows", list}};
  return out.dump(1) + "\n";
}

}  // namespace tenon::bench
