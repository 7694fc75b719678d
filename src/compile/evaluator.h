// SPDX-License-Identifier: Apache-2.0
// Runs dags by compiled code on this machine: for constants too large to interpret, and for references.
#pragma once

#include "graph/define.h"

namespace tenon::compile {

// Interprets what is small, compiles what is not. One thread; by default schedules.
graph::Evaluator compiled_evaluator();

}  // namespace tenon::compile
