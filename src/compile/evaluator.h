// SPDX-License-Identifier: Apache-2.0
// Runs dags by compiled code on this machine: for constants too large to interpret, and for references.
#pragma once

#include "graph/define.h"

namespace tenon::compile {

// Interprets what is small, compiles what is not. One thread; by default schedules.
graph::Evaluator compiled_evaluator();

// The same answers, each computed once: for folding the constants of a model at several sizes. Threads may share it.
graph::Evaluator remembering(graph::Evaluator evaluate);

}  // namespace tenon::compile
