// SPDX-License-Identifier: Apache-2.0
// Layouts of the tensors inside a task, before any sketch rule: a stage that its only reader reads element by element
// is stored like that reader, a copy with an offset (padding) like what it copies. Loops over storage then match.
//
//   conv -> relu, relu stored N C/16 H W 16  =>  conv too
#pragma once

#include "search/sketch/sketch.h"

namespace tenon::search {

void store_alike(Sketch& s);

}  // namespace tenon::search
