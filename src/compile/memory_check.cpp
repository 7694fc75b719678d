// SPDX-License-Identifier: Apache-2.0
#include "compile/memory_check.h"

#include <map>
#include <optional>

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
          const artifact::Program& program)
      : g_(g), p_(p), plan_(plan), program_(program) {}

  void run() {
    TENON_CHECK(program_.steps.size() == plan_.calls.size());
    for (size_t c = 0; c < plan_.calls.size(); ++c) {
      const PlannedCall& call = plan_.calls[c];
      const artifact::Step& step = program_.steps[c];
      TENON_CHECK(step.params.size() == call.inputs.size() + call.outputs.size()) << "step " << c;
      check_values(c);
      for (size_t i = 0; i < call.inputs.size(); ++i) check_read(c, i);
      for (size_t i = 0; i < call.outputs.size(); ++i) check_write(c, i);
      for (size_t i = 0; i < call.outputs.size(); ++i)
        contents_.write(step.params[call.inputs.size() + i], call.outputs[i]);
    }
    check_results();
  }

 private:
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
    const bool given =
        at.place == Place::kInput && g_.inputs.at(static_cast<size_t>(at.index)) == value_of(slot);
    TENON_CHECK(given || at.bytes == 0 || contents_.slot_at(at) == slot)
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
  Contents contents_;
};

}  // namespace

void check_memory(const graph::Graph& g, const graph::Partition& p, const LayoutPlan& plan,
                  const artifact::Program& program) {
  Checker(g, p, plan, program).run();
}

}  // namespace tenon::compile
