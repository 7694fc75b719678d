// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/bench/model.h"

#include <fmt/format.h>

#include <algorithm>

#include "artifact/loaded_session.h"
#include "measure/handoff.h"
#include "runtime/pool.h"
#include "target/target.h"
#include "timing/latency.h"
#include "timing/machine.h"
#include "timing/machine_state.h"
#include "tools/tenon/json.h"
#include "tools/tenon/model_program.h"
#include "tools/tenon/model_source.h"
#include "tools/tenon/tensors.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

struct BenchRow {
  int threads = 1;
  timing::Latency latency;
  double handoff_ns = 0;  // before or after, the larger; 0: one thread, or not known
};

// Writes over more memory than the caches hold.
class CacheFlush {
 public:
  CacheFlush()
      : memory_(static_cast<size_t>(
            2 * std::max<int64_t>(target::host_target().cpu().l3_bytes, 32 << 20))) {}
  void operator()() {
    for (size_t i = 0; i < memory_.size(); i += 64) {
      memory_[i] = static_cast<char>(memory_[i] + 1);
    }
  }

 private:
  std::vector<char> memory_;
};

BenchRow measure_row(const artifact::Model& model, const std::vector<ir::Array>& inputs,
                     int threads, const ModelBenchOptions& options) {
  artifact::LoadedSession session(model, threads, inputs);
  timing::LatencyProtocol protocol{
      options.warmup_ms * 1e-3, options.duration_s, options.iterations, {}};
  if (options.cold_cache) {
    protocol.before_each = [flush = std::make_shared<CacheFlush>()] { (*flush)(); };
  }
  // No more run than there are CPUs, whatever the session was asked for.
  const int actual = runtime::plan_pool(session.session().threads()).threads;
  const timing::Pinned pinned(actual);
  const double before_ns = actual > 1 ? measure::handoff_ns() : 0;
  const timing::Latency latency = timing::measure_latency([&] { session.run(); }, protocol);
  return {actual, latency, actual > 1 ? std::max(before_ns, measure::handoff_ns()) : 0};
}

std::string percent_name(double percent) { return fmt::format("p{:g}", percent); }

Json row_json(const BenchRow& row, const std::vector<double>& percents) {
  const timing::Latency& l = row.latency;
  Json latency = {{"mean", l.mean_s() * 1e3}, {"min", l.min_s() * 1e3}};
  for (const double p : percents) {
    latency[percent_name(p)] = l.percentile_s(p) * 1e3;
  }
  latency["max"] = l.max_s() * 1e3;
  return {{"threads", row.threads},
          {"runs", l.sorted_s.size()},
          {"throughput_per_s", 1 / l.mean_s()},
          {"latency_ms", latency},
          {"ci95_p50_ms", l.median_ci95_s() * 1e3},
          {"handoff_ns", row.handoff_ns > 0 ? Json(row.handoff_ns) : Json()}};
}

Json to_json(const artifact::Model& model, const std::vector<BenchRow>& rows,
             const std::vector<double>& percents, const ModelBenchOptions& options) {
  Json environment = Json::object();
  Json warnings = Json::array();
  for (const timing::Fact& fact : timing::examine_this_machine()) {
    environment[fact.name] = fact.value;
    if (fact.health == timing::Health::kDisturbing) {
      warnings.push_back(fact.name);
    }
  }
  const Json manifest = Json::parse(model.manifest());
  Json answer = {
      {"schema", "tenon.bench/1"},
      {"model",
       {{"name", model.name()}, {"provenance", manifest.value("provenance", Json::object())}}},
      {"target", manifest.value("target", Json::object())},
      {"protocol",
       {{"warmup_ms", options.warmup_ms},
        {"duration_s", options.duration_s},
        {"iterations", options.iterations},
        {"cold_cache", options.cold_cache},
        {"clock", "CLOCK_MONOTONIC"}}}};
  Json list = Json::array();
  for (const BenchRow& row : rows) {
    list.push_back(row_json(row, percents));
  }
  if (rows.size() == 1) {
    answer.update(list[0]);  // so that `jq .latency_ms.p99` works
  }
  answer["rows"] = list;
  answer["environment"] = environment;
  answer["warnings"] = warnings;
  return answer;
}

std::string row_text(const BenchRow& row, const std::vector<double>& percents) {
  const timing::Latency& l = row.latency;
  const bool micro = l.percentile_s(50) < 1e-3;
  const double unit = micro ? 1e6 : 1e3;
  std::string text = fmt::format("{}  throughput {:.1f} /s  threads {}\n",
                                 counted(l.sorted_s.size(), "run"), 1 / l.mean_s(), row.threads);
  text += fmt::format("latency  mean {:.3f}  min {:.3f}", l.mean_s() * unit, l.min_s() * unit);
  for (const double p : percents) {
    text += fmt::format("  {} {:.3f}", percent_name(p), l.percentile_s(p) * unit);
  }
  text += fmt::format("  max {:.3f} {}  ci95(p50) +-{:.3f}\n", l.max_s() * unit,
                      micro ? "us" : "ms", l.median_ci95_s() * unit);
  if (row.handoff_ns > measure::kApartNs) {
    text += fmt::format("the cores shared no cache for a part of this: {:.0f} ns to and fro\n",
                        row.handoff_ns);
  }
  return text;
}

}  // namespace

int bench_model(const ModelBenchOptions& options, const Console& console) {
  const std::vector<double> percents = parse_percentiles(options.percentiles);
  const std::vector<int> threads =
      options.threads.empty() ? std::vector<int>{0} : parse_counts("--threads", options.threads);
  const LoadedModel loaded(options.model, console);
  const std::vector<ir::Array> inputs =
      load_inputs(options.inputs, inputs_at(loaded.model(), options.model), loaded.model().dims());
  std::vector<BenchRow> rows;
  for (const int n : threads) {
    rows.push_back(measure_row(loaded.model(), inputs, n, options));
  }
  if (console.json()) {
    console.answer(to_text(to_json(loaded.model(), rows, percents, options)));
    return 0;
  }
  std::string text;
  for (const BenchRow& row : rows) {
    text += row_text(row, percents);
  }
  console.answer(text);
  for (const timing::Fact& fact : timing::examine_this_machine()) {
    if (fact.health == timing::Health::kDisturbing) {
      console.info(fmt::format("note     {}: {}", fact.name, fact.value));
    }
  }
  return 0;
}

}  // namespace tenon::tools
