// SPDX-License-Identifier: Apache-2.0
// Tile sizes: the inner factors of a split, innermost last, as schedule::Split has them. Exact ones multiply to a
// divisor of the extent; the outermost part is what remains.
#pragma once

#include <cstdint>
#include <vector>

#include "support/rng.h"

namespace tenon::search {

inline constexpr int64_t kMaxInnermost = 64;

using Factors = std::vector<int64_t>;

std::vector<int64_t> divisors(int64_t n);  // ascending

// Uniform over all exact tuples of `n` factors whose last is at most kMaxInnermost.
Factors draw_factors(int64_t extent, size_t n, Rng& rng);
// One size that does not divide, in the innermost place (all others 1); exact ones where there is no such size.
Factors draw_inexact(int64_t extent, size_t n, Rng& rng);

bool is_exact(const Factors& f, int64_t extent);

// Factors for another extent that keep what they can: a last factor that was all of `before` stays all.
Factors refit(const Factors& f, int64_t before, int64_t extent);

// Moves a divisor over 1 from one level to another, the outermost included. False if nothing can move.
bool move_divisor(Factors& f, int64_t extent, Rng& rng);

}  // namespace tenon::search
