// SPDX-License-Identifier: Apache-2.0
// Layout spaces and a latency that is computed from their points, for tests of proposers.
#pragma once

#include <string>
#include <vector>

#include "search/layout_proposer.h"

namespace tenon::search {

LayoutSpace conv_space(int64_t channels, int64_t size);
LayoutSpace small_space();  // few enough points to count

// Smooth in the logarithms of the sizes; the best tile of a channel depends on the tiles of the positions.
double pretend_s(const LayoutSpace& s, const LayoutSpace::Point& p);

// Options with the plug-in of this build, if it has one.
LayoutProposerOptions built_options(uint64_t seed);
bool has_plug_in();

// Times of the first n proposals, in order, each rewarded at once.
std::vector<double> run(LayoutProposer& proposer, const LayoutSpace& s, uint64_t seed, size_t n);
std::vector<double> run(const std::string& name, const LayoutSpace& s, uint64_t seed, size_t n);

double mean(const std::vector<double>& v, size_t from);

}  // namespace tenon::search
