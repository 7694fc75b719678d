// SPDX-License-Identifier: Apache-2.0
// A pass is a function from immutable IR to immutable IR, total on valid programs; it returns its argument (the
// same handle) when nothing changed. The order is the table in pipeline.cpp; the runner does the bookkeeping.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"
#include "ir/verify.h"
#include "target/target.h"

namespace tenon::lower {

struct PassContext {
  const target::Target* target = nullptr;
};

struct Pass {
  std::string_view name;
  ir::Stmt (*run)(const ir::Stmt& s, const PassContext& ctx);
  ir::Dialect after;  // what the result is verified against
};

struct PassTime {
  std::string_view pass;
  double seconds;
  bool changed;
};

struct RunOptions {
  bool verify = false;            // after every pass
  std::vector<std::string> skip;  // pass names
  std::string stop_after;         // empty: run all
  // Called after each pass that ran, with its number (emit_loops is 0) and whether it changed anything.
  std::function<void(int, std::string_view, const ir::Function&, bool)> on_pass;
  std::vector<PassTime>* times = nullptr;
};

const std::vector<Pass>& pipeline();
// Throws UserError if `skip` or `stop_after` names no pass, and with options.verify InternalError that names the pass
// whose result is not valid.
ir::Function run_passes(ir::Function f, const std::vector<Pass>& passes, const PassContext& ctx,
                        const RunOptions& options);

}  // namespace tenon::lower
