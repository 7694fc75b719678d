// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/bench/streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "artifact/loaded_session.h"
#include "runtime/cpus.h"
#include "runtime/pool.h"
#include "timing/latency.h"
#include "tools/tenon/json.h"
#include "tools/tenon/model_program.h"
#include "tools/tenon/model_source.h"
#include "tools/tenon/tensors.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Setting {
  int streams = 1, threads = 1;
};

struct StreamRow {
  Setting setting;
  timing::Latency latency;  // of single runs
  double runs_per_s = 0;    // of all streams together
};

// All streams begin when the last one has warmed up, and end together.
struct Gate {
  explicit Gate(int streams) : left(streams) {}
  std::atomic<int> left;
  std::atomic<bool> stop{false};
  void wait() {
    for (--left; left > 0 && !stop;) std::this_thread::yield();
  }
};

struct Stream {
  std::vector<double> times_s;
  std::exception_ptr failure;
};

void run_stream(const artifact::Model& model, const std::vector<ir::Array>& inputs, int threads,
                const ModelBenchOptions& options, Gate& gate, Stream& out) {
  try {
    artifact::LoadedSession session(model, threads, inputs);
    const auto warm = Clock::now();
    do session.run();
    while (seconds_since(warm) < options.warmup_ms * 1e-3);
    gate.wait();
    const auto begin = Clock::now();
    const auto least = static_cast<size_t>(options.iterations);
    while (!gate.stop &&
           (seconds_since(begin) < options.duration_s || out.times_s.size() < least)) {
      const auto start = Clock::now();
      session.run();
      out.times_s.push_back(seconds_since(start));
    }
  } catch (...) {
    out.failure = std::current_exception();
  }
  gate.stop = true;
}

StreamRow measure_streams(const artifact::Model& model, const std::vector<ir::Array>& inputs,
                          Setting setting, const ModelBenchOptions& options) {
  Gate gate(setting.streams);
  std::vector<Stream> streams(static_cast<size_t>(setting.streams));
  std::vector<std::thread> threads;
  for (Stream& stream : streams) {
    threads.emplace_back(
        [&] { run_stream(model, inputs, setting.threads, options, gate, stream); });
  }
  for (std::thread& t : threads) t.join();
  StreamRow row{setting, {}, 0};
  for (const Stream& stream : streams) {
    if (stream.failure) std::rethrow_exception(stream.failure);
    double total_s = 0;
    for (const double s : stream.times_s) total_s += s;
    if (total_s > 0) row.runs_per_s += static_cast<double>(stream.times_s.size()) / total_s;
    row.latency.total_s += total_s;
    row.latency.sorted_s.insert(row.latency.sorted_s.end(), stream.times_s.begin(),
                                stream.times_s.end());
  }
  std::sort(row.latency.sorted_s.begin(), row.latency.sorted_s.end());
  row.setting.threads = runtime::plan_pool(setting.threads).threads;  // no more run
  return row;
}

// Streams that fill the cores: one thread each, then twice as many each time, at last all for one.
//   6 cores   =>   6 x 1, 3 x 2, 1 x 4, 1 x 6
std::vector<Setting> settings_for(int cores) {
  std::vector<Setting> all;
  for (int threads = 1; threads < cores; threads *= 2) all.push_back({cores / threads, threads});
  all.push_back({1, cores});
  return all;
}

std::vector<Setting> settings_of(const ModelBenchOptions& options, const StreamOptions& streams) {
  if (streams.throughput) return settings_for(runtime::default_threads());
  std::vector<Setting> all;
  for (const int s : parse_counts("--streams", streams.streams)) {
    if (options.threads.empty()) {
      all.push_back({s, std::max(1, runtime::default_threads() / s)});
      continue;
    }
    for (const int t : parse_counts("--threads", options.threads)) all.push_back({s, t});
  }
  return all;
}

Json row_json(const StreamRow& row, const std::vector<double>& percents) {
  Json latency = {{"mean", row.latency.mean_s() * 1e3}};
  for (const double p : percents) {
    latency[fmt::format("p{:g}", p)] = row.latency.percentile_s(p) * 1e3;
  }
  return {{"streams", row.setting.streams},
          {"threads", row.setting.threads},
          {"runs", row.latency.sorted_s.size()},
          {"throughput_per_s", row.runs_per_s},
          {"latency_ms", latency}};
}

std::string row_text(const StreamRow& row, const std::vector<double>& percents) {
  const bool micro = row.latency.percentile_s(50) < 1e-3;
  const double unit = micro ? 1e6 : 1e3;
  std::string text =
      fmt::format("{:>11} x {:>10}  throughput {:>9.1f} /s  latency  mean {:.3f}",
                  counted(row.setting.streams, "stream"), counted(row.setting.threads, "thread"),
                  row.runs_per_s, row.latency.mean_s() * unit);
  for (const double p : percents) {
    text += fmt::format("  p{:g} {:.3f}", p, row.latency.percentile_s(p) * unit);
  }
  return text + (micro ? " us\n" : " ms\n");
}

}  // namespace

int bench_streams(const ModelBenchOptions& options, const StreamOptions& streams,
                  const Console& console) {
  const std::vector<double> percents = parse_percentiles(options.percentiles);
  const std::vector<Setting> settings = settings_of(options, streams);
  const LoadedModel loaded(options.model, console);
  const std::vector<ir::Array> inputs =
      load_inputs(options.inputs, inputs_at(loaded.model(), options.model), loaded.model().dims());
  std::string text;
  Json rows = Json::array();
  StreamRow best;
  for (const Setting& setting : settings) {
    StreamRow row = measure_streams(loaded.model(), inputs, setting, options);
    text += row_text(row, percents);
    rows.push_back(row_json(row, percents));
    if (row.runs_per_s > best.runs_per_s) best = std::move(row);
  }
  if (streams.throughput) {
    text += fmt::format("best     {} x {}: {:.1f} /s\n", counted(best.setting.streams, "stream"),
                        counted(best.setting.threads, "thread"), best.runs_per_s);
  }
  const Json answer = {{"schema", "tenon.bench-streams/1"},
                       {"model", loaded.model().name()},
                       {"rows", rows},
                       {"best", row_json(best, percents)}};
  console.answer(console.json() ? to_text(answer) : text);
  return 0;
}

}  // namespace tenon::tools
