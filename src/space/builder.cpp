// SPDX-License-Identifier: Apache-2.0
#include "space/builder.h"

#include <algorithm>
#include <utility>

namespace tenon::space {
namespace {

std::vector<int64_t> plain(const std::vector<Value>& values) {
  return {values.begin(), values.end()};
}

std::vector<LoopRef> ids(const std::vector<Loop>& loops) {
  std::vector<LoopRef> out;
  out.reserve(loops.size());
  for (const Loop& l : loops) out.push_back(l.id);
  return out;
}

}  // namespace

Builder::Builder(schedule::State initial, Decider& decider, bool quickly)
    : state_(std::move(initial)), decider_(decider), quickly_(quickly) {}

Builder::Builder(PrefixTree& tree, Decider& decider)
    : tree_(&tree), known_(tree.root()), decider_(decider), quickly_(true) {}

void Builder::start_from(const schedule::State& state, const schedule::Trace& trace) {
  known_ = nullptr;
  state_ = state;
  trace_ = trace;
}

schedule::State& Builder::own_state() {
  if (known_ != nullptr) state_ = known_->state();
  known_ = nullptr;
  return *state_;
}

Result<void> Builder::check(const schedule::Step& step) const {
  return quickly_ ? schedule::check_quickly(step, state()) : schedule::check(step, state());
}

// Another program took it from here: it is legal.
bool Builder::is_known(const schedule::Step& step) {
  next_ = known_ != nullptr ? PrefixTree::after(known_, step) : nullptr;
  return next_ != nullptr;
}

void Builder::take(schedule::Step step) {
  if (next_ != nullptr) {
    known_ = std::exchange(next_, nullptr);
  } else {
    const PrefixTree::Node* parent = known_;
    schedule::apply(step, own_state());
    if (parent != nullptr) known_ = tree_->add(parent, step, *state_);
  }
  trace_.push_back(std::move(step));
}

// ---- decisions ---------------------------------------------------------------------------------

Value Builder::ask(HoleId id, std::string_view name, Domain domain, int64_t rule, Weights weights,
                   Read read) {
  if (domain.empty()) {
    refuse(Illegal{.code = IllegalCode::kBadFactor, .stage = id.stage, .value = rule});
    return rule;
  }
  if (domain.size() == 1) return domain.at(0);
  const int64_t by_rule = domain.nearest(rule);
  const Hole hole{id, name, std::move(domain), by_rule, weights, read};
  const int64_t value = decider_.decide(hole);
  TENON_CHECK(hole.domain.contains(value)) << name << " = " << value << " is not in its domain";
  choices_.push_back({id, value});
  asked_at_.push_back(trace_.size());
  return {value, static_cast<int32_t>(choices_.size()) - 1};
}

void Builder::refuse(Illegal why) {
  if (!refused_) refused_ = why;
}

bool Builder::refuse_unwanted() {
  if (!decider_.gives_up()) return false;
  refuse(Illegal{.code = IllegalCode::kUnwanted});
  return true;
}

bool Builder::try_add(schedule::Step step) {
  if (refused_) return false;
  if (!is_known(step) && !check(step)) return false;
  take(std::move(step));
  return true;
}

bool Builder::add(schedule::Step step) {
  if (refused_) return false;
  if (const auto ok = is_known(step) ? Result<void>() : check(step); !ok) {
    refused_ = ok.illegal();
    return false;
  }
  take(std::move(step));
  return true;
}

void Builder::add_checked(schedule::Step step) {
  if (!refused_) take(std::move(step));
}

void Builder::note(const std::vector<Value>& values, size_t before) {
  if (refused_) return;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].hole >= 0) {
      places_.push_back({static_cast<size_t>(values[i].hole), trace_.size(), before + i});
    }
  }
}

void Builder::back_to(const Mark& m) {
  known_ = nullptr;
  state_ = m.state;
  trace_.erase(trace_.begin() + static_cast<std::ptrdiff_t>(m.steps), trace_.end());
  std::erase_if(places_, [&](const Place& p) { return p.step >= m.steps; });
}

// ---- loops -------------------------------------------------------------------------------------

std::vector<Loop> Builder::split(Loop loop, std::vector<Value> factors) {
  std::vector<Loop> out(factors.size() + 1, Loop{loop.stage, {}});
  note(factors);
  if (!add(schedule::Split{loop.stage, loop.id, plain(factors), false})) return out;
  const auto after = static_cast<int32_t>(state()[loop.stage].loops.size());
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].id = {after - static_cast<int32_t>(out.size() - i)};
  }
  return out;
}

std::array<Loop, 2> Builder::parts(Loop loop, Value number) {
  std::array<Loop, 2> out{Loop{loop.stage, {}}, Loop{loop.stage, {}}};
  note({number});
  if (!add(schedule::Split{loop.stage, loop.id, {number.value}, true})) return out;
  const auto after = static_cast<int32_t>(state()[loop.stage].loops.size());
  out[0].id = {after - 2};
  out[1].id = {after - 1};
  return out;
}

Loop Builder::fuse(const std::vector<Loop>& loops) {
  TENON_CHECK(!loops.empty());
  if (loops.size() == 1) return loops[0];
  const StageRef stage = loops[0].stage;
  if (!add(schedule::Fuse{stage, ids(loops)})) return {stage, {}};
  return {stage, {static_cast<int32_t>(state()[stage].loops.size()) - 1}};
}

void Builder::reorder(const std::vector<Loop>& loops) {
  TENON_CHECK(!loops.empty());
  add(schedule::Reorder{loops[0].stage, ids(loops)});
}
void Builder::parallel(Loop loop) { add(schedule::Parallel{loop.stage, loop.id}); }
void Builder::vectorize(Loop loop) { add(schedule::Vectorize{loop.stage, loop.id}); }
void Builder::unroll(Loop loop) { add(schedule::Unroll{loop.stage, loop.id}); }
void Builder::limit_unrolling(StageRef stage, Value limit) {
  note({limit});
  add(schedule::PragmaUnroll{stage, limit.value});
}
void Builder::tensorize(Loop lanes, Loop loop, schedule::Dot dot) {
  add(schedule::Tensorize{lanes.stage, lanes.id, loop.id, dot});
}
void Builder::bind(Loop loop, ir::ThreadTag tag) { add(schedule::Bind{loop.stage, loop.id, tag}); }
void Builder::prefetch(Loop loop, StageRef tensor, Value distance) {
  note({distance});
  add(schedule::Prefetch{loop.stage, loop.id, tensor, distance.value});
}
void Builder::decompose_init(Loop loop) { add(schedule::DecomposeInit{loop.stage, loop.id}); }

// ---- places ------------------------------------------------------------------------------------

void Builder::compute_at(StageRef stage, Loop loop) {
  add(schedule::ComputeAt{stage, loop.stage, loop.id});
}
void Builder::compute_shared(StageRef stage, Loop loop) {
  compute_at(stage, loop);
  add(schedule::SetScope{stage, ir::Scope::kShared});
}
void Builder::compute_inline(StageRef stage) { add(schedule::ComputeInline{stage}); }
void Builder::compute_root(StageRef stage) { add(schedule::ComputeRoot{stage}); }

StageRef Builder::cache_write(StageRef stage, ir::Scope scope) {
  return add(schedule::CacheWrite{stage, scope}) ? newest() : StageRef{};
}
StageRef Builder::cache_read(StageRef tensor, std::vector<StageRef> readers, ir::Scope scope) {
  return add(schedule::CacheRead{tensor, std::move(readers), scope}) ? newest() : StageRef{};
}
StageRef Builder::rfactor(Loop loop, int64_t axis) {
  return add(schedule::Rfactor{loop.stage, loop.id, axis}) ? newest() : StageRef{};
}
void Builder::variant(StageRef stage, schedule::Algorithm algorithm) {
  add(schedule::Variant{stage, algorithm});
}

// ---- layouts -----------------------------------------------------------------------------------

void Builder::layout_split(StageRef stage, int64_t dim, std::vector<Value> factors) {
  note(factors, 1);
  add(schedule::LayoutSplit{stage, dim, plain(factors)});
}
void Builder::layout_reorder(StageRef stage, std::vector<int64_t> order) {
  add(schedule::LayoutReorder{stage, std::move(order)});
}
void Builder::layout_fuse(StageRef stage, int64_t dim, int64_t count) {
  add(schedule::LayoutFuse{stage, dim, count});
}
void Builder::layout_pad(StageRef stage, int64_t dim, int64_t before, int64_t after) {
  add(schedule::LayoutPad{stage, dim, before, after});
}
void Builder::layout_unfold(StageRef stage, int64_t dim, int64_t size, int64_t stride) {
  add(schedule::LayoutUnfold{stage, dim, size, stride});
}
void Builder::layout_store_at(StageRef stage, StageRef host, int64_t dim) {
  add(schedule::LayoutStoreAt{stage, host, dim});
}
void Builder::layout_swizzle(StageRef stage, int64_t dim, int64_t by, int64_t count) {
  add(schedule::LayoutSwizzle{stage, dim, by, count});
}
void Builder::storage_align(StageRef stage, int64_t dim, int64_t factor, int64_t offset) {
  add(schedule::StorageAlign{stage, dim, factor, offset});
}

void Builder::store(StageRef tensor, const layout::Layout& l) {
  for (const layout::LayoutStep& s : l.steps()) {
    switch (s.op) {
      case layout::LayoutOp::kSplit:
        layout_split(tensor, s.dim, {s.args.begin(), s.args.end()});
        break;
      case layout::LayoutOp::kReorder:
        layout_reorder(tensor, s.args);
        break;
      case layout::LayoutOp::kFuse:
        layout_fuse(tensor, s.dim, s.args[0]);
        break;
      case layout::LayoutOp::kPad:
        layout_pad(tensor, s.dim, s.args[0], s.args[1]);
        break;
      case layout::LayoutOp::kUnfold:
        layout_unfold(tensor, s.dim, s.args[0], s.args[1]);
        break;
      case layout::LayoutOp::kSwizzle:
        layout_swizzle(tensor, s.dim, s.args[0], s.args[1]);
        break;
      case layout::LayoutOp::kStoreAt:
        break;  // room in another tensor's buffer, which no edge of a task has
    }
  }
}

// ---- what there is by now ----------------------------------------------------------------------

StageRef Builder::stage(std::string_view name) const {
  const schedule::StageId id = state().find(name);
  TENON_CHECK(id >= 0) << "no stage " << std::string(name);
  return {id};
}

const te::ComputeOp& Builder::now(StageRef stage) const {
  TENON_CHECK(state().has(stage) && !state()[stage].is_input()) << "stage " << stage.id;
  return *state()[stage].op;
}

Loop Builder::axis(StageRef stage, size_t position) const {
  return {stage, {static_cast<int32_t>(position)}};
}

std::vector<Loop> Builder::leaves(StageRef stage) const {
  std::vector<Loop> out;
  if (!state().has(stage)) return out;
  for (const schedule::LoopId l : state()[stage].leaves) out.push_back({stage, {l}});
  return out;
}

int64_t Builder::extent(Loop loop) const {
  if (!state().has(loop.stage) || !state()[loop.stage].has_loop(loop.id.id)) return 1;
  return state()[loop.stage].loop(loop.id.id).extent;
}

}  // namespace tenon::space
