// SPDX-License-Identifier: Apache-2.0
// A network as text: a line per step with its algorithm and the layout of what it writes, the graph drawn beside them.
//
//   o    x            input      N C H W         1x8x14x14    6.1 KiB
//   *    k0_conv      direct     N C/8 H W 8c    1x16x14x14   12.2 KiB
//   x    k1_relay     conversion   N C/8 H W 8c -> N C H W    1x16x14x14   12.2 KiB   moves 24.5 KiB, estimated 3.1 us
#pragma once

#include <string>

#include "report/network/network.h"
#include "support/text.h"

namespace tenon::report {

std::string to_text(const Network& n);

// How times are written: "3.1 us" in a terminal; pages write them otherwise.
using TimeText = std::string (*)(double seconds);

// "21 steps: 14 winograd4, 6 direct".
std::string steps_text(const Network& n);
// "2 conversions move 2.1 MiB: 260 us, estimated at 8 GB/s"; "... 81 us of 4.7 ms, measured with 2 threads"; "... 92 us,
// by the records of tuning".
std::string conversions_text(const Network& n, TimeText time = time_text);

// Parts of a line, for pictures.
std::string shape_text(const StoredTensor& t);  // "1x64x56x56"; "scalar"
// "input", "winograd4", "conversion"; empty: nothing to say.
std::string kind_text(const NetworkNode& n);
// "moves 24.5 KiB, estimated 3.1 us"; of other steps the time, if measured.
std::string cost_text(const NetworkNode& n, TimeText time = time_text);
// "3.1 us", "estimated 3.1 us".
std::string price_text(const NetworkNode& conversion, TimeText time = time_text);

}  // namespace tenon::report
