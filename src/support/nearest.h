// SPDX-License-Identifier: Apache-2.0
// What somebody who typed a wrong word may have meant.
//
//   did_you_mean("resent50", {"resnet18", "resnet50"}, "...")   =>   "did you mean 'resnet50'?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon {

// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
int edit_distance(std::string_view a, std::string_view b);

// The candidates that are close enough to be meant, nearest first, at most three; words that begin as typed count.
std::vector<std::string> nearest_words(const std::string& word,
                                       const std::vector<std::string>& candidates);

// A sentence with the nearest words, or `otherwise` if nothing is near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates,
                         const std::string& otherwise);

}  // namespace tenon
