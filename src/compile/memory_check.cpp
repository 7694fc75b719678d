// SPDX-License-Identifier: Apache-2.0
#include "compile/memory_check.h"

#include <map>
#include <optional>
#include <set>

#include "support/check.h"

namespace tenon::compile {
namespace {

using artifact::Param;
using artifact::Place;
using plan::LayoutPlan;
using plan::PlannedCall;
using plan::Slot;

// Which slot lies where, whole. What is overwritten in part counts as gone.
class Contents {
 public:
  void write(const Param& at, int32_t slot) {
    if (at.bytes == 0) return;
    auto& region = regions_[{at.place, at.index}];
    auto it = region.lower_bound(at.offset);
    if (it != region.begin() && std::prev(it)->second.end > at.offset) --it;
    while (it != region.end() && it->first < at.offset + at.bytes) it = region.erase(it);
    region.emplace(at.offset, Whole{at.offset + at.bytes, slot});
  }

  // Keeps what lies at the same place there too; whether something was lost.
  bool keep_common(const Contents& other) {
    bool lost = false;
    for (auto& [where, region] : regions_) {
      const auto there = other.regions_.find(where);
      for (auto it = region.begin(); it != region.end();) {
        const bool same = there != other.regions_.end() && there->second.contains(it->first) &&
                          there->second.at(it->first) == it->second;
        lost = lost || !same;
        it = same ? std::next(it) : region.erase(it);
      }
    }
    return lost;
  }

  // The slot that lies exactly there.
  std::optional<int32_t> slot_at(const Param& at) const {
    const auto region = regions_.find({at.place, at.index});
    if (region == regions_.end()) return std::nullopt;
    const auto it = region->second.find(at.offset);
    if (it == region->second.end() || it->second.end != at.offset + at.bytes) return std::nullopt;
    return it->second.slot;
  }

 private:
  struct Whole {
    int64_t end;
    int32_t slot;
    bool operator==(const Whole&) const = default;
  };
  std::map<std::pair<Place, int32_t>, std::map<int64_t, Whole>> regions_;
};

bool overlap(const Param& a, const Param& b) {
  return a.place == b.place && a.index == b.index && a.bytes > 0 && b.bytes > 0 &&
         a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

class Checker {
 public:
  Checker(const graph::Graph& g, const graph::Partition& p, const LayoutPlan& plan,
          const artifact::Program& program, const graph::Segments& segments)
      : g_(g), p_(p), plan_(plan), program_(program), segments_(segments) {
    TENON_CHECK(program_.steps.size() == plan_.calls.size());
    TENON_CHECK(program_.flow.size() == segments.flow.size());
    for (size_t i = 0; i < segments.inputs.size(); ++i) {
      variables_[g.inputs[i]] = segments.inputs[i].variable;
    }
    for (size_t i = 0; i < segments.outputs.size(); ++i) {
      variables_.emplace(root(g.outputs[i]), segments.outputs[i].variable);
    }
  }

  void run() {
    if (segments_.empty()) {
      run_steps(0, plan_.calls.size());
      check_results();
    } else {
      walk();
      check_model_outputs();
    }
  }

 private:
  void run_steps(size_t first, size_t last) {
    for (size_t c = first; c < last; ++c) {
      const PlannedCall& call = plan_.calls[c];
      const artifact::Step& step = program_.steps[c];
      TENON_CHECK(step.params.size() == call.inputs.size() + call.outputs.size()) << "step " << c;
      check_values(c);
      for (size_t i = 0; i < call.inputs.size(); ++i) check_read(c, i);
      for (size_t i = 0; i < call.outputs.size(); ++i) check_write(c, i);
      for (size_t i = 0; i < call.outputs.size(); ++i)
        contents_.write(step.params[call.inputs.size() + i], id_of(call.outputs[i]));
    }
  }

  // A number names what lies at a place: slots come first, variables follow them.
  int32_t id_of_variable(int32_t v) const { return static_cast<int32_t>(plan_.slots.size()) + v; }
  int32_t id_of(int32_t slot) const {
    const Slot& s = plan_.slots.at(static_cast<size_t>(slot));
    const auto it = variables_.find(s.value);
    const bool plain = layout::same_storage(s.layout, layout::Layout(g_.value(s.value).shape));
    return it != variables_.end() && plain ? id_of_variable(it->second) : slot;
  }

  const graph::Variable& variable(int32_t v) const {
    return segments_.variables.at(static_cast<size_t>(v));
  }

  // The instruction reads the variable where it was written last, on every way to here.
  void check_instruction_reads(size_t i, int32_t v, const Param& at) const {
    if (v < 0 || at.bytes == 0) return;
    const bool given = variable(v).input >= 0 ? at.place == Place::kInput
                                              : variable(v).data && at.place == Place::kWeights;
    TENON_CHECK(given || contents_.slot_at(at) == id_of_variable(v))
        << "instruction " << i << " reads " << variable(v).name << " where something else lies";
  }

  void apply(size_t i) {
    const graph::FlowOp& op = segments_.flow[i];
    const artifact::FlowOp& made = program_.flow[i];
    if (op.kind == graph::FlowKind::kRun) {
      run_steps(static_cast<size_t>(made.number), static_cast<size_t>(made.number + made.count));
      return;
    }
    check_instruction_reads(i, op.from, made.from);
    check_instruction_reads(i, op.at, made.at);
    if (op.kind == graph::FlowKind::kPut || op.kind == graph::FlowKind::kAdd) {
      check_instruction_reads(i, op.to, made.to);
    }
    if (op.writes() < 0) return;
    TENON_CHECK(!overlap(made.to, made.from) && !overlap(made.to, made.at)) << "instruction " << i;
    contents_.write(made.to, id_of_variable(op.writes()));
  }

  // Follows every way until nothing is learned. What is known where ways meet is what is so on all of them.
  void walk() {
    std::vector<std::optional<Contents>> before(segments_.flow.size() + 1);
    std::set<size_t> open{0};
    before[0] = Contents();
    const auto arrive = [&](size_t at) {
      if (!before[at]) {
        before[at] = contents_;
        open.insert(at);
      } else if (before[at]->keep_common(contents_)) {
        open.insert(at);
      }
    };
    while (!open.empty()) {
      const size_t i = *open.begin();
      open.erase(open.begin());
      if (i == segments_.flow.size()) continue;
      contents_ = *before[i];
      apply(i);
      const graph::FlowOp& op = segments_.flow[i];
      if (op.goes()) arrive(static_cast<size_t>(op.target));
      if (op.kind != graph::FlowKind::kJump) arrive(i + 1);
    }
    TENON_CHECK(before.back().has_value()) << "the program never ends";
    contents_ = *before.back();
  }

  void check_model_outputs() const {
    for (size_t i = 0; i < segments_.model_outputs.size(); ++i) {
      const int32_t v = segments_.model_outputs[i];
      if (variable(v).bytes() == 0) continue;
      const Param at{Place::kOutput, static_cast<int32_t>(i), 0, variable(v).bytes()};
      TENON_CHECK(contents_.slot_at(at) == id_of_variable(v))
          << "nothing leaves " << variable(v).name << " in output " << i;
    }
  }

  bool is_given(int32_t slot, const Param& at) const {
    if (at.place != Place::kInput) return false;
    if (segments_.empty()) return g_.inputs.at(static_cast<size_t>(at.index)) == value_of(slot);
    const auto it = variables_.find(value_of(slot));
    return it != variables_.end() && variable(it->second).input == at.index;
  }

  graph::ValueId value_of(int32_t slot) const {
    return plan_.slots.at(static_cast<size_t>(slot)).value;
  }
  const std::string& name_of(int32_t slot) const { return g_.value(value_of(slot)).name; }
  graph::ValueId root(graph::ValueId v) const { return p_.view_of[static_cast<size_t>(v)]; }

  // The slots of a call are those of the values that the graph gives it.
  void check_values(size_t c) const {
    const PlannedCall& call = plan_.calls[c];
    if (call.call < 0) {
      TENON_CHECK(value_of(call.inputs.at(0)) == value_of(call.outputs.at(0))) << "step " << c;
      return;
    }
    const graph::Call& wanted = p_.calls[static_cast<size_t>(call.call)];
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      TENON_CHECK(call.inputs[i] < 0 || value_of(call.inputs[i]) == root(wanted.inputs[i]))
          << "step " << c << " reads " << name_of(call.inputs[i]) << " instead of "
          << g_.value(wanted.inputs[i]).name;
    }
    for (size_t i = 0; i < call.outputs.size(); ++i)
      TENON_CHECK(value_of(call.outputs[i]) == root(wanted.outputs[i])) << "step " << c;
  }

  void check_read(size_t c, size_t i) const {
    const int32_t slot = plan_.calls[c].inputs[i];
    const Param& at = program_.steps[c].params[i];
    if (slot < 0) {
      TENON_CHECK(at.place == Place::kWeights) << "step " << c << ": constant " << i;
      return;
    }
    TENON_CHECK(is_given(slot, at) || at.bytes == 0 || contents_.slot_at(at) == id_of(slot))
        << "step " << c << " reads " << name_of(slot) << " where something else lies";
  }

  // A kernel may write over one input, which it was told of. Everything else it touches lies apart.
  void check_write(size_t c, size_t i) const {
    const artifact::Step& step = program_.steps[c];
    const size_t inputs = plan_.calls[c].inputs.size();
    const int32_t in_place = program_.kernels[static_cast<size_t>(step.kernel)].function.in_place;
    const Param& out = step.params[inputs + i];
    for (size_t k = 0; k < inputs + i; ++k) {
      const Param& other = step.params[k];
      if (!overlap(out, other)) continue;
      TENON_CHECK(i == 0 && static_cast<int32_t>(k) == in_place && out.offset == other.offset &&
                  out.bytes == other.bytes)
          << "step " << c << " writes " << name_of(plan_.calls[c].outputs[i])
          << " over its parameter " << k;
    }
  }

  void check_results() const {
    for (size_t i = 0; i < g_.outputs.size(); ++i) {
      const graph::Value& v = g_.value(g_.outputs[i]);
      if (v.elements() == 0) continue;
      const auto slot = contents_.slot_at({Place::kOutput, static_cast<int32_t>(i), 0, v.bytes()});
      TENON_CHECK(slot && value_of(*slot) == root(g_.outputs[i]))
          << "no step leaves " << v.name << " in output " << i;
    }
  }

  const graph::Graph& g_;
  const graph::Partition& p_;
  const LayoutPlan& plan_;
  const artifact::Program& program_;
  const graph::Segments& segments_;
  std::map<graph::ValueId, int32_t> variables_;  // that values of segments are
  Contents contents_;
};

}  // namespace

void check_memory(const graph::Graph& g, const graph::Partition& p, const LayoutPlan& plan,
                  const artifact::Program& program) {
  const graph::Segments none;
  Checker(g, p, plan, program, none).run();
}

void check_memory(const plan::Network& n, const artifact::Program& program) {
  Checker(n.graph, n.partition, n.layouts, program, n.segments).run();
}

}  // namespace tenon::compile
