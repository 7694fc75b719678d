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

// How much larger than the definition's own the rounding errors may be. What is chosen is measured too (compile/accuracy.h).
enum class Accuracy : uint8_t {
  kStrict,   // at most 4 times
  kDefault,  // every algorithm whose error stays far below what networks notice
  kFast,     // bfloat16 too
};
// By the rows of schedule::algorithms().
double most_error_factor(Accuracy a);

// A knob that asks for an algorithm instead of the one that is estimated to be best: 1 the direct one, from 2 on those of
// schedule::algorithms(). Templates that have no such choice do not look at it.
inline constexpr std::string_view kAlgorithmKnob = "algorithm";
inline constexpr int64_t kFirstAlgorithm = 2;
inline constexpr int64_t kAlgorithms = 9;

// What is asked of a template: how the tensors at the edge of a task are stored, values for knobs,
// and which algorithms are allowed. A layout of a constant is always the template's to choose.
struct Request {
  // By tensor name, inputs and outputs: decided outside. A tensor that is not named is the template's to choose.
  std::map<std::string, layout::Layout> fixed = {};
  // May ask for non-constant inputs stored with a border of zeros; false inside a network.
  bool borders = true;
  // Values for knobs that a plan lists as free, instead of those that the family's rule chooses.
  Knobs given = {};
  Accuracy accuracy = Accuracy::kDefault;
  std::vector<schedule::Algorithm> without = {};  // not to be used, whatever the accuracy allows
};

struct Plan {
  std::string text;       // a trace with $knobs
  Knobs knobs;            // their values for this dag and target
  Knobs free;             // those that may be given, with the most that makes sense; the least is 1
  Knobs chosen;           // the values of the free ones
  bool flexible = false;  // see Choice
};

struct Template {
  std::string_view name;
  std::string_view what;
  // Nothing if the dag is not of this family, or if the family cannot store its edges as asked.
  std::optional<Plan> (*plan)(const schedule::State& initial, const Request& request);
};

// From the most special to the one that fits every dag.
std::span<const Template> templates();

// The text with every $knob replaced; throws InternalError for a knob without a value.
std::string fill(const std::string& text, const Knobs& knobs);

// A plan's text parsed once: its steps, and which of their numbers are knobs. Other values are filled in without reading
// text again; plans of one text differ in nothing else.
//
//   split O j [$nb, $v]  =>  split O j [_, _] with knobs nb, v
class Skeleton {
 public:
  // Throws UserError if a step of the plan is refused or names what is not there.
  Skeleton(const Plan& plan, const schedule::State& initial);

  schedule::Trace fill(const Knobs& knobs) const;
  // The state after the steps without knobs that come first, and how many they are.
  const schedule::State& fixed() const { return fixed_; }
  size_t fixed_steps() const { return fixed_steps_; }

 private:
  struct Hole {
    size_t step, number;  // which of the step's numbers
    std::string knob;
  };
  schedule::Trace steps_;
  std::vector<Hole> holes_;
  schedule::State fixed_;
  size_t fixed_steps_ = 0;
};

struct Choice {
  std::string_view name;  // of the template
  Plan plan;
  schedule::Trace trace;
  std::map<std::string, layout::Layout>
      edges;              // of every input and output, as the program has them
  bool flexible = false;  // takes any layout of its edges at about the same speed
  std::vector<std::string>
      passed_over;  // "conv: why its program was refused", for families that fit before it
};
// The first template that fits, stores every fixed tensor as asked (layout::same_storage), and whose program the target
// accepts. The last template takes every layout that layout steps can make of an output.
Choice choose(const schedule::State& initial, const Request& request = {});

}  // namespace tenon::templates
