// SPDX-License-Identifier: Apache-2.0
#include "report/page/rails.h"

#include <algorithm>

#include "support/check.h"

namespace tenon::report {
namespace {

// Lane i is at column 2 i.
class Rails {
 public:
  explicit Rails(const std::vector<RailNode>& nodes) : nodes_(nodes), left_(nodes.size(), 0) {
    for (const RailNode& n : nodes) {
      for (const size_t from : n.reads) ++left_[from];
    }
  }

  std::vector<RailLine> draw() {
    for (size_t n = 0; n < nodes_.size(); ++n) add(n);
    return std::move(lines_);
  }

 private:
  size_t lane_of(size_t node) const {
    const auto it = std::find(lanes_.begin(), lanes_.end(), node);
    TENON_CHECK(it != lanes_.end()) << "node " << node << " is read before it stands anywhere";
    return static_cast<size_t>(it - lanes_.begin());
  }

  static void put(std::string& line, size_t column, char c) {
    if (line.size() <= column) line.resize(column + 1, ' ');
    line[column] = c;
  }
  void line(std::string rails) { lines_.push_back({std::move(rails), std::nullopt}); }

  // The result in lane `at` is read here and later: it goes on in a lane of its own to the right.
  void part(size_t at) {
    std::string s;
    for (size_t i = 0; i <= at; ++i) put(s, 2 * i, '|');
    for (size_t i = at; i < lanes_.size(); ++i) put(s, 2 * i + 1, '\\');
    lanes_.insert(lanes_.begin() + static_cast<std::ptrdiff_t>(at) + 1, lanes_[at]);
    line(std::move(s));
  }

  // Lane `from` joins lane `to` on its left; those beyond close up.
  void meet(size_t to, size_t from) {
    std::string s;
    for (size_t i = 0; i < from; ++i) put(s, 2 * i, '|');
    for (size_t c = 2 * to + 1; c + 2 < 2 * from; c += 2) put(s, c, '_');
    for (size_t i = from; i < lanes_.size(); ++i) put(s, 2 * i - 1, '/');
    drop(from);
    line(std::move(s));
  }

  void drop(size_t lane) { lanes_.erase(lanes_.begin() + static_cast<std::ptrdiff_t>(lane)); }

  // Nothing comes of the node in lane `at`.
  void close(size_t at) {
    drop(at);
    if (at == lanes_.size()) return;
    std::string s;
    for (size_t i = 0; i < at; ++i) put(s, 2 * i, '|');
    for (size_t i = at; i < lanes_.size(); ++i) put(s, 2 * i + 1, '/');
    line(std::move(s));
  }

  // A lane of its own; not right below a node that ended there, or it would seem to read that one.
  void begin(size_t n) {
    if (!lines_.empty() && lines_.back().rails.size() > 2 * lanes_.size()) {
      std::string s;
      for (size_t i = 0; i < lanes_.size(); ++i) put(s, 2 * i, '|');
      line(std::move(s));
    }
    lanes_.push_back(n);
  }

  void add(size_t n) {
    std::vector<size_t> read;
    for (const size_t from : nodes_[n].reads) read.push_back(lane_of(from));
    std::sort(read.begin(), read.end());
    for (auto it = read.rbegin(); it != read.rend(); ++it) {
      if (--left_[lanes_[*it]] == 0) continue;
      part(*it);
      for (auto right = read.rbegin(); right != it; ++right) ++*right;
    }
    const size_t at = read.empty() ? lanes_.size() : read[0];
    for (size_t i = 1; i < read.size(); ++i) meet(at, read[i] - (i - 1));
    if (read.empty()) begin(n);
    lanes_[at] = n;
    std::string s;
    for (size_t i = 0; i < lanes_.size(); ++i) put(s, 2 * i, i == at ? nodes_[n].mark : '|');
    lines_.push_back({std::move(s), n});
    if (left_[n] == 0) close(at);
  }

  const std::vector<RailNode>& nodes_;
  std::vector<int64_t> left_;  // readers that are still to come
  std::vector<size_t> lanes_;  // the node whose result runs there
  std::vector<RailLine> lines_;
};

}  // namespace

std::vector<RailLine> draw_rails(const std::vector<RailNode>& nodes) { return Rails(nodes).draw(); }

}  // namespace tenon::report
