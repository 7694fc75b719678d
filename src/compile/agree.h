// SPDX-License-Identifier: Apache-2.0
// Weights that are packed alike at every size of a model, so that they are stored once. Each size alone may take another
// algorithm for a layer, or panels of another width; then the others take what the largest size does with the weights,
// unless that is estimated to be much slower.
//
//   layer4.1.conv2, batch 2 to 8 by winograd4, batch 1 by winograd2     batch 1 by winograd4 too
//   a dense layer, batch 64 by strassen, batch 1 directly               both are stored: batch 1 waits for weights only
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/accuracy.h"
#include "plan/network.h"

namespace tenon::compile {

class Agreement {
 public:
  // Keeps a reference to the network.
  Agreement(const plan::Network& largest, const plan::Options& options);

  // Replaces programs that rules gave, of a network of the same model; what was given stays.
  void apply(plan::Network& n);

 private:
  const plan::Network& largest_;
  const plan::Options& options_;
  plan::Errors errors_;
  std::map<std::string, size_t> tasks_;  // of the largest, by the names of calls
  std::vector<std::string> packing_;     // of constants, by task of the largest; empty: it has none
};

}  // namespace tenon::compile
