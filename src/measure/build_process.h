// SPDX-License-Identifier: Apache-2.0
// A tenon-build that compiles traces.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "measure/answers.h"
#include "measure/measure.h"

namespace tenon::measure {

class BuildProcess {
 public:
  // Files of a moment lie in `folder`.
  BuildProcess(const DeviceOptions& options, const std::filesystem::path& folder);

  Built build(const task::Task& t, const schedule::Trace& trace, double limit_s);
  // Several at once, in order, each with `limit_s`; what keeps them from being built so is an outcome of the one whose
  // fault it is.
  std::vector<Built> build(const task::Task& t, std::span<const schedule::Trace> traces,
                           double limit_s);
  void interrupt() { worker_.interrupt(); }

 private:
  // Nothing: not each of them has an answer.
  std::vector<Built> build_together(const task::Task& t, std::span<const schedule::Trace> traces,
                                    double limit_s);

  Worker worker_;
};

}  // namespace tenon::measure
