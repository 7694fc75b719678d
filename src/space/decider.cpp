// SPDX-License-Identifier: Apache-2.0
#include "space/decider.h"

namespace tenon::space {

int64_t Blindly::decide(const Hole& hole) {
  constexpr int64_t kSmall = 8;
  if (hole.weights) return hole.domain.draw(rng_, hole.weights(hole.domain));
  if (rng_.chance(0.5)) return hole.rule;
  const int64_t any = hole.domain.draw(rng_);
  if (any <= kSmall || rng_.chance(0.5)) return any;
  return hole.domain.nearest(rng_.between(1, kSmall));
}

int64_t Prefix::decide(const Hole& hole) {
  if (open_ || !fits_) return hole.rule;
  if (next_ == choices_.size()) {
    open_ = Hole{hole.id, hole.name, hole.domain, hole.rule, nullptr, nullptr};
    return hole.rule;
  }
  const Choice& c = choices_[next_];
  fits_ = c.hole == hole.id && hole.domain.contains(c.value);
  if (!fits_) return hole.rule;
  ++next_;
  return c.value;
}

int64_t Follow::decide(const Hole& hole) {
  for (size_t n = 0; n < choices_.size(); ++n) {
    const size_t i = (next_ + n) % choices_.size();
    if (choices_[i].hole != hole.id) continue;
    next_ = i + 1;
    return hole.domain.nearest(choices_[i].value);
  }
  return other_.decide(hole);
}

}  // namespace tenon::space
