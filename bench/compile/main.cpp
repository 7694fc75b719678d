// SPDX-License-Identifier: Apache-2.0
// bench_compile: seconds of each phase of a compilation for models of growing length, and how they
// grow.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/compile/phases.h"
#include "bench/compile/shapes.h"
#include "support/check.h"
#include "timing/machine.h"

namespace tenon::bench {
namespace {

using nlohmann::json;

constexpr double kShort = 0.02;  // seconds: less says little about how a phase grows

struct Options {
  std::vector<int64_t> sizes = {1000, 4000, 16000, 64000};
  std::string filter;
  std::string json;
  double limit_s = 120;
};

struct Measured {
  int64_t nodes;
  std::vector<Phase> phases;
  double seconds() const {
    double sum = 0;
    for (const Phase& p : phases) sum += p.seconds;
    return sum;
  }
};

struct Row {
  std::string name;
  std::vector<std::pair<double, double>> points;  // nodes and seconds
  // Only points that take long enough to be told from noise count.
  double exponent() const {
    std::vector<std::pair<double, double>> long_ones;
    for (const auto& p : points) {
      if (p.second >= kShort) long_ones.push_back(p);
    }
    return long_ones.size() < 2 ? NAN : fitted_exponent(long_ones);
  }
};

std::vector<Row> rows_of(const std::vector<Measured>& runs) {
  std::vector<Row> rows;
  for (const Measured& m : runs) {
    for (const Phase& p : m.phases) {
      auto row =
          std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.name == p.name; });
      if (row == rows.end()) row = rows.insert(rows.end(), {p.name, {}});
      row->points.emplace_back(static_cast<double>(m.nodes), p.seconds);
    }
  }
  Row all{"all", {}};
  for (const Measured& m : runs) {
    all.points.emplace_back(static_cast<double>(m.nodes), m.seconds());
  }
  rows.push_back(std::move(all));
  return rows;
}

// A size is left out, and said to be, where one before it predicts that it takes too long.
std::string why_left_out(const ChainShape& shape, int64_t nodes, const std::vector<Measured>& runs,
                         double limit_s) {
  if (nodes > shape.longest) return fmt::format("this shape ends at {} nodes", shape.longest);
  if (runs.empty()) return "";
  const double expected =
      runs.back().seconds() * static_cast<double>(nodes) / static_cast<double>(runs.back().nodes);
  if (expected <= limit_s) return "";
  return fmt::format("it would take {:.0f} s or more; --limit allows {:.0f}", expected, limit_s);
}

void print_rows(const std::vector<Row>& rows) {
  for (const Row& r : rows) {
    fmt::print("  {:<32}", r.name);
    for (const auto& p : r.points) fmt::print("{:>10.3f}", p.second);
    const double e = r.exponent();
    fmt::print("{:>10}\n", std::isnan(e) ? "-" : fmt::format("{:.2f}", e));
  }
}

json run_shape(const ChainShape& shape, const Options& o) {
  std::vector<Measured> runs;
  json left_out = json::array();
  std::string notes;
  for (const int64_t nodes : o.sizes) {
    const std::string why = why_left_out(shape, nodes, runs, o.limit_s);
    if (!why.empty()) {
      notes += fmt::format("  left out: {} nodes: {}\n", nodes, why);
      left_out.push_back({{"nodes", nodes}, {"why", why}});
      continue;
    }
    runs.push_back({nodes, time_phases(shape.write(nodes))});
  }
  fmt::print("\n{}: {}\n  {:<32}", shape.name, shape.what, "seconds, nodes:");
  for (const Measured& m : runs) fmt::print("{:>10}", m.nodes);
  fmt::print("{:>10}\n", "exponent");
  const std::vector<Row> rows = rows_of(runs);
  print_rows(rows);
  fmt::print("{}", notes);
  std::fflush(stdout);
  json phases = json::array();
  for (const Row& r : rows) {
    const double e = r.exponent();
    phases.push_back({{"phase", r.name},
                      {"nodes_and_seconds", r.points},
                      {"exponent", std::isnan(e) ? json(nullptr) : json(e)}});
  }
  return {{"shape", shape.name}, {"phases", phases}, {"left_out", left_out}};
}

int run(const Options& o) {
  fmt::print("{}\n{}, {}\n", timing::machine_text(), timing::clock_text(), timing::compiler_text());
  fmt::print(
      "processor seconds, one run each; the exponent is the slope of log(seconds) over log(nodes), "
      "of "
      "times of {} s or more\n",
      kShort);
  json all = json::array();
  for (const ChainShape& shape : chain_shapes()) {
    if (std::string(shape.name).find(o.filter) == std::string::npos) continue;
    all.push_back(run_shape(shape, o));
  }
  if (all.empty()) throw UserError(fmt::format("no shape is called '{}'", o.filter));
  if (!o.json.empty()) {
    std::ofstream out(o.json);
    out << json{{"machine", timing::machine_text()}, {"shapes", all}}.dump(1) << "\n";
    if (!out.flush()) throw UserError("cannot write " + o.json);
  }
  return 0;
}

}  // namespace
}  // namespace tenon::bench

int main(int argc, char** argv) {
  tenon::bench::Options options;
  CLI::App app("How the phases of a compilation grow with the length of a model.");
  app.add_option("--sizes", options.sizes, "nodes, ascending, as 1000,4000")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--filter", options.filter, "only shapes whose name contains this");
  app.add_option("--limit", options.limit_s,
                 "seconds that one model may be expected to take; larger ones are left out")
      ->capture_default_str();
  app.add_option("--json", options.json, "also write the report to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return tenon::bench::run(options);
  } catch (const tenon::UserError& e) {
    fmt::print(stderr, "bench_compile: {}\n", e.what());
    return 2;
  }
}
