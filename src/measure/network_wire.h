// SPDX-License-Identifier: Apache-2.0
// A comparison of two networks and its answer as messages between processes.
#pragma once

#include <string>
#include <vector>

#include "measure/network_compare.h"
#include "measure/wire.h"

namespace tenon::measure {

struct NetworkInput {
  std::vector<int64_t> shape;
  std::string bytes;  // the type is the networks'
};

struct NetworkJob {
  std::string a, b;  // folders of artifacts
  int threads = 1;
  double seconds = 0;
  std::vector<NetworkInput> inputs;  // none: random ones
};

Message encode(const NetworkJob& job);
bool decode(const Message& m, NetworkJob& job);  // false: not a job
Message encode(const NetworkTimes& times);
bool decode(const Message& m, NetworkTimes& times);

}  // namespace tenon::measure
