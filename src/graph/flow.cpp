// SPDX-License-Identifier: Apache-2.0
#include "graph/flow.h"

#include <fmt/format.h>

namespace tenon::graph {

std::vector<int32_t> FlowOp::reads() const {
  std::vector<int32_t> list;
  for (const int32_t v : {from, at}) {
    if (v >= 0) list.push_back(v);
  }
  if (kind == FlowKind::kPut || kind == FlowKind::kAdd || kind == FlowKind::kCount) {
    list.push_back(to);
  }
  return list;
}

int32_t FlowOp::writes() const { return kind == FlowKind::kCount ? -1 : to; }

std::string to_string(const FlowOp& op, const std::function<std::string(int32_t)>& name) {
  const auto text = [&](int32_t v) { return v < 0 ? std::string() : name(v); };
  const std::string to = text(op.to), from = text(op.from), at = text(op.at);
  const char* place = op.number == 1 ? "last - " : "";
  switch (op.kind) {
    case FlowKind::kRun:
      return fmt::format("run segment {}", op.number);
    case FlowKind::kCopy:
      return fmt::format("copy {} = {}", to, from);
    case FlowKind::kSet:
      return fmt::format("set {} = {}", to, op.number);
    case FlowKind::kAdd:
      return fmt::format("add {} += {}", to, op.number);
    case FlowKind::kClear:
      return fmt::format("clear {}", to);
    case FlowKind::kTake:
      return fmt::format("take {} = {}[{}{}]", to, from, place, at);
    case FlowKind::kPut:
      return fmt::format("put {}[{}{}] = {}", to, place, at, from);
    case FlowKind::kUnless:
      return fmt::format("unless {} go to {}", from, op.target);
    case FlowKind::kReached:
      return fmt::format("if {} reached {} go to {}", at, from, op.target);
    case FlowKind::kJump:
      return fmt::format("go to {}", op.target);
    case FlowKind::kCount:
      return fmt::format("count {} = {}", to, at);
  }
  return "";
}

void erase_ops(Flow& flow, const std::vector<bool>& gone) {
  std::vector<int32_t> moved(flow.size() + 1, 0);
  Flow kept;
  for (size_t i = 0; i < flow.size(); ++i) {
    moved[i] = static_cast<int32_t>(kept.size());
    if (!gone[i]) kept.push_back(flow[i]);
  }
  moved.back() = static_cast<int32_t>(kept.size());
  for (FlowOp& op : kept) {
    if (op.goes()) op.target = moved[static_cast<size_t>(op.target)];
  }
  flow = std::move(kept);
}

}  // namespace tenon::graph
