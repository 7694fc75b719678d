// SPDX-License-Identifier: Apache-2.0
// Runs a function by the interpreter and by compiled code and compares. Compiled code gets buffers
// next to pages that cannot be touched, with bytes around them and inputs that must not change.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "backend/backend.h"
#include "ir/interp.h"
#include "ir/ir.h"
#include "support/rng.h"

namespace tenon::backend {

// Every named target whose code runs on this machine: x86-64 (SSE2) up to what it has.
std::vector<target::Target> targets_here();

// How far floats may differ: by `relative` of the larger magnitude, or by `absolute`. Zero means
// equal, where any NaN equals any NaN and -0 equals 0.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// One array per parameter: inputs random (integers over their whole range, floats moderate with a
// few special values), outputs poisoned.
std::vector<ir::Array> random_args(const ir::Function& f, Rng& rng);
// Small integers in every type, so that sums and products of a few of them are exact.
std::vector<ir::Array> small_args(const ir::Function& f, Rng& rng, int64_t lowest = -4,
                                  int64_t highest = 4);

// Runs compiled code on copies of `args` with guards and a workspace of exactly the size asked for;
// fails the test when a byte around a buffer or an input changed. Without a runtime buffers end at
// a page that cannot be touched, with one they begin behind such a page. Returns what the buffers
// hold after.
std::vector<ir::Array> run_kernel(const ir::Function& f, const Kernel& kernel,
                                  const std::vector<ir::Array>& args,
                                  const tenon_runtime* rt = nullptr);

void expect_equal(const ir::Function& f, const std::vector<ir::Array>& expected,
                  const std::vector<ir::Array>& actual, Tolerance tolerance);

// Interpreter against compiled code for every target here, without a runtime and with one that uses
// three threads.
void expect_same(const ir::Function& f, const std::vector<ir::Array>& args,
                 Tolerance tolerance = {});

// A runtime that starts `threads` threads for each loop and gives out ranges of unequal size.
class ThreadedRuntime {
 public:
  explicit ThreadedRuntime(int threads);
  const tenon_runtime* get() const { return &rt_; }

 private:
  tenon_runtime rt_;
};

}  // namespace tenon::backend
