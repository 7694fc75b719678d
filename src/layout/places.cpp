// SPDX-License-Identifier: Apache-2.0
#include "layout/places.h"

#include <algorithm>
#include <functional>
#include <map>

#include "arith/interval.h"

namespace tenon::layout {
namespace {

using Table = std::vector<int64_t>;

// A storage index as constant + sum of a table per logical dimension that it depends on; all are >= 0.
struct Sum {
  int64_t constant = 0;
  std::map<size_t, Table> terms;

  // Each table and the constant through `fn`.
  Sum each(const std::function<int64_t(int64_t)>& fn) const {
    Sum out{fn(constant), terms};
    for (auto& [d, table] : out.terms) {
      std::transform(table.begin(), table.end(), table.begin(), fn);
    }
    return out;
  }
  void add(const Sum& other) {
    constant += other.constant;
    for (const auto& [d, table] : other.terms) {
      Table& mine = terms.try_emplace(d, Table(table.size(), 0)).first->second;
      for (size_t i = 0; i < table.size(); ++i) {
        mine[i] += table[i];
      }
    }
  }
  // One term takes the constant in, so that any function of it is a table again.
  void absorb() {
    if (terms.size() != 1) {
      return;
    }
    for (int64_t& x : terms.begin()->second) {
      x += constant;
    }
    constant = 0;
  }
  // Division by f can be done term by term: what is left over never adds up to f.
  bool divides(int64_t f) const {
    int64_t left = constant % f;
    for (const auto& [d, table] : terms) {
      int64_t most = 0;
      for (const int64_t x : table) {
        most = std::max(most, x % f);
      }
      left += most;
    }
    return left < f;
  }
};

class Tables {
 public:
  explicit Tables(const Layout& l) : layout_(l) {
    for (size_t d = 0; d < l.logical_shape().size(); ++d) {
      Table t(static_cast<size_t>(l.logical_shape()[d]));
      for (size_t i = 0; i < t.size(); ++i) {
        t[i] = static_cast<int64_t>(i);
      }
      dims_.push_back({0, {{d, std::move(t)}}});
    }
  }

  std::optional<Places> run() {
    const auto shapes = layout_.shapes();
    for (size_t i = 0; i < shapes.size(); ++i) {
      if (!apply(layout_.steps()[i], shapes[i])) {
        return std::nullopt;
      }
    }
    fuse(0, dims_.size(), layout_.storage_shape().data());
    Places p;
    p.base = dims_[0].constant;
    for (size_t d = 0; d < layout_.logical_shape().size(); ++d) {
      Table t = dims_[0].terms[d];
      t.resize(static_cast<size_t>(layout_.logical_shape()[d]), 0);
      p.base += t[0];
      const int64_t first = t[0];
      for (int64_t& x : t) {
        x -= first;
      }
      p.at.push_back(std::move(t));
    }
    return p;
  }

 private:
  void fuse(size_t k, size_t count, const int64_t* extents) {
    Sum all;
    for (size_t j = 0; j < count; ++j) {
      all = all.each([&](int64_t x) { return x * extents[j]; });
      all.add(dims_[k + j]);
    }
    const auto at = dims_.begin() + static_cast<std::ptrdiff_t>(k);
    dims_.insert(dims_.erase(at, at + static_cast<std::ptrdiff_t>(count)), std::move(all));
  }

  bool split(size_t k, const std::vector<int64_t>& factors) {
    dims_[k].absorb();
    for (size_t j = factors.size(); j-- > 1;) {
      const int64_t f = factors[j];
      if (dims_[k].terms.size() > 1 && !dims_[k].divides(f)) {
        return false;
      }
      Sum inner = dims_[k].each([&](int64_t x) { return x % f; });
      dims_[k] = dims_[k].each([&](int64_t x) { return x / f; });
      dims_.insert(dims_.begin() + static_cast<std::ptrdiff_t>(k) + 1, std::move(inner));
    }
    return true;
  }

  // Tiles that do not overlap; with overlap, an element is stored twice.
  bool unfold(size_t k, int64_t extent, int64_t size, int64_t stride) {
    dims_[k].absorb();
    const int64_t last = arith::ceil_div(extent - size, stride);
    if ((size > stride && size < extent) || dims_[k].terms.size() > 1) {
      return false;
    }
    const auto tile = [&](int64_t x) { return std::min(x / stride, last); };
    Sum inner = dims_[k].each([&](int64_t x) { return x - tile(x) * stride; });
    dims_[k] = dims_[k].each(tile);
    dims_.insert(dims_.begin() + static_cast<std::ptrdiff_t>(k) + 1, std::move(inner));
    return true;
  }

  bool apply(const LayoutStep& step, const std::vector<int64_t>& before) {
    const size_t k = static_cast<size_t>(step.dim);
    switch (step.op) {
      case LayoutOp::kSplit:
        return split(k, step.args);
      case LayoutOp::kReorder: {
        std::vector<Sum> next;
        for (const int64_t d : step.args) {
          next.push_back(dims_[static_cast<size_t>(d)]);
        }
        dims_ = std::move(next);
        return true;
      }
      case LayoutOp::kFuse:
        fuse(k, static_cast<size_t>(step.args[0]), before.data() + k);
        return true;
      case LayoutOp::kPad:
        dims_[k].constant += step.args[0];
        return true;
      case LayoutOp::kUnfold:
        return unfold(k, before[k], step.args[0], step.args[1]);
      case LayoutOp::kStoreAt:
        return true;
      case LayoutOp::kSwizzle:
        return false;  // not a sum of what each dimension adds
    }
    return false;
  }

  const Layout& layout_;
  std::vector<Sum> dims_;  // by storage dimension
};

}  // namespace

std::optional<Places> places_of(const Layout& l) {
  if (l.logical_shape().empty()) {
    return l.storage_shape().empty() ? std::optional(Places{}) : std::nullopt;
  }
  return Tables(l).run();
}

}  // namespace tenon::layout
