// SPDX-License-Identifier: Apache-2.0
// A tenon-run that times programs and runs them on given inputs. What a program did to it ends with its process.
#pragma once

#include "ir/interp.h"
#include "measure/answers.h"
#include "measure/measure.h"

namespace tenon::measure {

class RunProcess {
 public:
  explicit RunProcess(const DeviceOptions& options);

  // Repeated until the time is known or min_run_s are spent; best_s as in Job. What wrote outside of its memory must do so
  // again, in another process, to be wrong for ever.
  Ran time(const RunJob& program, double best_s, double min_run_s);
  // Once, on arguments as they are stored; the outputs are there and are overwritten.
  Ran run_once(RunJob program, const std::vector<ir::Array>& inputs, double limit_s,
               std::vector<ir::Array>& outputs);
  void stop() { worker_.stop(); }
  void interrupt() { worker_.interrupt(); }

 private:
  double run_limit_s(const RunJob& program, double best_s) const;
  double opening_s() const;
  int threads_of(const RunJob& program) const;
  Ran time_once(const RunJob& program, double best_s, double min_run_s);

  const DeviceOptions& options_;
  Worker worker_;
};

}  // namespace tenon::measure
