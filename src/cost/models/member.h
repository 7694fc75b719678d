// SPDX-License-Identifier: Apache-2.0
// One opinion of a boosted model: trees of the history, weighed by how far they are trusted, and
// those of this run.
//
//   Member m = history.on(footing);     // offset + weight * history
//   m.add(booster);                     // + this run's trees
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/models/booster.h"
#include "cost/models/growth.h"

namespace tenon::cost {

class Member {
 public:
  void add(Booster b, float weight = 1);
  // The same, weighed.
  Member on(const Footing& footing) const;
  float offset() const { return offset_; }  // of a program, however many rows it has
  std::vector<float> predict(
      std::span<const float> values) const;  // of rows; safe from several threads

  // A line "OFFSET PARTS", then each part as a line "WEIGHT BYTES" and its trees.
  friend std::string to_text(const Member& m);
  // Takes it from the front of `bytes`. Throws UserError.
  friend Member read_member(std::string_view& bytes, const Growing& growing);

 private:
  struct Part {
    float weight;
    std::shared_ptr<const Booster> booster;
  };
  float offset_ = 0;
  std::vector<Part> parts_;
};

std::string to_text(const Member& m);
Member read_member(std::string_view& bytes, const Growing& growing);

}  // namespace tenon::cost
