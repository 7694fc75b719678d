// SPDX-License-Identifier: Apache-2.0
// A measurer whose process is killed while its tools are at work: [1] what they do, a number of faults.h.
#include <cstdlib>

#include "measure/tasks.h"

int main(int, char** argv) {
  using namespace tenon::measure;
  DeviceOptions options;
  options.build_tool = TENON_FAULTY_BUILD;
  options.run_tool = TENON_RUN;
  options.compile_limit_s = options.run_limit_s = 600;
  options.builders = 2;
  const auto m = device_measurer(options);
  const std::vector<tenon::schedule::Trace> traces(2, fault_trace(std::atoi(argv[1])));
  measure(*m, matmul_task(16, 16, 16), traces, 0, {});
}
