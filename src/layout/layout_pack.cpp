// SPDX-License-Identifier: Apache-2.0
// Re-laying of arrays, element by element on plain integers.
#include <algorithm>
#include <cstring>

#include "layout/layout.h"
#include "support/check.h"

namespace tenon::layout {
namespace {

using Index = std::vector<int64_t>;

int64_t offset_of(const Index& index, const Index& shape) {
  int64_t o = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    o = o * shape[d] + index[d];
  }
  return o;
}

// Row-major; false after the last.
bool advance(Index& index, const Index& shape) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++index[d] < shape[d]) {
      return true;
    }
    index[d] = 0;
  }
  return false;
}

// x written in the mixed radix of `count` extents; the first digit is not reduced.
void write_digits(int64_t x, const int64_t* extents, size_t count, Index& out) {
  const size_t first = out.size();
  out.resize(first + count);
  for (size_t j = count; j-- > 1;) {
    out[first + j] = x % extents[j];
    x /= extents[j];
  }
  out[first] = x;
}

// Walks the steps of a layout with indices that are numbers.
class Walker {
 public:
  explicit Walker(const Layout& l) : layout_(l), shapes_(l.shapes()) {}

  // From logical to storage: the canonical copy.
  const Index& to_storage(const Index& logical) {
    index_ = logical;
    for (size_t i = 0; i < shapes_.size(); ++i) {
      forward(layout_.steps()[i], shapes_[i]);
    }
    return index_;
  }

  // From storage to logical; null on padding.
  const Index* to_logical(const Index& storage) {
    index_ = storage;
    for (size_t i = shapes_.size(); i-- > 0;) {
      const LayoutStep& step = layout_.steps()[i];
      backward(step, shapes_[i]);
      const size_t k = static_cast<size_t>(step.dim);
      if (step.op != LayoutOp::kReorder && (index_[k] < 0 || index_[k] >= shapes_[i][k])) {
        return nullptr;
      }
    }
    return &index_;
  }

 private:
  // index_ with `count` elements at `k` replaced by what `write` appends to next_.
  template <class F>
  void splice(size_t k, size_t count, const F& write) {
    const auto at = index_.begin() + static_cast<std::ptrdiff_t>(k);
    next_.assign(index_.begin(), at);
    write(next_);
    next_.insert(next_.end(), at + static_cast<std::ptrdiff_t>(count), index_.end());
    index_.swap(next_);
  }
  void fuse(size_t k, size_t count, const int64_t* extents) {
    int64_t x = index_[k];
    for (size_t j = 1; j < count; ++j) {
      x = x * extents[j] + index_[k + j];
    }
    splice(k, count, [&](Index& out) { out.push_back(x); });
  }
  void split(size_t k, size_t count, const int64_t* extents) {
    const int64_t x = index_[k];
    splice(k, 1, [&](Index& out) { write_digits(x, extents, count, out); });
  }

  void forward(const LayoutStep& step, const Index& before) {
    const size_t k = static_cast<size_t>(step.dim);
    switch (step.op) {
      case LayoutOp::kSplit:
        split(k, step.args.size(), step.args.data());
        break;
      case LayoutOp::kReorder:
        next_ = index_;
        for (size_t d = 0; d < next_.size(); ++d) {
          index_[d] = next_[static_cast<size_t>(step.args[d])];
        }
        break;
      case LayoutOp::kFuse:
        fuse(k, static_cast<size_t>(step.args[0]), before.data() + k);
        break;
      case LayoutOp::kPad:
        index_[k] += step.args[0];
        break;
      case LayoutOp::kUnfold: {
        const int64_t x = index_[k], size = step.args[0], stride = step.args[1];
        const int64_t tile = std::min(x / stride, arith::ceil_div(before[k] - size, stride));
        splice(k, 1, [&](Index& out) { out.insert(out.end(), {tile, x - tile * stride}); });
        break;
      }
      case LayoutOp::kStoreAt:
        break;
    }
  }

  void backward(const LayoutStep& step, const Index& before) {
    const size_t k = static_cast<size_t>(step.dim);
    switch (step.op) {
      case LayoutOp::kSplit:
        fuse(k, step.args.size(), step.args.data());
        break;
      case LayoutOp::kReorder:
        next_ = index_;
        for (size_t d = 0; d < next_.size(); ++d) {
          index_[static_cast<size_t>(step.args[d])] = next_[d];
        }
        break;
      case LayoutOp::kFuse:
        split(k, static_cast<size_t>(step.args[0]), before.data() + k);
        break;
      case LayoutOp::kPad:
        index_[k] -= step.args[0];
        break;
      case LayoutOp::kUnfold: {
        const int64_t x = index_[k] * step.args[1] + index_[k + 1];
        splice(k, 2, [&](Index& out) { out.push_back(x); });
        break;
      }
      case LayoutOp::kStoreAt:
        break;
    }
  }

  const Layout& layout_;
  std::vector<Index> shapes_;
  Index index_, next_;
};

void copy_element(const ir::Array& from, int64_t source, ir::Array& to, int64_t target) {
  const auto bytes = static_cast<size_t>(from.dtype().bytes());
  std::memcpy(to.data() + static_cast<size_t>(target) * bytes,
              from.data() + static_cast<size_t>(source) * bytes, bytes);
}

}  // namespace

ir::Array Layout::pack(const ir::Array& logical) const {
  TENON_CHECK(logical.shape() == logical_) << "pack of an array of another shape";
  ir::Array out(logical.dtype(), storage_);
  Walker walker(*this);
  Index at(storage_.size(), 0);
  int64_t target = 0;
  do {
    if (const Index* from = walker.to_logical(at)) {
      copy_element(logical, offset_of(*from, logical_), out, target);
    }
    ++target;
  } while (advance(at, storage_));
  return out;
}

ir::Array Layout::unpack(const ir::Array& storage) const {
  TENON_CHECK(storage.shape() == storage_) << "unpack of an array of another shape";
  ir::Array out(storage.dtype(), logical_);
  Walker walker(*this);
  Index at(logical_.size(), 0);
  int64_t target = 0;
  do {
    copy_element(storage, offset_of(walker.to_storage(at), storage_), out, target);
    ++target;
  } while (advance(at, logical_));
  return out;
}

}  // namespace tenon::layout
