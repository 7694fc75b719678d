// SPDX-License-Identifier: Apache-2.0
#include "templates/plan_writer.h"

#include <algorithm>

#include "templates/anchor.h"

namespace tenon::templates {

void PlanWriter::catch_up() {
  const std::string& text = plan_.text;
  while (caught_up_ < text.size() && !refused_) {
    const size_t end = std::min(text.find('\n', caught_up_), text.size());
    const std::string line = fill(text.substr(caught_up_, end - caught_up_), plan_.knobs);
    caught_up_ = end + 1;
    try {
      const schedule::Step step = schedule::parse_step(line, state_);
      refused_ = !schedule::check(step, state_);
      if (!refused_) schedule::apply(step, state_);
    } catch (const UserError&) {
      refused_ = true;  // a loop that this shape does not have
    }
  }
}

void PlanWriter::store(const std::string& tensor, const layout::Layout& l) {
  for (const layout::LayoutStep& s : l.steps()) {
    std::vector<std::string> args;
    for (const int64_t a : s.args) args.push_back(std::to_string(a));
    switch (s.op) {
      case layout::LayoutOp::kSplit:
        line("layout_split {} {} [{}]", tensor, s.dim, comma(args));
        break;
      case layout::LayoutOp::kReorder:
        line("layout_reorder {} [{}]", tensor, comma(args));
        break;
      case layout::LayoutOp::kFuse:
        line("layout_fuse {} {} {}", tensor, s.dim, s.args[0]);
        break;
      case layout::LayoutOp::kPad:
        line("layout_pad {} {} {} {}", tensor, s.dim, s.args[0], s.args[1]);
        break;
      case layout::LayoutOp::kUnfold:
        line("layout_unfold {} {} {} {}", tensor, s.dim, s.args[0], s.args[1]);
        break;
      case layout::LayoutOp::kStoreAt:
        break;  // room in another tensor's buffer, which no edge of a task has
    }
  }
}

int64_t PlanWriter::choice(const std::string& knob, int64_t rule, int64_t most) {
  most = std::max(rule, most);
  const auto it = request_.given.find(knob);
  const int64_t value =
      it == request_.given.end() ? rule : std::clamp<int64_t>(it->second, 1, most);
  plan_.free[knob] = most;
  plan_.chosen[knob] = value;
  return value;
}

void PlanWriter::store_fixed_inputs(const std::vector<std::string>& done) {
  for (const te::Input& in : dag().inputs) {
    const auto it = request_.fixed.find(in.tensor.name());
    if (it == request_.fixed.end()) continue;
    if (std::find(done.begin(), done.end(), in.tensor.name()) == done.end())
      store(in.tensor.name(), it->second);
  }
}

const te::ComputeOp& PlanWriter::now(const std::string& stage) {
  catch_up();
  const schedule::StageId id = state_.find(stage);
  TENON_CHECK(id >= 0 && !state_.stage(id).is_input()) << "no computed stage " << stage;
  return *state_.stage(id).op;
}

}  // namespace tenon::templates
