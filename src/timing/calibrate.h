// SPDX-License-Identifier: Apache-2.0
// How fast data moves on this machine beside its arithmetic, measured: what algorithms are chosen by.
//
//   Calibration c = calibrate();                  // some seconds, on a quiet machine
//   files::replace_file(path, to_text(c));
//   use(read_calibration(text), host.cpu());      // nothing where the text is of another machine
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "target/target.h"

namespace tenon::timing {

struct Calibration {
  std::string machine;            // the fingerprint of the target that was measured
  double flops_per_s = 0;         // of one core
  double cached_bytes_per_s = 0;  // of one core, in and out of its second-level cache
  struct Memory {
    int cores = 1;
    double bytes_per_s = 0;
  };
  std::vector<Memory> memory = {};  // what so many cores read, from one core to all
};

// Measures the host with its own threads.
Calibration calibrate();

// Ratios of what was measured. The cores that count are the fewest that reach 95 % of the most.
target::Rates rates_of(const Calibration& c);

std::string to_text(const Calibration& c);
// Nothing where the text is no calibration or is of another machine than `host`.
std::optional<Calibration> read_calibration(const std::string& text, const target::Target& host);

}  // namespace tenon::timing
