// SPDX-License-Identifier: Apache-2.0
// Re-laying of arrays. Layouts whose dimensions add up move by tables, in runs and cache-sized tiles; the others element
// by element.
#include <algorithm>
#include <cstring>

#include "layout/layout.h"
#include "layout/places.h"
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
      case LayoutOp::kSwizzle:
        index_[k] ^= index_[static_cast<size_t>(step.args[0])] % step.args[1];
        break;
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
      case LayoutOp::kSwizzle:
        index_[k] ^= index_[static_cast<size_t>(step.args[0])] % step.args[1];
        break;
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

// One loop over logical elements: the table of where they are stored.
struct Axis {
  std::vector<int64_t> at;
  int64_t step = 0;  // between logical neighbours, in elements
};

// Dimensions that move through storage as one are one axis; at least two axes come back.
std::vector<Axis> axes_of(const Places& p, const Index& shape) {
  std::vector<Axis> out;
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    const std::vector<int64_t>& t = p.at[d];
    if (!out.empty()) {
      const std::vector<int64_t>& in = out.back().at;
      const int64_t stride = in.size() > 1 ? in[1] : 1;
      bool linear = true;
      for (size_t i = 0; i < in.size() && linear; ++i) {
        linear = in[i] == stride * static_cast<int64_t>(i);
      }
      const int64_t next = stride * static_cast<int64_t>(in.size());
      for (size_t i = 0; i < t.size() && linear; ++i) {
        linear = t[i] == next * static_cast<int64_t>(i);
      }
      if (linear) {
        Axis& last = out.back();
        const size_t n = in.size() * t.size();
        last.at.resize(n);
        for (size_t i = 0; i < n; ++i) {
          last.at[i] = stride * static_cast<int64_t>(i);
        }
        step *= shape[d];
        continue;
      }
    }
    out.push_back({t, step});
    step *= shape[d];
  }
  while (out.size() < 2) {
    out.push_back({{0}, step});
  }
  std::reverse(out.begin(), out.end());
  return out;
}

// Length of the run of storage neighbours that starts at i.
size_t run_at(const std::vector<int64_t>& at, size_t i, size_t end) {
  size_t n = 1;
  while (i + n < end && at[i + n] == at[i + n - 1] + 1) {
    ++n;
  }
  return n;
}

// Moves elements of `Bytes` bytes between logical and storage order.
template <size_t Bytes, bool Packing>
class Mover {
 public:
  Mover(const Places& p, const Index& shape, const std::byte* from, std::byte* to)
      : axes_(axes_of(p, shape)), base_(p.base), from_(from), to_(to) {}

  void run() { outer(0, 0, base_); }

 private:
  static constexpr size_t kRows = 64, kColumns = 512;  // a tile of the two innermost axes

  void outer(size_t d, int64_t logical, int64_t storage) {
    if (d + 2 == axes_.size()) {
      tiles(logical, storage);
      return;
    }
    for (size_t i = 0; i < axes_[d].at.size(); ++i) {
      outer(d + 1, logical + static_cast<int64_t>(i) * axes_[d].step, storage + axes_[d].at[i]);
    }
  }

  void tiles(int64_t logical, int64_t storage) {
    const Axis& rows = axes_[axes_.size() - 2];
    const size_t columns = axes_.back().at.size();
    for (size_t r = 0; r < rows.at.size(); r += kRows) {
      for (size_t c = 0; c < columns; c += kColumns) {
        for (size_t i = r; i < std::min(r + kRows, rows.at.size()); ++i) {
          row(c, std::min(c + kColumns, columns), logical + static_cast<int64_t>(i) * rows.step,
              storage + rows.at[i]);
        }
      }
    }
  }

  void row(size_t begin, size_t end, int64_t logical, int64_t storage) {
    const std::vector<int64_t>& at = axes_.back().at;
    for (size_t i = begin; i < end;) {
      const size_t n = run_at(at, i, end);
      const size_t a = static_cast<size_t>(logical) + i;
      const size_t b = static_cast<size_t>(storage + at[i]);
      const size_t source = (Packing ? a : b) * Bytes, target = (Packing ? b : a) * Bytes;
      if (n == 1) {
        std::memcpy(to_ + target, from_ + source, Bytes);
      } else {
        std::memcpy(to_ + target, from_ + source, n * Bytes);
      }
      i += n;
    }
  }

  std::vector<Axis> axes_;
  int64_t base_;
  const std::byte* from_;
  std::byte* to_;
};

template <bool Packing>
void move(const Places& p, const Index& shape, const ir::Array& from, ir::Array& to) {
  switch (from.dtype().bytes()) {
    case 1:
      return Mover<1, Packing>(p, shape, from.data(), to.data()).run();
    case 2:
      return Mover<2, Packing>(p, shape, from.data(), to.data()).run();
    case 4:
      return Mover<4, Packing>(p, shape, from.data(), to.data()).run();
    default:
      TENON_CHECK(from.dtype().bytes() == 8) << "elements of " << from.dtype().bytes() << " bytes";
      return Mover<8, Packing>(p, shape, from.data(), to.data()).run();
  }
}

constexpr int64_t kMaxWalked = int64_t{1} << 22;

int64_t elements_of(const Index& shape) {
  int64_t n = 1;
  for (const int64_t x : shape) {
    n *= x;
  }
  return n;
}

// The first storage elements hold the same logical ones, one by one.
bool hold_the_same(const Layout& a, const Layout& b, int64_t first) {
  Walker wa(a), wb(b);
  Index ia(a.storage_shape().size(), 0), ib(b.storage_shape().size(), 0);
  do {
    const Index* la = wa.to_logical(ia);
    const Index* lb = wb.to_logical(ib);
    if ((la == nullptr) != (lb == nullptr) || (la != nullptr && *la != *lb)) {
      return false;
    }
    advance(ib, b.storage_shape());
  } while (--first > 0 && advance(ia, a.storage_shape()));
  return true;
}

}  // namespace

ir::Array Layout::pack(const ir::Array& logical) const {
  TENON_CHECK(logical.shape() == logical_) << "pack of an array of another shape";
  ir::Array out(logical.dtype(), storage_);
  if (const auto places = places_of(*this)) {
    move<true>(*places, logical_, logical, out);
    return out;
  }
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
  if (const auto places = places_of(*this)) {
    move<false>(*places, logical_, storage, out);
    return out;
  }
  Walker walker(*this);
  Index at(logical_.size(), 0);
  int64_t target = 0;
  do {
    copy_element(storage, offset_of(walker.to_storage(at), storage_), out, target);
    ++target;
  } while (advance(at, logical_));
  return out;
}

bool same_storage(const Layout& a, const Layout& b) {
  if (a == b) {
    return true;
  }
  if (a.logical_shape() != b.logical_shape() ||
      elements_of(a.storage_shape()) != elements_of(b.storage_shape())) {
    return false;
  }
  constexpr int64_t kGlance = 8;  // most that differ do so at once
  if (!hold_the_same(a, b, kGlance)) {
    return false;
  }
  const auto pa = places_of(a), pb = places_of(b);
  if (pa && pb) {
    return *pa == *pb;
  }
  return elements_of(a.storage_shape()) <= kMaxWalked && hold_the_same(a, b, kMaxWalked);
}

}  // namespace tenon::layout
