// SPDX-License-Identifier: Apache-2.0
// The order of lowering, top to bottom, and the runner.
#include <algorithm>
#include <chrono>

#include "lower/pass.h"
#include "lower/passes/flatten.h"
#include "lower/passes/guard_reductions.h"
#include "lower/passes/hoist_guards.h"
#include "lower/passes/partition_loops.h"
#include "lower/passes/simplify_program.h"
#include "lower/passes/tighten_loops.h"
#include "lower/passes/unroll_loops.h"
#include "lower/passes/vectorize_loops.h"
#include "support/check.h"

namespace tenon::lower {

namespace {

const std::vector<Pass> kPipeline = {
    {"guard_reductions", guard_reductions, ir::Dialect::kLoops},
    {"simplify_loops", simplify_program, ir::Dialect::kLoops},
    {"hoist_guards", hoist_guards, ir::Dialect::kLoops},
    {"tighten_loops", tighten_loops, ir::Dialect::kLoops},
    {"partition_loops", partition_loops, ir::Dialect::kLoops},
    {"hoist_guards_again", hoist_guards, ir::Dialect::kLoops},
    {"tighten_loops_again", tighten_loops, ir::Dialect::kLoops},
    {"flatten", flatten, ir::Dialect::kFlatLoops},
    {"vectorize_loops", vectorize_loops, ir::Dialect::kVectors},
    {"unroll_loops", unroll_loops, ir::Dialect::kVectors},
    {"simplify_flat", simplify_program, ir::Dialect::kFlat},
};

void check_name(const std::string& name, const std::vector<Pass>& passes) {
  const auto is = [&](const Pass& p) { return p.name == name; };
  if (name == "emit_loops" || std::any_of(passes.begin(), passes.end(), is)) return;
  std::string known = "emit_loops";
  for (const Pass& p : passes) known += ", " + std::string(p.name);
  throw UserError("there is no pass '" + name + "'", "passes: " + known);
}

void verify_after(const ir::Function& f, std::string_view pass, ir::Dialect dialect) {
  try {
    ir::verify(f, dialect);
  } catch (const InternalError& e) {
    throw InternalError("after " + std::string(pass) + ": " + e.what());
  }
}

}  // namespace

const std::vector<Pass>& pipeline() { return kPipeline; }

ir::Function run_passes(ir::Function f, const std::vector<Pass>& passes, const PassContext& ctx,
                        const RunOptions& options) {
  for (const std::string& name : options.skip) check_name(name, passes);
  if (!options.stop_after.empty()) check_name(options.stop_after, passes);
  if (options.verify) verify_after(f, "emit_loops", ir::Dialect::kLoops);
  if (options.on_pass) options.on_pass(0, "emit_loops", f, true);
  if (options.stop_after == "emit_loops") return f;
  for (size_t i = 0; i < passes.size(); ++i) {
    const Pass& pass = passes[i];
    if (std::find(options.skip.begin(), options.skip.end(), pass.name) == options.skip.end()) {
      const auto start = std::chrono::steady_clock::now();
      const ir::Stmt body = pass.run(f.body, ctx);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      const bool changed = !body.same_as(f.body);
      f.body = body;
      if (options.times != nullptr) options.times->push_back({pass.name, took.count(), changed});
      if (options.verify) verify_after(f, pass.name, pass.after);
      if (options.on_pass) options.on_pass(static_cast<int>(i) + 1, pass.name, f, changed);
    }
    if (options.stop_after == pass.name) break;
  }
  return f;
}

}  // namespace tenon::lower
