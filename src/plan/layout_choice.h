// SPDX-License-Identifier: Apache-2.0
// How the tensors of a whole graph are stored, where tasks were measured under several layouts: the cheapest whole,
// tasks and conversions between them together (see MinSum), instead of what each task likes best.
//
//   conv a -> conv b     a: blocked 10 us, row-major 14 us    b: blocked 20 us, channels last 15 us    conversion 3 us
//   => a blocked, a conversion, b channels last: 28 us
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plan/layout_rules.h"
#include "plan/layouts.h"
#include "plan/plan.h"
#include "task/task.h"

namespace tenon::plan {

// A way to store the edges of a task, and the time of its best program then.
struct LayoutTime {
  std::map<std::string, layout::Layout> edges;  // as task::Task has them
  double seconds = 0;
};

// What was measured. Conversions are tasks like others: the copy of a tensor under two layouts.
struct LayoutTimes {
  std::map<std::string, std::vector<LayoutTime>> tasks;  // by task::key_of
  double bytes_per_second = task::kConvertedBytesPerS;
  From times_from = From::kMeasured;  // or kRecord: by this run, or by earlier ones

  bool empty() const { return tasks.empty(); }
  // Seconds of a step that stores a tensor in another way; 0 if it lies there already.
  double conversion(ir::DType t, const layout::Layout& from, const layout::Layout& to) const;
  const LayoutTime* find(const std::string& task,
                         const std::map<std::string, layout::Layout>& edges) const;
};

// Of tasks with an opinion; those that take any layout follow their inputs. Empty if nothing is cheaper than what the
// rules give, or if that was not measured.
Layouts choose_layouts(const LayoutRules& rules, const LayoutTimes& layout_times);

// The sum over all steps; infinity if some task with layout times runs under layouts that were not measured.
double cost_of(const LayoutRules& rules, const LayoutPlan& plan, const LayoutTimes& layout_times);

}  // namespace tenon::plan
