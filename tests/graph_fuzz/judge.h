// SPDX-License-Identifier: Apache-2.0
// One graph through the compiler.
#pragma once

#include <string>

#include "graph_fuzz/compare.h"

namespace tenon::graph_fuzz {

enum class Status { kRight, kWrong, kRefused, kError, kCrashed, kHung };
std::string_view to_string(Status s);

struct Verdict {
  Status status = Status::kRight;
  std::string reason;
  int64_t nodes = 0, elements = 0, disturbed = 0, open = 0;
};

// How the compiler is run on a graph; drawn from the seed.
struct Route {
  bool optimize = true, fuse = true, schedule = true, row_major = false, pairs = false;
  bool library =
      false;  // written, loaded and run as users do; otherwise in this process with poisoned memory
  int threads = 1;
};
Route draw_route(uint64_t seed);
std::string to_string(const Route& r);

// Never throws.
Verdict judge(const Case& c, const Route& route);
// What ONNX's own checker and shape inference say against a model and the oracle's shapes; empty: nothing, or they do not
// know the opset.
std::string invalid(const Case& c);

}  // namespace tenon::graph_fuzz
