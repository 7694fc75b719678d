// SPDX-License-Identifier: Apache-2.0
#include "graph/memory.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

namespace tenon::graph {
namespace {

// Memory that is taken, as runs without a gap between them. Placing at the lowest free place leaves few of them.
class Taken {
 public:
  void add(int64_t begin, int64_t end) {
    if (begin == end) return;
    auto it = runs_.upper_bound(begin);
    if (it != runs_.begin() && std::prev(it)->second >= begin) --it;
    while (it != runs_.end() && it->first <= end) {
      begin = std::min(begin, it->first);
      end = std::max(end, it->second);
      it = runs_.erase(it);
    }
    runs_.emplace(begin, end);
  }

  // `at`, or the end of the first run that [at, at + bytes) would meet.
  int64_t behind(int64_t at, int64_t bytes) const {
    auto it = runs_.upper_bound(at);
    if (it != runs_.begin() && std::prev(it)->second > at) return std::prev(it)->second;
    return it != runs_.end() && it->first < at + bytes ? it->second : at;
  }

 private:
  std::map<int64_t, int64_t> runs_;  // begin -> end
};

// Holds what is placed so far in a binary tree whose leaves are steps. Finding what lives at the same time as a tensor
// takes a walk to the two ends of its life, however many are placed.
class Plan {
 public:
  Plan(int32_t steps, int64_t alignment) : alignment_(alignment) {
    while (leaves_ < steps) leaves_ *= 2;
    ranges_.resize(2 * static_cast<size_t>(leaves_));
  }

  int64_t aligned(int64_t bytes) const {
    return (bytes + alignment_ - 1) / alignment_ * alignment_;
  }

  int64_t lowest_free(const Lifetime& t) const {
    if (t.bytes == 0) return 0;
    std::vector<const Taken*> together;
    collect(1, 0, leaves_, t, together);
    const int64_t bytes = aligned(t.bytes);
    int64_t at = 0;
    for (size_t fits = 0, i = 0; fits < together.size(); i = (i + 1) % together.size()) {
      const int64_t next = together[i]->behind(at, bytes);
      fits = next == at ? fits + 1 : 0;
      at = next;
    }
    return at;
  }

  void add(const Lifetime& t, int64_t at) { add(1, 0, leaves_, t, at, at + aligned(t.bytes)); }

 private:
  struct Range {
    Taken
        whole;  // by what lives at all of its steps and not at all of those of the range around it
    Taken inside;  // by what lives at any of its steps, less `whole` of the ranges around it
  };

  static bool apart(int32_t begin, int32_t end, const Lifetime& t) {
    return t.last < begin || end <= t.first;
  }
  static bool within(int32_t begin, int32_t end, const Lifetime& t) {
    return t.first <= begin && end <= t.last + 1;
  }

  void collect(size_t range, int32_t begin, int32_t end, const Lifetime& t,
               std::vector<const Taken*>& out) const {
    if (apart(begin, end, t)) return;
    if (within(begin, end, t)) {
      out.push_back(&ranges_[range].inside);
      return;
    }
    out.push_back(&ranges_[range].whole);
    const int32_t middle = begin + (end - begin) / 2;
    collect(2 * range, begin, middle, t, out);
    collect(2 * range + 1, middle, end, t, out);
  }

  void add(size_t range, int32_t begin, int32_t end, const Lifetime& t, int64_t from, int64_t to) {
    if (apart(begin, end, t)) return;
    ranges_[range].inside.add(from, to);
    if (within(begin, end, t)) {
      ranges_[range].whole.add(from, to);
      return;
    }
    const int32_t middle = begin + (end - begin) / 2;
    add(2 * range, begin, middle, t, from, to);
    add(2 * range + 1, middle, end, t, from, to);
  }

  int64_t alignment_;
  int32_t leaves_ = 1;
  std::vector<Range> ranges_;  // the first is 1, the halves of r are 2 r and 2 r + 1
};

}  // namespace

Placement place(const std::vector<Lifetime>& tensors, int64_t alignment) {
  Placement result;
  result.offsets.assign(tensors.size(), 0);
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return tensors[a].bytes != tensors[b].bytes ? tensors[a].bytes > tensors[b].bytes : a < b;
  });
  int32_t steps = 1;
  for (const Lifetime& t : tensors) steps = std::max(steps, t.last + 1);
  Plan plan(steps, alignment);
  for (const size_t i : order) {
    const int64_t at = plan.lowest_free(tensors[i]);
    plan.add(tensors[i], at);
    result.offsets[i] = at;
    result.bytes = std::max(result.bytes, at + plan.aligned(tensors[i].bytes));
  }
  return result;
}

}  // namespace tenon::graph
