// SPDX-License-Identifier: Apache-2.0
// What the next seconds of a run go into. Kinds of decisions (loops, layouts, pairs) compete for
// them as tasks compete inside one kind: by how much each gained in a second lately. A kind that
// gains nothing falls behind and gets no more.
//
//   Budget b;
//   const size_t loops = b.add("loops", 2e-3), layouts = b.add("layouts", 5e-4);   // hopes
//   while (const auto kind = b.next()) b.report(*kind, gained_s, spent_s);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon::tune {

class Budget {
 public:
  static constexpr int64_t kFirstSteps = 3;  // that say more of a kind than any hope

  struct Kind {
    std::string name;
    double gained_s = 0;  // of the networks' time, in all
    double spent_s = 0;   // of the run
    int64_t steps = 0;
    bool over = false;  // nothing is left to try, or its share is used up
  };

  // `hope_s` is what its first seconds are taken to gain.
  size_t add(std::string name, double hope_s);
  // The kind that is expected to gain most in a second, once each has had its first few steps;
  // nothing: all are over.
  std::optional<size_t> next() const;
  void report(size_t kind, double gained_s, double spent_s);
  void end(size_t kind) { kinds_[kind].over = true; }
  void reopen(size_t kind) { kinds_[kind].over = false; }
  double rate(size_t kind) const;  // expected gain in a second
  const std::vector<Kind>& kinds() const { return kinds_; }

 private:
  struct Evidence {
    double gained_s, spent_s;  // recent steps count more
  };
  std::vector<Kind> kinds_;
  std::vector<Evidence> evidence_;
};

}  // namespace tenon::tune
