// SPDX-License-Identifier: Apache-2.0
#include "onnx_suite/suite.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "onnx_suite/report.h"

namespace tenon::onnx_suite {

void add_options(CLI::App& app, Options& o) {
  o.limits.children = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  app.add_option("--root", o.root, "Folder of the suite")->capture_default_str();
  app.add_option("--filter", o.filter, "Only cases whose name contains this");
  app.add_option("--every", o.every, "Only one case of so many")->capture_default_str();
  app.add_flag("--list", o.list, "Print the names of the cases and stop");
  app.add_option("--mode", o.mode, "What runs the model")
      ->check(CLI::IsMember({"compile", "jit", "interpret"}))
      ->capture_default_str();
  app.add_option("--target", o.target, "What models are compiled for")->capture_default_str();
  app.add_option("-j,--jobs", o.limits.children, "Child processes");
  app.add_option("--seconds", o.limits.seconds, "Limit for one case")->capture_default_str();
  app.add_option("--deadline", o.limits.deadline_s, "No case begins after so many seconds");
  app.add_option("--memory", o.limits.memory, "Limit for one child, in bytes; 0: none");
  app.add_option("--at-least", o.at_least, "How many cases must pass");
  app.add_option(
      "--at-least-open", o.at_least_open,
      "How many must pass as libraries for several sizes, of models that leave some open");
  app.add_option("--json", o.json, "Write all outcomes to this file");
  app.add_option("--xml", o.xml, "The same as gtest would");
  app.add_option("--summary", o.summary, "Write what is printed at the end to this file too");
  app.add_flag("-v,--verbose", o.verbose, "A line for each case");
  app.add_flag("--child", o.child, "Serve as a child process")->group("");
}

void write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder);
  std::ofstream(path) << text;
}

namespace {

std::vector<Case> chosen(const Options& o) {
  std::vector<Case> few;
  const std::vector<Case> all = find_cases(o.root, o.filter);
  const auto every = static_cast<size_t>(std::max<int64_t>(1, o.every));
  for (size_t i = 0; i < all.size(); i += every) few.push_back(all[i]);
  return few;
}

}  // namespace

Ran run(const Options& o) {
  const How how{parse_mode(o.mode), o.target};
  Ran ran;
  if (o.child) {
    ran.good = run_child(how, o.limits.memory) == 0;
    return ran;
  }
  ran.cases = chosen(o);
  if (o.list) {
    for (const Case& c : ran.cases) std::cout << c.name << "\n";
    return ran;
  }
  ran.outcomes = run_cases(ran.cases, how, o.limits, [&](const Outcome& out) {
    if (o.verbose) {
      std::cout << to_string(out.status) << " " << out.name << " " << out.reason << std::endl;
    }
  });
  const std::string text = summary(ran.outcomes);
  std::cout << text;
  write_file(o.summary, text);
  write_file(o.json, to_json(ran.outcomes));
  write_file(o.xml, to_xml(ran.outcomes));
  ran.good = std::none_of(ran.outcomes.begin(), ran.outcomes.end(), failed);
  if (count(ran.outcomes, Status::kPassed) < o.at_least) {
    std::cout << "at least " << o.at_least << " cases must pass\n";
    ran.good = false;
  }
  if (count_open(ran.outcomes) < o.at_least_open) {
    std::cout << "at least " << o.at_least_open << " cases must pass with open sizes\n";
    ran.good = false;
  }
  return ran;
}

}  // namespace tenon::onnx_suite
