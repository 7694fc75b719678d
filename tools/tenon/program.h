// SPDX-License-Identifier: Apache-2.0
// The program that a command works on: a tensor expression, a trace and a target, as options name them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "lower/lower.h"
#include "schedule/trace.h"

namespace tenon::tools {

struct ProgramOptions {
  std::string te_file;
  std::string trace_file;
  bool use_template = false;
  std::string target = "host";
};

// --te, --trace, --template.
void add_te_options(CLI::App& command, ProgramOptions& options);

struct Program {
  std::string name;  // of the tensor expression's file
  schedule::State initial;
  schedule::Trace trace;
  schedule::State state;  // `trace` applied to `initial`
};

// Throws UserError for unreadable files, bad text, refused steps.
Program load_program(const ProgramOptions& options);

// The same from text, as kernels of a compiled model carry it.
struct ProgramText {
  std::string name;
  std::string te;
  std::string trace;
};
Program make_program(const ProgramText& text, const target::Target& target);

// Throws UserError if the program does not fit its target.
ir::Function lower_program(const Program& program, const lower::RunOptions& options = {});

}  // namespace tenon::tools
