// SPDX-License-Identifier: Apache-2.0
// A tenon-build that compiles traces.
#pragma once

#include <filesystem>

#include "measure/answers.h"
#include "measure/measure.h"

namespace tenon::measure {

class BuildProcess {
 public:
  // Files of a moment lie in `folder`.
  BuildProcess(const DeviceOptions& options, const std::filesystem::path& folder);

  Built build(const task::Task& t, const schedule::Trace& trace, double limit_s);
  void interrupt() { worker_.interrupt(); }

 private:
  Worker worker_;
};

}  // namespace tenon::measure
