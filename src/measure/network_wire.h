// SPDX-License-Identifier: Apache-2.0
// A comparison of two networks and its answer as messages between processes.
#pragma once

#include <string>

#include "measure/network_compare.h"
#include "measure/wire.h"

namespace tenon::measure {

struct NetworkJob {
  std::string a, b;  // folders of artifacts
  int threads = 1;
  double seconds = 0;
  std::vector<std::string> inputs;  // bytes; types and shapes are those of the networks
};

Message encode(const NetworkJob& job);
bool decode(const Message& m, NetworkJob& job);  // false: not a job
Message encode(const NetworkTimes& times);
bool decode(const Message& m, NetworkTimes& times);

}  // namespace tenon::measure
