// SPDX-License-Identifier: Apache-2.0
// A graph beside lines of text, as `git log --graph` draws it: a lane for each result that somebody will still read.
//
//   o      input
//   *      conv
//   |\     (read twice)
//   * |    conv
//   * |    conv
//   |/
//   *      add: reads the last and the first
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tenon::report {

struct RailNode {
  std::vector<size_t> reads;  // nodes before it, each once
  char mark = '*';
};

struct RailLine {
  std::string rails;
  std::optional<size_t> node;  // that stands on it; nothing: lanes part or meet
};

std::vector<RailLine> draw_rails(const std::vector<RailNode>& nodes);

}  // namespace tenon::report
