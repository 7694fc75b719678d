// SPDX-License-Identifier: Apache-2.0
#include "space/domain.h"

#include <algorithm>

namespace tenon::space {

Domain Domain::range(int64_t low, int64_t high) {
  Domain d;
  d.low_ = low;
  d.high_ = high;
  return d;
}

Domain Domain::of(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  Domain d;
  d.values_ = std::make_shared<const std::vector<int64_t>>(std::move(values));
  return d;
}

Domain Domain::divisors(int64_t n, int64_t most) {
  std::vector<int64_t> out;
  for (int64_t d = 1; d <= std::min(n, most); ++d) {
    if (n % d == 0) out.push_back(d);
  }
  return of(std::move(out));
}

size_t Domain::size() const {
  if (values_ != nullptr) return values_->size();
  return high_ < low_ ? 0 : static_cast<size_t>(high_ - low_ + 1);
}

int64_t Domain::at(size_t i) const {
  TENON_CHECK(i < size());
  return values_ == nullptr ? low_ + static_cast<int64_t>(i) : (*values_)[i];
}

size_t Domain::lower_bound(int64_t value) const {
  if (values_ == nullptr) return static_cast<size_t>(std::clamp(value, low_, high_ + 1) - low_);
  return static_cast<size_t>(std::lower_bound(values_->begin(), values_->end(), value) -
                             values_->begin());
}

bool Domain::contains(int64_t value) const {
  if (values_ == nullptr) return value >= low_ && value <= high_;
  return std::binary_search(values_->begin(), values_->end(), value);
}

int64_t Domain::nearest(int64_t value) const {
  TENON_CHECK(!empty());
  const size_t up = lower_bound(value);
  if (up == size()) return at(up - 1);
  if (up == 0 || at(up) == value) return at(up);
  const auto above = static_cast<double>(at(up)), below = static_cast<double>(at(up - 1));
  const auto v = static_cast<double>(value);
  // Sizes are compared by ratio; switches and counts from zero on by distance.
  const bool nearer_above = below <= 0 ? above - v < v - below : above * below < v * v;
  return nearer_above ? at(up) : at(up - 1);
}

int64_t Domain::draw(Rng& rng) const {
  TENON_CHECK(!empty());
  return at(static_cast<size_t>(rng.between(0, static_cast<int64_t>(size()) - 1)));
}

int64_t Domain::draw(Rng& rng, const std::vector<double>& weights) const {
  TENON_CHECK(!empty() && weights.size() == size()) << weights.size() << " for " << size();
  double total = 0;
  for (const double w : weights) total += w;
  if (total <= 0) return draw(rng);
  double left = rng.unit() * total;
  for (size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return at(i);
  }
  return at(size() - 1);
}

int64_t Domain::neighbour(int64_t value, Rng& rng) const {
  const size_t i = lower_bound(value);
  const bool up = i + 1 < size(), down = i > 0;
  if (!up && !down) return value;
  const bool go_up = up && (!down || rng.chance(0.5));
  return at(go_up ? i + 1 : i - 1);
}

}  // namespace tenon::space
