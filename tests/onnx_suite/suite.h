// SPDX-License-Identifier: Apache-2.0
// The suite as a command: its options, and running the cases that they choose.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "onnx_suite/workers.h"

namespace tenon::onnx_suite {

struct Options {
  std::string root = "/usr/share/libonnx-testdata/data";
  std::string filter, json, xml, summary;
  std::string mode = "compile";
  std::string target = "host";
  Limits limits;
  int64_t at_least = 0, at_least_open = 0;
  int64_t every = 1;
  bool list = false, verbose = false, child = false;
};

void add_options(CLI::App& app, Options& o);

struct Ran {
  std::vector<Case> cases;
  std::vector<Outcome> outcomes;
  bool good = true;  // nothing is wrong, and enough cases passed
};
// Prints, and writes the files that are asked for; with `list` or `child` it does that alone.
Ran run(const Options& o);

void write_file(const std::string& path,
                const std::string& text);  // with its folders; not where the path is empty

}  // namespace tenon::onnx_suite
