// SPDX-License-Identifier: Apache-2.0
#include "search/factors.h"

#include <algorithm>
#include <numeric>

namespace tenon::search {
namespace {

int64_t product(const Factors& f) {
  return std::accumulate(f.begin(), f.end(), int64_t{1}, std::multiplies<>());
}

// Gives the e copies of prime p to the levels, every way of dealing them out as likely as any other: the gaps between
// the chosen of e + levels - 1 places are what each level gets.
void deal_prime(int64_t p, int64_t e, std::vector<int64_t>& levels, Rng& rng) {
  int64_t bars = static_cast<int64_t>(levels.size()) - 1;
  size_t level = 0;
  for (int64_t left = e + bars; left > 0; --left) {
    if (rng.between(1, left) <= bars) {
      --bars;
      ++level;
    } else {
      levels[level] *= p;
    }
  }
}

}  // namespace

std::vector<int64_t> divisors(int64_t n) {
  std::vector<int64_t> low, high;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    low.push_back(d);
    if (d * d != n) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

Factors draw_factors(int64_t extent, size_t n, Rng& rng) {
  constexpr int kTries = 32;
  std::vector<int64_t> levels;
  for (int t = 0; t < kTries; ++t) {
    levels.assign(n + 1, 1);
    int64_t left = extent;
    for (int64_t p = 2; left > 1; ++p) {
      if (p * p > left) p = left;
      int64_t e = 0;
      for (; left % p == 0; left /= p) ++e;
      if (e > 0) deal_prime(p, e, levels, rng);
    }
    if (levels.back() <= kMaxInnermost) break;
  }
  if (levels.back() > kMaxInnermost) levels.back() = 1;  // a prime beyond the limit stays outside
  return {levels.begin() + 1, levels.end()};
}

Factors draw_inexact(int64_t extent, size_t n, Rng& rng) {
  const int64_t most = std::min(extent - 1, kMaxInnermost);
  constexpr int kTries = 8;
  for (int t = 0; t < kTries && most >= 2; ++t) {
    const int64_t f = rng.between(2, most);
    if (extent % f == 0) continue;
    Factors out(n, 1);
    out.back() = f;
    return out;
  }
  return draw_factors(extent, n, rng);
}

bool is_exact(const Factors& f, int64_t extent) { return extent % product(f) == 0; }

Factors refit(const Factors& f, int64_t before, int64_t extent) {
  Factors out(f.size(), 1);
  if (f.back() >= before && extent <= kMaxInnermost) {
    out.back() = extent;
    return out;
  }
  int64_t left = extent;
  for (size_t i = f.size(); i-- > 0;) {
    out[i] = std::gcd(f[i], left);
    left /= out[i];
  }
  return out;
}

bool move_divisor(Factors& f, int64_t extent, Rng& rng) {
  if (!is_exact(f, extent)) {
    f = draw_factors(extent, f.size(), rng);
    return true;
  }
  std::vector<int64_t> levels{extent / product(f)};
  levels.insert(levels.end(), f.begin(), f.end());
  std::vector<size_t> from;
  for (size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] > 1) from.push_back(i);
  }
  if (from.empty() || levels.size() < 2) return false;
  const size_t src = rng.pick(from);
  size_t dst = static_cast<size_t>(rng.between(0, static_cast<int64_t>(levels.size()) - 2));
  if (dst >= src) ++dst;
  const std::vector<int64_t> all = divisors(levels[src]);
  const int64_t d = all[static_cast<size_t>(rng.between(1, static_cast<int64_t>(all.size()) - 1))];
  levels[src] /= d;
  levels[dst] *= d;
  if (levels.back() > kMaxInnermost) return false;
  f.assign(levels.begin() + 1, levels.end());
  return true;
}

}  // namespace tenon::search
