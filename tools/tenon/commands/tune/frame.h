// SPDX-License-Identifier: Apache-2.0
// The picture of a tuning run on a terminal, and its one-line form for logs.
#pragma once

#include <string>
#include <vector>

#include "tools/tenon/commands/tune/progress.h"

namespace tenon::tools {

struct FrameOptions {
  int columns = 80;
  int rows = 24;
  bool color = false;
  std::string status = {};  // a last line, such as "stopping ..."; may be empty
};

// Lines of at most `columns` characters, at most `rows` of them:
//   default  4.71 ms, sum of its tasks; out/ written after 0:06
//   [##########------------] 11:42 / 20:00  eta 8:18  1,312 measured  96 failed (71 compile-timeout, 22 run-timeout)
//   layouts  12 tried, 2 better; chosen for 8 calls
//     task                                calls        now        was  share  trials
//     conv bias relu 3f2a9c1b                 4  61.0 us   142.1 us     11 %     128  <-
//   best     2.93 ms, sum of the best of its tasks (1.61x)
std::vector<std::string> tune_frame(const TuneProgress& p, double t, const FrameOptions& options);

// "t=702 measured=1312 failed=96 layouts=12 better=2 best_ms=2.93 default_ms=4.71 eta_s=498"; what
// is not known is left out.
std::string tune_line(const TuneProgress& p, double t);

}  // namespace tenon::tools
