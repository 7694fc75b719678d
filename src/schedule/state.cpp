// SPDX-License-Identifier: Apache-2.0
#include "schedule/state.h"

#include <algorithm>

#include "ir/visit.h"

namespace tenon::schedule {

State::State(std::shared_ptr<const te::ComputeDag> dag,
             std::shared_ptr<const target::Target> target)
    : dag_(std::move(dag)),
      target_(std::move(target)),
      inlined_bodies_(std::make_shared<InlinedBodies>()) {
  const auto add = [&](std::shared_ptr<Stage> s) {
    s->id = static_cast<StageId>(stages_.size());
    s->name = s->buffer.name();
    s->layout = layout::Layout(s->buffer.shape());
    order_.push_back(s->id);
    reset_loops(*s);
    stages_.push_back(std::move(s));
  };
  for (const te::Input& in : dag_->inputs) {
    auto s = std::make_shared<Stage>();
    s->buffer = in.tensor;
    s->constant = in.constant;
    add(std::move(s));
  }
  for (const te::OpRef& op : dag_->ops) {
    auto s = std::make_shared<Stage>();
    s->buffer = op->output;
    s->op = op;
    for (const te::Tensor& t : dag_->outputs) s->output |= t.same_as(op->output);
    add(std::move(s));
  }
}

StageId State::owner(const ir::Buffer& b) const {
  for (const auto& s : stages_) {
    if (s->buffer.same_as(b)) return s->id;
  }
  return -1;
}

std::vector<StageId> State::readers_of(const ir::Buffer& b) const {
  std::vector<StageId> out;
  for (const StageId id : order_) {
    const Stage& r = stage(id);
    if (r.op != nullptr && r.place != Place::kInlined && ir::reads(r.op->body, b))
      out.push_back(id);
  }
  return out;
}

std::vector<StageId> State::attached_to(StageId s, LoopId l) const {
  std::vector<StageId> out;
  for (const StageId id : order_) {
    const Stage& r = stage(id);
    if (r.place == Place::kAt && r.at_stage == s && r.at_loop == l) out.push_back(id);
  }
  return out;
}

StageId State::find(std::string_view name) const {
  for (const auto& s : stages_) {
    if (s->name == name) return s->id;
  }
  return -1;
}

double State::error_factor() const {
  double g = 1;
  for (const auto& s : stages_) g *= s->error_factor;
  return g;
}

Stage& State::edit(StageId s) {
  auto& p = stages_[static_cast<size_t>(s)];
  if (p.use_count() > 1) p = std::make_shared<Stage>(*p);
  return *p;
}

StageId State::insert(Stage s, StageId neighbour, bool before) {
  s.id = static_cast<StageId>(stages_.size());
  auto it = std::find(order_.begin(), order_.end(), neighbour);
  order_.insert(before ? it : it + 1, s.id);
  stages_.push_back(std::make_shared<Stage>(std::move(s)));
  return stages_.back()->id;
}

std::string State::fresh_name(const std::string& base) const {
  std::string name = base;
  for (int i = 2; find(name) >= 0; ++i) name = base + "." + std::to_string(i);
  return name;
}

}  // namespace tenon::schedule
