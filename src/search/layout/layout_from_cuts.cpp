// SPDX-License-Identifier: Apache-2.0
#include "search/layout/layout_from_cuts.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tenon::search {
namespace {

using layout::Layout;

constexpr double kMaxGrowth = 4.0;  // as schedule refuses

// A piece of the storage: a part of a logical dimension.
struct Piece {
  size_t dim;
  int64_t extent;
};

class LayoutBuilder {
 public:
  LayoutBuilder(const std::vector<int64_t>& shape, const std::vector<Cut>& cuts)
      : shape_(shape), cuts_(cuts) {
    for (const Cut& c : cuts) add({c.dim, c.outer}, c);
    for (const Cut& c : cuts) add({c.dim, c.inner}, c);
    add_single_elements();
  }

  Result<Layout> run() const {
    Layout l(shape_);
    for (size_t d = shape_.size(); d-- > 0;) {
      const auto step = cutting(d);
      if (!step) continue;
      if (!l.why_not(*step).empty()) return Illegal{.code = IllegalCode::kBadLayout};
      l = l.then(*step);
    }
    const std::vector<int64_t> order = permutation();
    if (!std::is_sorted(order.begin(), order.end())) l = l.reorder(order);
    if (l.growth() > kMaxGrowth) {
      return Illegal{.code = IllegalCode::kLayoutGrowth,
                     .value = static_cast<int64_t>(std::ceil(l.growth())),
                     .limit = static_cast<int64_t>(kMaxGrowth)};
    }
    return l;
  }

 private:
  // Parts of one element say nothing, and neighbours of one dimension are one part, unless elements
  // are copied.
  void add(const Piece& p, const Cut& c) {
    if (p.extent == 1) return;
    if (!pieces_.empty() && pieces_.back().dim == p.dim && !c.overlaps()) {
      pieces_.back().extent *= p.extent;
    } else {
      pieces_.push_back(p);
    }
  }

  size_t count(size_t dim) const {
    return static_cast<size_t>(std::count_if(pieces_.begin(), pieces_.end(),
                                             [&](const Piece& p) { return p.dim == dim; }));
  }

  // Where dimensions of one element stand makes no difference: in their order, before whatever
  // comes after them. The one part of a dimension that is rounded up has a part of one element
  // beside it, for a split has two.
  void add_single_elements() {
    for (size_t d = 0; d < shape_.size(); ++d) {
      if (count(d) > 0) continue;
      const auto later =
          std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& p) { return p.dim > d; });
      pieces_.insert(later, {d, 1});
    }
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Piece p = pieces_[i];
      if (count(p.dim) > 1 || p.extent == shape_[p.dim]) continue;
      pieces_.insert(pieces_.begin() + static_cast<std::ptrdiff_t>(i), {p.dim, 1});
      ++i;
    }
  }

  std::optional<layout::LayoutStep> cutting(size_t dim) const {
    std::vector<int64_t> parts;
    for (const Piece& p : pieces_) {
      if (p.dim == dim) parts.push_back(p.extent);
    }
    if (parts.size() < 2) return std::nullopt;
    const auto at = static_cast<int64_t>(dim);
    for (const Cut& c : cuts_) {
      if (c.dim == dim && c.overlaps())
        return layout::LayoutStep{layout::LayoutOp::kUnfold, at, {c.inner, c.step}};
    }
    return layout::LayoutStep{layout::LayoutOp::kSplit, at, parts};
  }

  std::vector<int64_t> permutation() const {
    std::vector<size_t> first(shape_.size(),
                              0);  // the place of a dimension's first part after the cuts
    for (size_t d = 1; d < shape_.size(); ++d) first[d] = first[d - 1] + count(d - 1);
    std::vector<int64_t> order;
    for (const Piece& p : pieces_) order.push_back(static_cast<int64_t>(first[p.dim]++));
    return order;
  }

  const std::vector<int64_t>& shape_;
  const std::vector<Cut>& cuts_;
  std::vector<Piece> pieces_;  // in the order of the storage
};

}  // namespace

Result<Layout> layout_from_cuts(const std::vector<int64_t>& shape, const std::vector<Cut>& cuts) {
  return LayoutBuilder(shape, cuts).run();
}

}  // namespace tenon::search
