// SPDX-License-Identifier: Apache-2.0
#include "search/sketch/factors.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "support/check.h"

namespace tenon::search {
namespace {

constexpr double kInexactChance = 0.1;

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

bool is_exact(const Factors& f, int64_t extent) {
  return extent % std::accumulate(f.begin(), f.end(), int64_t{1}, std::multiplies<>()) == 0;
}

// The e copies of a prime are dealt out to the levels in C(e + levels - 1, e) ways.
double ways(int64_t n, size_t levels) {
  if (levels == 0) return n == 1 ? 1 : 0;
  double out = 1;
  for (int64_t p = 2; n > 1; ++p) {
    if (p * p > n) p = n;
    for (int64_t e = 1; n % p == 0; ++e, n /= p) {
      out *= static_cast<double>(e + static_cast<int64_t>(levels) - 1) / static_cast<double>(e);
    }
  }
  return out;
}

// ---- domains -----------------------------------------------------------------------------------

void FactorDomains::add_one(int64_t extent) {
  if (rows_.contains(extent)) return;
  std::vector<int64_t> all = divisors(extent), exact = all, any;
  std::erase_if(exact, [](int64_t d) { return d > kMaxInnermost; });
  for (int64_t f = 1; f <= std::min(extent, kMaxInnermost); ++f) any.push_back(f);
  rows_[extent] = {space::Domain::of(std::move(all)), space::Domain::of(std::move(exact)),
                   space::Domain::of(std::move(any))};
}

void FactorDomains::add(int64_t extent) {
  for (const int64_t d : divisors(extent)) add_one(d);
  for (int64_t n = 1; n <= kMaxInnermost; ++n) add_one(n);
}

const FactorDomains::Row& FactorDomains::row(int64_t extent) const {
  const auto it = rows_.find(extent);
  TENON_CHECK(it != rows_.end()) << "no domain of factors of " << extent;
  return it->second;
}

const space::Domain& FactorDomains::innermost(int64_t extent, bool inexact) const {
  return inexact ? row(extent).any : row(extent).exact;
}

const space::Domain& FactorDomains::all_divisors(int64_t extent) const {
  return row(extent).divisors;
}

// ---- weights -----------------------------------------------------------------------------------

std::vector<double> innermost_weights(const space::Domain& d, int64_t extent, size_t outer) {
  std::vector<double> out(d.size(), 0);
  double exact = 0, inexact = 0;
  for (size_t i = 0; i < d.size(); ++i) {
    const int64_t f = d.at(i);
    if (extent % f != 0) {
      ++inexact;
      continue;
    }
    out[i] = ways(extent / f, outer + 1);
    exact += out[i];
  }
  for (size_t i = 0; i < d.size(); ++i) {
    if (extent % d.at(i) == 0) {
      out[i] *= (inexact > 0 ? 1 - kInexactChance : 1) / exact;
    } else {
      out[i] = kInexactChance / inexact;
    }
  }
  return out;
}

std::vector<double> outer_weights(const space::Domain& d, int64_t left, size_t outer) {
  std::vector<double> out;
  for (size_t i = 0; i < d.size(); ++i) out.push_back(ways(left / d.at(i), outer + 1));
  return out;
}

}  // namespace tenon::search
