// SPDX-License-Identifier: Apache-2.0
// Schedules written by hand, one trace with named knobs per operator family, and a rule per family that fills the
// knobs from what is known of the target, without measuring. They are the default of an untuned model and the
// first space a tuner searches.
//
//   split O j [$nb, $v]      with knobs nb = 2, v = 16
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schedule/trace.h"

namespace tenon::templates {

using Knobs = std::map<std::string, int64_t>;

struct Plan {
  std::string text;  // a trace with $knobs
  Knobs knobs;       // their values for this dag and target
};

struct Template {
  std::string_view name;
  std::string_view what;
  // Nothing if the dag is not of this family.
  std::optional<Plan> (*plan)(const te::ComputeDag& dag, const target::Target& target);
};

// From the most special to the one that fits every dag.
std::span<const Template> templates();

// The text with every $knob replaced; throws InternalError for a knob without a value.
std::string fill(const std::string& text, const Knobs& knobs);

struct Choice {
  std::string_view name;  // of the template
  Plan plan;
  schedule::Trace trace;
  std::vector<std::string>
      passed_over;  // "conv: why its program was refused", for families that fit before it
};
// The first template that fits and whose program the target accepts.
Choice choose(const schedule::State& initial);

}  // namespace tenon::templates
