// SPDX-License-Identifier: Apache-2.0
// Which part of the work the time went into.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace tenon::tune {

// Seconds from some moment on. Another one than the machine's makes a run on the pretend device the
// same every time.
using Clock = std::function<double()>;
Clock machine_clock();

class Stopwatch {
 public:
  explicit Stopwatch(Clock clock) : clock_(std::move(clock)) {}
  double now() const { return clock_(); }
  // Runs fn and adds its time to `part`, also when it throws.
  template <class Fn>
  auto time(const std::string& part, Fn&& fn) {
    const Span span{*this, part, clock_()};
    return fn();
  }
  const std::map<std::string, double>& seconds() const { return seconds_; }
  // What `part` took since seconds() gave `before`.
  double since(const std::map<std::string, double>& before, const std::string& part) const;

 private:
  struct Span {
    Stopwatch& watch;
    const std::string& part;
    double start;
    ~Span() { watch.seconds_[part] += watch.clock_() - start; }
  };
  Clock clock_;
  std::map<std::string, double> seconds_;
};

}  // namespace tenon::tune
