// SPDX-License-Identifier: Apache-2.0
#include "cost/models/encoders.h"

#include "cost/features.h"
#include "cost/knob_features.h"
#include "cost/loop_features.h"
#include "cost/tree_features.h"
#include "schedule/trace.h"

namespace tenon::cost {

namespace {

using Extract = Row(const schedule::State& s, const schedule::Bounds& b);

template <Extract extract>
Result<Row> from_state(const schedule::State& s) {
  const auto bounds = schedule::infer_bounds(s, -1, schedule::BoundsFor::kSearch);
  if (!bounds) return bounds.illegal();
  return extract(s, *bounds);
}

// From what is known of the program, or from the trace.
template <Extract extract>
Result<Row> from_program(const Subject& subject) {
  if (subject.state != nullptr && subject.bounds != nullptr) {
    return extract(*subject.state, *subject.bounds);
  }
  if (subject.state != nullptr) return from_state<extract>(*subject.state);
  const task::Task& t = subject.task;
  const auto state = schedule::replay(schedule::State(t.dag, t.target), subject.trace);
  if (!state) return state.illegal();
  return from_state<extract>(*state);
}

Result<Row> from_choices(const Subject& subject) {
  const bool known = subject.choices != nullptr && !subject.choices->empty();
  return known ? knob_features(*subject.choices) : knob_features(subject.trace);
}

}  // namespace

constinit const Encoder kStatements{kFeatures, from_program<extract>, feature_hash};
constinit const Encoder kItervar{kItervarColumns, from_program<itervar_features>,
                                 loop_feature_hash};
constinit const Encoder kCurve{kCurveColumns, from_program<curve_features>, loop_feature_hash};
constinit const Encoder kLoopTree{kTreeColumns, from_program<tree_features>, tree_feature_hash};
constinit const Encoder kKnobs{kKnobColumns, from_choices, knob_feature_hash};

}  // namespace tenon::cost
