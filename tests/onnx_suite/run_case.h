// SPDX-License-Identifier: Apache-2.0
// One case: import, compile, run, compare.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "onnx_suite/cases.h"

namespace tenon::onnx_suite {

enum class Status { kPassed, kUnsupported, kWrong, kError, kCrashed, kHung };
std::string_view to_string(Status s);

struct Outcome {
  std::string name;
  Status status = Status::kPassed;
  std::string reason;              // of anything but kPassed
  std::vector<std::string> bound;  // inputs that were given their recorded value before compiling
  double seconds = 0;
  std::vector<std::string> open;  // dimensions that the library served several sizes of
};

// The library as users get it, its kernels in this process with poisoned memory, or the graph node by node.
enum class Mode { kCompile, kJit, kInterpret };
std::string_view to_string(Mode m);
Mode parse_mode(std::string_view text);

struct How {
  Mode mode = Mode::kCompile;
  std::string target = "host";  // of kCompile and kJit, as target::parse_target takes it
};

// Never throws. Inputs are bound when the importer asks for it: first those that it names, then all
// integers, then all. A model that leaves dimensions open is compiled for several sizes of them (open_form.h), where it is
// run as a library on the host. A case that another target than the host refuses, and the host does not, is wrong.
Outcome run_case(const Case& c, const How& how);

}  // namespace tenon::onnx_suite
