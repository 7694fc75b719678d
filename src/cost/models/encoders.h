// SPDX-License-Identifier: Apache-2.0
// What models can see of a program, as rows of one table.
//
//   Result<Row> row = kCurve.encode(subject);
#pragma once

#include "cost/model.h"

namespace tenon::cost {

struct Encoder {
  uint32_t width;
  Result<Row> (*encode)(const Subject& subject);
  uint64_t (*hash)();  // of how the columns are computed
};

extern const Encoder kStatements;               // Ansor's 164 columns, a row per stored buffer
extern const Encoder kItervar, kCurve, kKnobs;  // AutoTVM's, one row
extern const Encoder kLoopTree;                 // AutoTVM's, a row per loop

}  // namespace tenon::cost
