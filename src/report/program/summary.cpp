// SPDX-License-Identifier: Apache-2.0
#include "report/program/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "layout/layout.h"
#include "schedule/bounds.h"
#include "schedule/program.h"

namespace tenon::report {
namespace {

using schedule::Mark;
using schedule::Place;
using schedule::Stage;
using schedule::StageBounds;
using schedule::State;

const char* how(Mark mark) {
  switch (mark) {
    case Mark::kParallel:
      return "parallel";
    case Mark::kVectorize:
      return "vectorised";
    case Mark::kTensorize:
      return "tensorised";
    case Mark::kUnroll:
      return "unrolled";
    case Mark::kThread:
      return "bound to threads";
    case Mark::kNone:
      break;
  }
  return "serial";
}

std::vector<LoopSummary> summarize_loops(const State& s, const Stage& stage,
                                         const StageBounds& bounds) {
  const std::vector<Mark> marks = schedule::final_marks(s, stage, bounds);
  std::vector<LoopSummary> loops;
  for (const schedule::LoopId id : stage.leaves) {
    const auto at = static_cast<size_t>(id);
    loops.push_back({.name = stage.loop_name(id),
                     .extent = bounds.extents[at],
                     .reduction = stage.loop(id).kind == schedule::LoopKind::kReduce,
                     .how = how(marks[at])});
  }
  return loops;
}

std::string place_of(const State& s, const Stage& stage) {
  if (stage.place == Place::kInlined) {
    return "inlined";
  }
  if (stage.place == Place::kRoot) {
    return "root";
  }
  const Stage& host = s.stage(stage.at_stage);
  return fmt::format("inside {} at {}", host.name, host.loop_name(stage.at_loop));
}

int64_t computed_elements(const StageBounds& bounds) {
  int64_t elements = 1;
  for (const schedule::AxisBounds& axis : bounds.axes) {
    elements *= axis.extent;
  }
  return elements;
}

// Vectors of the vectorised loop's length; each may take several registers.
int64_t registers_of(const State& s, const Stage& stage, const StageSummary& summary,
                     const StageBounds& bounds) {
  int64_t lanes = 1;
  for (const LoopSummary& loop : summary.loops) {
    lanes = loop.how == "vectorised" ? loop.extent : lanes;
  }
  const int64_t bytes = lanes * stage.buffer.dtype().bytes();
  constexpr int64_t kRegisterOfThread = 4;  // bytes
  const int64_t width = s.target().is_cpu() ? s.target().cpu().vector_bytes : kRegisterOfThread;
  const int64_t per_vector = std::max<int64_t>(1, bytes / width);
  return computed_elements(bounds) / lanes * per_vector;
}

std::string storage_of(const State& s, const Stage& stage, const StageSummary& summary,
                       const StageBounds& bounds) {
  if (stage.output) {
    return "parameter";
  }
  if (stage.scope == ir::Scope::kRegister) {
    return fmt::format("{} registers", registers_of(s, stage, summary, bounds));
  }
  const int64_t bytes = computed_elements(bounds) * stage.buffer.dtype().bytes();
  const bool local = stage.scope == ir::Scope::kLocal || stage.place == Place::kAt;
  return fmt::format("{}, {} bytes", local ? "stack" : "workspace", bytes);
}

std::string to_text(const LoopSummary& loop, size_t width) {
  return fmt::format("  {:<{}} {:>6}  {}{}\n", loop.name, width, loop.extent, loop.how,
                     loop.reduction ? ", reduction" : "");
}

std::string to_text(const CodeCounts& counts) {
  return fmt::format("instructions {}, multiply-adds {}, spills {}, reloads {}",
                     counts.instructions, counts.multiply_adds, counts.spills, counts.reloads);
}

std::string to_text(const StageSummary& stage) {
  std::string text = fmt::format("{}: {}; {}", stage.name, stage.place, stage.storage);
  text += stage.layout.empty() ? "\n" : fmt::format("; stored as {}\n", stage.layout);
  size_t width = 4;
  for (const LoopSummary& loop : stage.loops) {
    width = std::max(width, loop.name.size());
  }
  for (const LoopSummary& loop : stage.loops) {
    text += to_text(loop, width);
  }
  return text;
}

}  // namespace

std::vector<StageSummary> summarize_stages(const State& s) {
  const Result<schedule::Bounds> bounds = schedule::infer_bounds(s);
  if (!bounds) {
    throw UserError(schedule::render_illegal(s, bounds.illegal()));
  }
  std::vector<StageSummary> stages;
  for (const schedule::StageId id : s.order()) {
    const Stage& stage = s.stage(id);
    StageSummary summary{.name = stage.name,
                         .place = stage.is_input() ? "input" : place_of(s, stage),
                         .storage = stage.is_input() ? "parameter" : "not stored",
                         .layout = layout::to_string(stage.layout),
                         .loops = {}};
    if (!stage.is_input() && stage.place != Place::kInlined) {
      const StageBounds& own = bounds->stages[static_cast<size_t>(id)];
      summary.loops = summarize_loops(s, stage, own);
      summary.storage = storage_of(s, stage, summary, own);
    }
    stages.push_back(std::move(summary));
  }
  return stages;
}

std::string to_text(const std::vector<StageSummary>& stages, const CodeSummary& code) {
  std::string text;
  for (const StageSummary& stage : stages) {
    text += to_text(stage);
  }
  text += fmt::format("machine code: {}\n", to_text(code.all));
  if (code.hottest.multiply_adds > 0) {
    text += fmt::format("hottest block: {}\n", to_text(code.hottest));
  }
  return text;
}

}  // namespace tenon::report
