// SPDX-License-Identifier: Apache-2.0
// Schedules written by hand, one writer per operator family. A writer asks for its free numbers,
// each with a rule that knows the target and measures nothing. By rule they are the default of an
// untuned model; with other answers they are the first space a tuner searches.
//
//   const Value nb = b.ask({HoleKind::kFactor, out.id, 0}, "nb", Domain::range(1, 8), 2);
//   b.split<3>(b.axis(out, 1), {nb, 16});           // split O j [2, 16] by rule
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "space/builder.h"

namespace tenon::templates {

// How much larger than the definition's own the rounding errors may be. What is chosen is measured
// too (plan/accuracy.h).
enum class Accuracy : uint8_t {
  kStrict,   // at most 4 times
  kDefault,  // every algorithm whose error stays far below what networks notice
  kFast,     // bfloat16 too
};
// By the rows of schedule::algorithms().
double most_error_factor(Accuracy a);

// What is asked of a template: how the tensors at the edge of a task are stored, and which
// algorithms are allowed. A layout of a constant is always the template's to choose.
struct Request {
  // By tensor name, inputs and outputs: decided outside. A tensor that is not named is the
  // template's to choose.
  std::map<std::string, layout::Layout> fixed = {};
  // May ask for non-constant inputs stored with a border of zeros; false inside a network.
  bool borders = true;
  Accuracy accuracy = Accuracy::kDefault;
  std::vector<schedule::Algorithm> without = {};  // not to be used, whatever the accuracy allows
  // A value of space::HoleKind::kAlgorithm: 0 asks for the definition, 1 + schedule::Algorithm for
  // another one. Without it the one that is estimated to be best is taken. Templates that have no
  // such choice do not look at it.
  std::optional<int64_t> algorithm = {};
};

struct Written {
  bool flexible = false;  // see Choice
};

struct Template {
  std::string_view name;
  std::string_view what;
  // Nothing if the dag is not of this family, or if the family cannot store its edges as asked;
  // then no step was added.
  std::optional<Written> (*write)(space::Builder& b, const Request& request);
};

// From the most special to the one that fits every dag, for targets of one kind.
std::span<const Template> templates(const target::Target& t);

struct Choice {
  std::string_view name;  // of the template
  schedule::Trace trace;
  // Of every input and output, as the program has them.
  std::map<std::string, layout::Layout> edges;
  bool flexible = false;  // takes any layout of its edges at about the same speed
  // "conv: why its program was refused", for families that fit before it.
  std::vector<std::string> passed_over;
  space::Choices choices;  // of the holes, by rule
};
// The first template that fits, stores every fixed tensor as asked (layout::same_storage), and
// whose program the target accepts. The last template takes every layout that layout steps can make
// of an output.
Choice choose(const schedule::State& initial, const Request& request = {});

}  // namespace tenon::templates
