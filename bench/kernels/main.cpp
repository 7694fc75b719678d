// SPDX-License-Identifier: Apache-2.0
// bench_kernels: speed of single kernels beside the machine's ceilings and beside other libraries.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <memory>

#include "bench/kernels/report.h"
#include "timing/machine.h"

namespace tenon::bench {
namespace {

struct Options {
  std::string filter;
  std::vector<int> threads;
  std::string json;
  bool quick = false;
  int repeat = 10;
};

struct Destroy {
  void operator()(const tenon_runtime* rt) const { tenon_runtime_destroy(rt); }
};
using Runtimes = std::map<int, std::unique_ptr<const tenon_runtime, Destroy>>;

// Before anything is pinned: workers take their CPUs from the mask they are born with.
Runtimes start_runtimes(const std::vector<int>& threads) {
  Runtimes all;
  for (const int count : threads) {
    const tenon_runtime* rt = tenon_runtime_create(count);
    if (rt == nullptr) {
      throw std::runtime_error(fmt::format("cannot start {} threads", count));
    }
    all[count].reset(rt);
  }
  return all;
}

bool wanted(const Workload& w, const std::string& filter) {
  return (w.op + " " + w.shape).find(filter) != std::string::npos;
}

int run(const Options& options) {
  const Runtimes runtimes = start_runtimes(options.threads);
  timing::Protocol protocol;
  protocol.rounds = options.quick ? 2 : options.repeat;
  protocol.turn_s = options.quick ? 0.003 : 0.03;
  fmt::print("{}\n{}", header_text(protocol), column_text());
  std::vector<Row> rows;
  bool faulty = false;
  for (const Workload& w : all_workloads()) {
    if (!wanted(w, options.filter)) {
      continue;
    }
    const Data data = make_data(w);
    for (const int threads : options.threads) {
      rows.push_back(run_row(w, data, runtimes.at(threads).get(), protocol));
      faulty |= rows.back().faulty();
      fmt::print("{}", row_text(rows.back()));
      std::fflush(stdout);
    }
  }
  if (!options.json.empty()) {
    std::ofstream out(options.json);
    out << json_text(rows, protocol);
    if (!out.flush()) {
      throw std::runtime_error("cannot write " + options.json);
    }
  }
  if (rows.empty()) {
    fmt::print(stderr, "bench_kernels: no kernel matches '{}'\n", options.filter);
    return 2;
  }
  return faulty ? 1 : 0;
}

}  // namespace
}  // namespace tenon::bench

int main(int argc, char** argv) {
  using tenon::bench::Options;
  Options options;
  CLI::App app(
      "Speed of single kernels, beside the machine's ceilings and beside other libraries.");
  app.add_option("--filter", options.filter, "only rows whose \"op shape\" contains this");
  app.add_option("--threads", options.threads, "thread counts, as 1,2 (default: 1 and all CPUs)")
      ->delimiter(',');
  app.add_option("--json", options.json, "also write the report to this file");
  app.add_option("--repeat", options.repeat, "rounds in which all contestants take a turn")
      ->capture_default_str();
  app.add_flag("--quick", options.quick,
               "two short rounds: shows that everything works, not how fast it is");
  CLI11_PARSE(app, argc, argv);
  if (options.threads.empty()) {
    options.threads = {1};
    if (const size_t cpus = tenon::timing::usable_cpus().size(); cpus > 1) {
      options.threads.push_back(static_cast<int>(cpus));
    }
  }
  try {
    return tenon::bench::run(options);
  } catch (const std::exception& e) {
    fmt::print(stderr, "bench_kernels: {}\n", e.what());
    return 1;
  }
}
