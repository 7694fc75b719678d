// SPDX-License-Identifier: Apache-2.0
// From a model graph to a program: module plan decides, this one builds. It lowers the program of
// every task, re-lays the weights and places every tensor in memory.
//
//   artifact::Program p = compile::compile(std::move(imported.graph), "resnet50", options);
#pragma once

#include <string>

#include "artifact/program.h"
#include "plan/network.h"

namespace tenon::compile {

using plan::MissingSchedule;
using plan::Options;

// plan::decide, with compiled code for constants that are too large to interpret. The network is called library_name(name),
// see names.h.
plan::Network decide(graph::Graph g, const std::string& name, const Options& options);

// Builds what was decided. Of the options only the machine, threads and progress count.
artifact::Program build(const plan::Network& network, const Options& options);

// Both in a row.
artifact::Program compile(graph::Graph g, const std::string& name, const Options& options);

// The kernel of a task is called by its number and its last operator: k3_conv.
std::string kernel_name(const plan::Network& network, size_t task);

}  // namespace tenon::compile
