// SPDX-License-Identifier: Apache-2.0
// A loop of the program: its body is there once, what one turn leaves to the next is copied.
#include <fmt/ranges.h>

#include <algorithm>

#include "onnx/ops/emit.h"
#include "onnx/ops/turns.h"

namespace tenon::onnx {
namespace {

using graph::FlowKind;
using graph::GraphBuilder;

// Bytes that one output of a loop may take, with a row for every turn that there may be.
constexpr int64_t kMostRowBytes = int64_t{1} << 30;

std::string type_text(const graph::Value& v) {
  return fmt::format("{}[{}]", ir::to_string(v.dtype), fmt::join(v.shape, ","));
}

class Loop {
 public:
  Loop(Convert& c, const Turns& t) : c_(c), b_(c.b()), t_(t), kept_(t.initial.size(), false) {}

  std::vector<ValueId> run() {
    for (size_t i = 0; i < t_.initial.size(); ++i) {
      if (!is_sequence(i) && b_.value(t_.initial[i]).elements() == 0) kept_[i] = true;
    }
    while (learn()) {
    }
    if (!learned_) refuse_body();
    begin();
    write_body();
    return end();
  }

 private:
  bool is_sequence(size_t state) const { return c_.sequences().find(t_.initial[state]) != nullptr; }

  bool constant_truth(ValueId v) const {
    return v < 0 || (b_.data(v) && b_.data(v)->get(0).i != 0);
  }

  std::vector<ValueId> elements() {
    std::vector<ValueId> list;
    for (const Turns::Through& x : t_.through) {
      const graph::Value whole = b_.value(x.from);
      const Shape part(whole.shape.begin() + 1, whole.shape.end());
      list.push_back(whole.elements() == 0 ? b_.empty(whole.dtype, part)
                                           : b_.variable("element", whole.dtype, part));
    }
    return list;
  }

  std::vector<ValueId> state_variables() {
    std::vector<ValueId> list = t_.initial;
    for (size_t i = 0; i < list.size(); ++i) {
      if (kept_[i]) continue;
      const graph::Value v = b_.value(list[i]);
      list[i] = is_sequence(i)
                    ? c_.make_sequence({{b_.variable("before", ir::kBool, {}), Piece::kBefore}})
                    : b_.variable(v.name, v.dtype, v.shape);
    }
    return list;
  }

  // What turns insert at the end of sequences becomes rows, behind those that are results.
  Turn with_inserted(Turn turn, const std::vector<ValueId>& state) {
    turn.scanned.resize(std::min(turn.scanned.size(), t_.wanted));
    inserted_.clear();
    for (size_t i = 0; i < std::min(state.size(), turn.state.size()); ++i) {
      if (!is_sequence(i) || kept_[i] || turn.state[i] == state[i]) continue;
      const std::vector<Piece>* pieces = c_.sequences().find(turn.state[i]);
      const std::vector<Piece>& before = *c_.sequences().find(state[i]);
      if (pieces == nullptr || pieces->empty() || pieces->front() != before.front()) {
        refuse("a sequence that the {} changes can only grow at its end", t_.op);
      }
      std::vector<ValueId> inserted;
      for (size_t k = 1; k < pieces->size(); ++k) {
        require_sized(c_, (*pieces)[k]);
        if ((*pieces)[k].rows != Piece::kOne)
          refuse("a turn of the {} inserts a loop's rows", t_.op);
        inserted.push_back((*pieces)[k].value);
      }
      inserted_.push_back(std::ssize(inserted));
      turn.scanned.push_back(inserted.size() == 1 ? inserted[0] : stack(b_, inserted, 0));
    }
    return turn;
  }

  // Looks at the body, and takes it back. True if there are states more that every turn leaves as they are: with these
  // the body is looked at again, since it may show more then.
  bool learn() {
    bool more = false;
    c_.attempt([&] {
      b_.begin_segment();
      const std::vector<ValueId> state = state_variables();
      const ValueId number = b_.variable("turn", ir::kI64, {});
      const Turn turn = with_inserted(t_.body(number, state, elements()), state);
      for (size_t i = 0; i < std::min(state.size(), turn.state.size()); ++i) {
        if (kept_[i] || turn.state[i] != state[i]) continue;
        kept_[i] = more = true;
      }
      learned_ = true;
      conditional_ = !constant_truth(t_.condition) || !constant_truth(turn.condition);
      scanned_.clear();
      for (const ValueId v : turn.scanned) scanned_.push_back(b_.value(v));
      return false;
    });
    return more;
  }

  // Lets the body say itself what is wrong with it. What it would need to know of the turn depends on the trip count.
  [[noreturn]] void refuse_body() {
    const ValueId number = b_.variable("turn", ir::kI64, {});
    b_.flow({.kind = FlowKind::kCopy, .to = number, .from = t_.count >= 0 ? t_.count : number});
    const std::vector<ValueId> state = state_variables();
    for (size_t i = 0; i < state.size(); ++i) {
      if (!kept_[i]) b_.flow({.kind = FlowKind::kCopy, .to = state[i], .from = t_.initial[i]});
    }
    with_inserted(t_.body(number, state, elements()), state);
    refuse("the body of the {} cannot be compiled", t_.op);
  }

  ValueId one(ValueId v, ir::DType type, std::string_view what) {
    if (b_.value(v).elements() != 1 || b_.dtype(v) != type) {
      refuse("{} must be one {}", what, ir::to_string(type));
    }
    return b_.reshape(v, {});
  }

  // How many rows what is scanned may have.
  int64_t most_rows() const {
    if (t_.count >= 0 && b_.data(t_.count)) return b_.data(t_.count)->get(0).i;
    throw Unsupported(
        fmt::format(
            "output {} of the {} has a row for each turn, and how many there may be is known "
            "only when the model runs",
            t_.initial.size(), t_.op),
        t_.count >= 0 ? c_.hint_to_know(t_.count) : "give the loop a number of turns");
  }

  void begin_rows() {
    if (scanned_.size() < t_.wanted) refuse("the body of the {} has too few outputs", t_.op);
    for (size_t i = 0; i < scanned_.size(); ++i) {
      Shape shape = scanned_[i].shape;
      const int64_t most = most_rows();
      if (scanned_[i].bytes() > 0 && most > kMostRowBytes / scanned_[i].bytes()) {
        throw Unsupported(
            fmt::format("output {} of the {} has a row for each turn, {} at most: more memory than "
                        "{} MiB",
                        t_.initial.size() + i, t_.op, most, kMostRowBytes >> 20),
            "limit the number of turns");
      }
      shape.insert(shape.begin(), most);
      const ir::DType type = scanned_[i].dtype;
      rows_.push_back(scanned_[i].elements() == 0 ? b_.empty(type, shape)
                                                  : b_.variable("rows", type, shape));
      if (scanned_[i].elements() > 0) b_.flow({.kind = FlowKind::kClear, .to = rows_.back()});
    }
  }

  // What is there before the first turn, and the head of the loop, which every turn comes back to.
  void begin() {
    if (t_.count < 0 && !conditional_) refuse("the {} never ends", t_.op);
    const ValueId count = t_.count >= 0 ? one(t_.count, ir::kI64, "the trip count") : -1;
    const ValueId first =
        t_.condition >= 0 ? one(t_.condition, ir::kBool, "the condition") : b_.scalar(ir::kBool, 1);
    number_ = b_.variable("turn", ir::kI64, {});
    b_.flow({.kind = FlowKind::kSet, .to = number_, .number = 0});
    state_ = state_variables();
    for (size_t i = 0; i < state_.size(); ++i) {
      if (kept_[i] || is_sequence(i)) continue;
      b_.flow({.kind = FlowKind::kCopy, .to = state_[i], .from = t_.initial[i]});
    }
    begin_rows();
    if (conditional_) {
      condition_ = b_.variable("more", ir::kBool, {});
      b_.flow({.kind = FlowKind::kCopy, .to = condition_, .from = first});
    }
    head_ = b_.next_op();
    if (count >= 0) {
      ends_.push_back(b_.flow({.kind = FlowKind::kReached, .from = count, .at = number_}));
    }
    if (conditional_) ends_.push_back(b_.flow({.kind = FlowKind::kUnless, .from = condition_}));
  }

  void require_same(size_t i, ValueId next) const {
    const graph::Value &before = b_.value(t_.initial[i]), &after = b_.value(next);
    if (before.dtype == after.dtype && before.shape == after.shape) return;
    throw Unsupported(
        fmt::format(
            "state {} of the {} is {} before a turn and {} behind it; what changes its size "
            "from turn to turn needs a number of turns that is known when compiling",
            i, t_.op, type_text(before), type_text(after)),
        t_.count >= 0 ? c_.hint_to_know(t_.count) : "");
  }

  void write_body() {
    const std::vector<ValueId> inside = elements();
    for (size_t i = 0; i < inside.size(); ++i) {
      if (b_.value(inside[i]).elements() == 0) continue;
      b_.flow({.kind = FlowKind::kTake,
               .to = inside[i],
               .from = t_.through[i].from,
               .at = number_,
               .number = t_.through[i].backward ? 1 : 0});
    }
    b_.begin_segment();
    Turn turn = with_inserted(t_.body(number_, state_, inside), state_);
    if (turn.state.size() != state_.size() || turn.scanned.size() != scanned_.size()) {
      refuse("the body of the {} has too few outputs", t_.op);
    }
    if (conditional_ && turn.condition >= 0) {
      turn.condition = one(turn.condition, ir::kBool, "the condition");
    }
    write_rows(turn);
    write_state(turn);
    b_.flow({.kind = FlowKind::kAdd, .to = number_, .number = 1});
    const size_t again = b_.flow({.kind = FlowKind::kJump});
    b_.graph().flow[again].target = static_cast<int32_t>(head_);
  }

  // Before the state changes: a row may be a part of it.
  void write_rows(const Turn& turn) {
    for (size_t i = 0; i < turn.scanned.size(); ++i) {
      const graph::Value &now = b_.value(turn.scanned[i]), &learned = scanned_[i];
      if (now.dtype != learned.dtype || now.shape != learned.shape) {
        refuse("a scan output changes its shape from one trip to the next");
      }
      if (now.elements() == 0) continue;
      const bool backward = i < t_.scanned_backward.size() && t_.scanned_backward[i];
      b_.flow({.kind = FlowKind::kPut,
               .to = rows_[i],
               .from = turn.scanned[i],
               .at = number_,
               .number = backward ? 1 : 0});
    }
  }

  // A state that becomes another one (a, b = b, a) is kept aside before any of them changes.
  void write_state(Turn& turn) {
    for (size_t i = 0; i < state_.size(); ++i) {
      if (is_sequence(i)) turn.state[i] = state_[i];
      require_same(i, turn.state[i]);
      if (kept_[i] || turn.state[i] == state_[i]) continue;
      const bool is_state =
          std::find(state_.begin(), state_.end(), turn.state[i]) != state_.end() ||
          turn.state[i] == number_;
      if (!is_state) continue;
      const graph::Value v = b_.value(turn.state[i]);
      const ValueId aside = b_.variable(v.name, v.dtype, v.shape);
      b_.flow({.kind = FlowKind::kCopy, .to = aside, .from = turn.state[i]});
      turn.state[i] = aside;
    }
    if (conditional_ && turn.condition >= 0) {
      b_.flow({.kind = FlowKind::kCopy, .to = condition_, .from = turn.condition});
    }
    for (size_t i = 0; i < state_.size(); ++i) {
      if (kept_[i] || turn.state[i] == state_[i]) continue;
      b_.flow({.kind = FlowKind::kCopy, .to = state_[i], .from = turn.state[i]});
    }
  }

  std::vector<ValueId> end() {
    for (const size_t op : ends_) b_.set_target(op);
    for (const ValueId v : rows_) {
      if (conditional_ && b_.value(v).elements() > 0) {
        b_.flow({.kind = FlowKind::kCount, .to = v, .at = number_});
      }
    }
    b_.begin_segment();
    std::vector<ValueId> out = state_;
    size_t next = 0;
    for (size_t i = 0; i < state_.size(); ++i) {
      if (!is_sequence(i) || kept_[i]) continue;
      out[i] = grown(t_.initial[i], rows_[t_.wanted + next], inserted_[next]);
      ++next;
    }
    out.insert(out.end(), rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(t_.wanted));
    return out;
  }

  // The sequence with what all turns inserted. Several in a turn have an axis of their own behind that of turns.
  ValueId grown(ValueId initial, ValueId rows, int64_t in_a_turn) {
    std::vector<Piece> pieces = *c_.sequences().find(initial);
    if (in_a_turn > 1 && conditional_) {
      refuse("turns insert several tensors, and how many turns there are depends on data");
    }
    Shape shape = b_.shape(rows);
    if (in_a_turn > 1) {
      shape[1] *= shape[0];
      shape.erase(shape.begin());
      rows = b_.reshape(rows, shape);
    }
    pieces.push_back({rows, conditional_ ? Piece::kCounted : shape[0]});
    return c_.make_sequence(std::move(pieces));
  }

  Convert& c_;
  GraphBuilder& b_;
  const Turns& t_;
  std::vector<bool> kept_;             // states that stay as they were
  std::vector<graph::Value> scanned_;  // types of what a turn scans
  bool learned_ = false;
  bool conditional_ = true;  // whether turns say if there is another
  ValueId number_ = -1, condition_ = -1;
  std::vector<ValueId> state_, rows_;
  std::vector<int64_t> inserted_;  // tensors that a turn inserts into each sequence that it changes
  std::vector<size_t> ends_;       // instructions that leave the loop
  size_t head_ = 0;
};

}  // namespace

std::vector<ValueId> write_loop(Convert& c, const Turns& t) { return Loop(c, t).run(); }

}  // namespace tenon::onnx
