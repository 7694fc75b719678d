// SPDX-License-Identifier: Apache-2.0
// Accuracy as part of the choice of an algorithm: what each kernel's rounding costs, and what --accuracy allows.
//
//   strict   an algorithm's error is at most 4 times that of direct float32
//   default  at most 1e-4 of the largest value of the layer, and 1e-3 over all layers of the network together
//   fast     at most 2e-2: room for bfloat16
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "plan/rounding.h"
#include "schedule/trace.h"
#include "templates/template.h"

namespace tenon::plan {

struct KernelError {
  std::string_view algorithm;                     // by name: "direct", "winograd4"
  std::optional<schedule::Algorithm> other = {};  // than the direct one
  LayerError error;
};

// What --accuracy says of a program.
struct Verdict {
  std::optional<KernelError> error;  // nothing: it has no sums of products in float32
  double allowed = 0;                // for error->error.relative
  std::string refused;  // why the program may not be used, in a sentence; empty: it may
};

// Measures each kind of sum once. Safe to use from several threads.
class Errors {
 public:
  // Of the sum of products in float32 that rounds worst; nothing if the program has none.
  std::optional<KernelError> of(const schedule::State& initial, const schedule::Trace& trace);
  // The one place where a program is refused for its rounding. The direct algorithm never is.
  Verdict judge(templates::Accuracy level, const schedule::State& initial,
                const schedule::Trace& trace);

 private:
  struct Kind {
    std::optional<schedule::Algorithm> algorithm;
    size_t dims = 0;  // of Winograd's tiles
    int64_t depth = 1;
    auto operator<=>(const Kind&) const = default;
  };
  static std::optional<Kind> kind_of(const te::ComputeOp& op,
                                     std::optional<schedule::Algorithm> algorithm);
  LayerError measured(const Kind& kind);

  std::mutex lock_;
  std::map<Kind, LayerError> known_;
};

double most_in_layer(templates::Accuracy level, const LayerError& e);
bool allows(templates::Accuracy level, const LayerError& e);
// Of the errors of all layers together; infinite where there is no such bound.
double most_in_network(templates::Accuracy level);

std::string_view to_string(templates::Accuracy level);  // "strict", "default", "fast"

}  // namespace tenon::plan
