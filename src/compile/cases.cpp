// SPDX-License-Identifier: Apache-2.0
#include "compile/cases.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "arith/simplify.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::compile {
namespace {

using Group = std::vector<AtSize>;

// The dimension in which they differ, if it is only one.
std::optional<size_t> only_difference(const std::vector<int64_t>& a,
                                      const std::vector<int64_t>& b) {
  std::optional<size_t> found;
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d] == b[d]) continue;
    if (found) return std::nullopt;
    found = d;
  }
  return found;
}

// The two members that are nearest to a size along one dimension.
std::optional<std::pair<const AtSize*, const AtSize*>> nearest(const Group& group,
                                                               const std::vector<int64_t>& sizes,
                                                               size_t dim) {
  const AtSize *first = nullptr, *second = nullptr;
  const auto far = [&](const AtSize* s) { return std::abs(s->sizes[dim] - sizes[dim]); };
  for (const AtSize& s : group) {
    if (only_difference(s.sizes, sizes) != dim) continue;
    if (first == nullptr || far(&s) < far(first)) {
      second = std::exchange(first, &s);
    } else if (second == nullptr || far(&s) < far(second)) {
      second = &s;
    }
  }
  if (second == nullptr) return std::nullopt;
  return std::pair{first, second};
}

// Numbers that grow evenly from `a` to `b` have these values at a size; nothing if one would not be whole.
std::optional<std::vector<int64_t>> in_line(const AtSize& a, const AtSize& b, int64_t size,
                                            size_t dim) {
  const int64_t step = b.sizes[dim] - a.sizes[dim], way = size - a.sizes[dim];
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < a.numbered->numbers.size(); ++i) {
    const int64_t from = a.numbered->numbers[i], rise = b.numbered->numbers[i] - from;
    if (rise * way % step != 0) return std::nullopt;
    numbers.push_back(from + rise * way / step);
  }
  return numbers;
}

// A backend counts the turns of a parallel loop without a test for none.
bool turns_in_parallel(const ir::Function& f) {
  bool all = true;
  ir::visit(f.body, [&](const ir::Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr || loop->loop_kind != ir::ForKind::kParallel) return;
    all = all && ir::const_int(loop->extent).value_or(1) >= 1;
  });
  return all;
}

Numbered simplest(ir::Function f) {
  f.body = arith::simplify(f.body);
  return take_numbers(f);
}

// The numbers with which programs of the group's form do what `s` does.
std::optional<Numbered> as_case(const AtSize& s, const Numbered& simple, const Group& group) {
  const AtSize& general = group.back();
  if (s.numbered->sizes.size() != general.numbered->sizes.size()) return std::nullopt;
  for (size_t dim = 0; dim < s.sizes.size(); ++dim) {
    const auto pair = nearest(group, s.sizes, dim);
    if (!pair) continue;
    auto numbers = in_line(*pair->first, *pair->second, s.sizes[dim], dim);
    if (!numbers) continue;
    const ir::Function with = with_numbers(*general.function, *numbers);
    if (!turns_in_parallel(with)) continue;
    const Numbered same = simplest(with);
    if (same.form != simple.form || same.numbers != simple.numbers) continue;
    return Numbered{general.numbered->form, *std::move(numbers), s.numbered->sizes};
  }
  return std::nullopt;
}

// Moves all members into the other group, or none.
bool move_members(Group& from, Group& to) {
  if (from.back().numbered->form.size() > to.back().numbered->form.size()) return false;
  std::vector<Numbered> found;
  for (const AtSize& s : from) {
    auto one = as_case(s, simplest(*s.function), to);
    if (!one) return false;
    found.push_back(*std::move(one));
  }
  for (size_t i = 0; i < from.size(); ++i) *from[i].numbered = std::move(found[i]);
  to.insert(to.begin(), from.begin(), from.end());
  from.clear();
  return true;
}

}  // namespace

void join_cases(std::vector<Group>& groups) {
  std::vector<size_t> order(groups.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto shorter = [&](size_t a, size_t b) {
    const size_t x = groups[a].back().numbered->form.size();
    const size_t y = groups[b].back().numbered->form.size();
    return x != y ? x < y : a < b;
  };
  std::sort(order.begin(), order.end(), shorter);
  for (bool moved = true; moved;) {
    moved = false;
    for (const size_t from : order) {
      for (auto to = order.rbegin(); to != order.rend() && !groups[from].empty(); ++to) {
        if (*to == from || groups[*to].empty()) continue;
        moved = move_members(groups[from], groups[*to]) || moved;
      }
    }
  }
  std::erase_if(groups, [](const Group& g) { return g.empty(); });
}

}  // namespace tenon::compile
