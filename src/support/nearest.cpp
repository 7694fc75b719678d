// SPDX-License-Identifier: Apache-2.0
#include "support/nearest.h"

#include <algorithm>
#include <utility>

namespace tenon {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = static_cast<int>(i + j);
        continue;
      }
      const int replace = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({replace, d[i - 1][j] + 1, d[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::vector<std::string> nearest_words(const std::string& word,
                                       const std::vector<std::string>& candidates) {
  constexpr size_t kMost = 3;
  std::vector<std::pair<int, std::string>> near;
  for (const std::string& candidate : candidates) {
    const int distance = edit_distance(word, candidate);
    const bool begins = word.size() >= 3 && candidate.starts_with(word);
    const int allowed = std::max(1, static_cast<int>(word.size()) / 3);
    if (begins || (distance <= allowed && distance < static_cast<int>(candidate.size()))) {
      near.emplace_back(begins ? 1 : distance, candidate);
    }
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::vector<std::string> words;
  for (size_t i = 0; i < std::min(near.size(), kMost); ++i) {
    words.push_back(near[i].second);
  }
  return words;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates,
                         const std::string& otherwise) {
  const std::vector<std::string> near = nearest_words(word, candidates);
  if (near.empty()) {
    return otherwise;
  }
  std::string text = "did you mean ";
  for (size_t i = 0; i < near.size(); ++i) {
    text += i == 0 ? "" : i + 1 == near.size() ? " or " : ", ";
    text += "'" + near[i] + "'";
  }
  return text + "?";
}

}  // namespace tenon
