// SPDX-License-Identifier: Apache-2.0
#include "report/page/rails.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/rng.h"

namespace tenon::report {
namespace {

std::string drawn(const std::vector<std::vector<size_t>>& reads) {
  std::vector<RailNode> nodes;
  for (const auto& r : reads) nodes.push_back({r, '*'});
  std::string out;
  for (const RailLine& l : draw_rails(nodes)) {
    out += l.rails + (l.node ? " " + std::to_string(*l.node) : "") + "\n";
  }
  return out;
}

TEST(Rails, Chain) { EXPECT_EQ(drawn({{}, {0}, {1}}), "* 0\n* 1\n* 2\n"); }

TEST(Rails, Residual) {
  EXPECT_EQ(drawn({{}, {0}, {1}, {0, 2}, {3}}),
            "* 0\n"
            "|\\\n"
            "* | 1\n"
            "* | 2\n"
            "|/\n"
            "* 3\n"
            "* 4\n");
}

TEST(Rails, LanesPartAndMeetOverOthers) {
  // 0 feeds 1, 2 and 3; the last node reads 1 and 3, and 2 goes on beside it.
  EXPECT_EQ(drawn({{}, {0}, {0}, {0}, {1, 3}, {2, 4}}),
            "* 0\n"
            "|\\\n"
            "* | 1\n"
            "| |\\\n"
            "| * | 2\n"
            "| | * 3\n"
            "|_|/\n"
            "* | 4\n"
            "|/\n"
            "* 5\n");
}

TEST(Rails, WhatNobodyReadsEnds) {
  EXPECT_EQ(drawn({{}, {}, {0}, {1}}),
            "* 0\n"
            "| * 1\n"
            "* | 2\n"
            " /\n"
            "* 3\n");
  EXPECT_EQ(drawn({{}, {}, {}, {0}}),
            "* 0\n"
            "| * 1\n"
            "|\n"
            "| * 2\n"
            "* 3\n");
  EXPECT_EQ(drawn({}), "");
}

// Follows the rails upwards from a place just below line `line`, until a node.
class Tracer {
 public:
  explicit Tracer(const std::vector<RailLine>& lines) : lines_(lines) {}

  std::set<size_t> above(size_t line, size_t column) const {
    std::set<size_t> found;
    trace(line, column, found);
    return found;
  }

 private:
  char at(size_t line, size_t column) const {
    const std::string& s = lines_[line].rails;
    return column < s.size() ? s[column] : ' ';
  }

  void trace(size_t line, size_t column, std::set<size_t>& found) const {
    if (line == 0) return;
    const size_t up = line - 1;
    const char here = at(up, column);
    if (here == '*') {
      found.insert(*lines_[up].node);
      return;
    }
    if (here == '|') trace(up, column, found);
    if (column > 0 && at(up, column - 1) == '\\') trace(up, column - 2, found);
    const bool passed = column > 0 && at(up, column - 1) == '_';  // a line from another lane
    if (passed) return;
    size_t c = column + 1;
    while (at(up, c) == '_') c += 2;
    if (at(up, c) == '/') trace(up, c + 1, found);
  }

  const std::vector<RailLine>& lines_;
};

TEST(Rails, LinesLeadToWhatIsRead) {
  constexpr uint64_t kSeed = 5;
  Rng rng(kSeed);
  for (int run = 0; run < 300; ++run) {
    std::vector<RailNode> nodes;
    for (int64_t n = rng.between(1, 25); n > 0; --n) {
      std::set<size_t> reads;
      for (int64_t k = nodes.empty() ? 0 : rng.between(0, 3); k > 0; --k) {
        const auto last = static_cast<int64_t>(nodes.size()) - 1;
        reads.insert(static_cast<size_t>(rng.between(std::max<int64_t>(0, last - 6), last)));
      }
      nodes.push_back({{reads.begin(), reads.end()}, '*'});
    }
    const std::vector<RailLine> lines = draw_rails(nodes);
    const Tracer tracer(lines);
    size_t next = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
      if (!lines[i].node) continue;
      ASSERT_EQ(*lines[i].node, next++);
      const size_t column = lines[i].rails.find('*');
      const std::vector<size_t>& reads = nodes[*lines[i].node].reads;
      EXPECT_EQ(tracer.above(i, column), std::set<size_t>(reads.begin(), reads.end()))
          << "seed " << kSeed << ", run " << run << ", node " << *lines[i].node;
    }
    EXPECT_EQ(next, nodes.size());
  }
}

}  // namespace
}  // namespace tenon::report
