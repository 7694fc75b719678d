// SPDX-License-Identifier: Apache-2.0
// Whether the core of this thread is its own. Virtual machines hide that two of their CPUs share a core, and that other
// machines' do: then whatever runs here takes up to twice as long, for as long as the other one works.
//
//   CoreProbe probe;
//   if (!probe.undisturbed()) ...    // what was timed just before may have been slowed down
#pragma once

#include <functional>

namespace tenon::run {

class CoreProbe {
 public:
  // `work`: seconds that a short piece of work takes, which keeps a core busy; another one in tests.
  explicit CoreProbe(std::function<double()> work = additions);

  // The work takes about as long as it ever did. Some microseconds.
  bool undisturbed();

 private:
  static double additions();

  std::function<double()> work_;
  double best_s_ = 0;
};

}  // namespace tenon::run
