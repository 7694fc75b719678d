// SPDX-License-Identifier: Apache-2.0
// onnx_suite: runs ONNX's backend test suite through the compiler. Exit code 1 if a case is wrong or
// crashes, if fewer cases pass than wanted, or if docs/ops.md is not current.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

#include "onnx_suite/report.h"
#include "onnx_suite/workers.h"

namespace {

using namespace tenon::onnx_suite;

struct Options {
  std::string root = "/usr/share/libonnx-testdata/data";
  std::string filter, json, xml, ops, summary;
  std::string mode = "compile";
  Limits limits;
  int64_t at_least = 0;
  bool list = false, verbose = false, child = false, update_ops = false;
};

void add_options(CLI::App& app, Options& o) {
  app.add_option("--root", o.root, "Folder of the suite")->capture_default_str();
  app.add_option("--filter", o.filter, "Only cases whose name contains this");
  app.add_flag("--list", o.list, "Print the names of the cases and stop");
  app.add_option("--mode", o.mode, "What runs the model")
      ->check(CLI::IsMember({"compile", "jit", "interpret"}))
      ->capture_default_str();
  app.add_option("-j,--jobs", o.limits.children, "Child processes");
  app.add_option("--seconds", o.limits.seconds, "Limit for one case")->capture_default_str();
  app.add_option("--memory", o.limits.memory, "Limit for one child, in bytes; 0: none");
  app.add_option("--at-least", o.at_least, "How many cases must pass");
  app.add_option("--json", o.json, "Write all outcomes to this file");
  app.add_option("--xml", o.xml, "The same as gtest would");
  app.add_option("--summary", o.summary, "Write what is printed at the end to this file too");
  app.add_option("--ops", o.ops, "Page of operators that must be current");
  app.add_flag("--update-ops", o.update_ops, "Write that page instead of checking it");
  app.add_flag("-v,--verbose", o.verbose, "A line for each case");
  app.add_flag("--child", o.child, "Serve as a child process")->group("");
}

void write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder);
  std::ofstream(path) << text;
}

// Whether the page is as it should be.
bool check_ops(const Options& o, const std::string& page) {
  if (o.ops.empty()) return true;
  if (o.update_ops) {
    write_file(o.ops, page);
    return true;
  }
  std::ifstream in(o.ops);
  const std::string there{std::istreambuf_iterator<char>(in), {}};
  if (there == page) return true;
  std::cout << o.ops << " is not current: run onnx_suite --ops " << o.ops << " --update-ops\n";
  return false;
}

int run(const Options& o) {
  const std::vector<Case> cases = find_cases(o.root, o.filter);
  if (o.list) {
    for (const Case& c : cases) std::cout << c.name << "\n";
    return 0;
  }
  const Mode mode = parse_mode(o.mode);
  const std::vector<Outcome> outcomes = run_cases(cases, mode, o.limits, [&](const Outcome& out) {
    if (o.verbose) {
      std::cout << to_string(out.status) << " " << out.name << " " << out.reason << std::endl;
    }
  });
  const std::string text = summary(outcomes);
  std::cout << text;
  write_file(o.summary, text);
  write_file(o.json, to_json(outcomes));
  write_file(o.xml, to_xml(outcomes));
  bool good = std::none_of(outcomes.begin(), outcomes.end(), failed);
  if (count(outcomes, Status::kPassed) < o.at_least) {
    std::cout << "at least " << o.at_least << " cases must pass\n";
    good = false;
  }
  return check_ops(o, o.ops.empty() ? "" : ops_page(cases, outcomes)) && good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs ONNX's backend test suite through the compiler");
  Options o;
  o.limits.children = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  add_options(app, o);
  CLI11_PARSE(app, argc, argv);
  if (o.child) return run_child(parse_mode(o.mode), o.limits.memory);
  return run(o);
}
