// SPDX-License-Identifier: Apache-2.0
// Shapes: what each primitive needs and what it makes of a shape.
#include "layout/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "support/check.h"

namespace tenon::layout {
namespace {

using Shape = std::vector<int64_t>;

// Far more than any tensor; products below it do not overflow.
constexpr int64_t kMaxElements = int64_t{1} << 48;

// False, and the product as it was, if it would pass kMaxElements.
bool multiply(int64_t& product, int64_t x) {
  if (x > kMaxElements / product) return false;
  product *= x;
  return true;
}

// Nothing if the product passes kMaxElements.
std::optional<int64_t> product_of(const Shape& v) {
  int64_t p = 1;
  const bool fits = std::all_of(v.begin(), v.end(), [&p](int64_t x) { return multiply(p, x); });
  return fits ? std::optional(p) : std::nullopt;
}

int64_t elements_of(const Shape& shape) {
  const auto n = product_of(shape);
  TENON_CHECK(n.has_value()) << "shape of more than 2^48 elements";
  return *n;
}

int64_t tiles_of(int64_t extent, int64_t size, int64_t stride) {
  return arith::ceil_div(extent - size, stride) + 1;
}

size_t at(int64_t i) { return static_cast<size_t>(i); }

std::string why_not_split(int64_t extent, const Shape& factors) {
  if (factors.size() < 2) {
    return "split needs at least two factors";
  }
  for (const int64_t f : factors) {
    if (f < 1) {
      return fmt::format("split factor {} is not positive", f);
    }
  }
  const auto p = product_of(factors);
  if (!p) {
    return "the split factors are too large";
  }
  if (*p < extent) {
    return fmt::format("the split factors hold {} elements, the dimension has {}", *p, extent);
  }
  return "";
}

std::string why_not_reorder(const Shape& shape, const Shape& perm) {
  if (perm.size() != shape.size()) {
    return fmt::format("reorder names {} dimensions, the layout has {}", perm.size(), shape.size());
  }
  for (size_t i = 0; i < perm.size(); ++i) {
    if (std::find(perm.begin(), perm.end(), static_cast<int64_t>(i)) == perm.end()) {
      return "reorder does not name each dimension once";
    }
  }
  return "";
}

std::string why_not_fuse(const Shape& shape, int64_t dim, int64_t count) {
  if (count < 2) {
    return "fuse needs at least two dimensions";
  }
  const auto rank = static_cast<int64_t>(shape.size());
  if (count > rank - dim) {
    return fmt::format("fuse of {} dimensions from {} passes the last of {}", count, dim, rank);
  }
  return "";
}

std::string why_not_pad(int64_t before, int64_t after) {
  if (before < 0 || after < 0) {
    return "padding is not negative";
  }
  if (before > kMaxElements || after > kMaxElements) {
    return "the padding is too large";
  }
  return before + after == 0 ? "padding by nothing" : "";
}

std::string why_not_unfold(int64_t extent, int64_t size, int64_t stride) {
  if (size < 1 || size > extent) {
    return fmt::format("unfold tile {} is not in 1..{}", size, extent);
  }
  if (stride < 1 || stride > size) {
    return fmt::format("unfold stride {} is not in 1..{}: elements would be lost", stride, size);
  }
  return "";
}

std::string why_not_swizzle(const Shape& shape, int64_t dim, int64_t by, int64_t count) {
  if (by < 0 || by >= static_cast<int64_t>(shape.size()) || by == dim) {
    return fmt::format("dimension {} cannot be swizzled by dimension {}", dim, by);
  }
  if (count < 2 || (count & (count - 1)) != 0) {
    return fmt::format("swizzle by {} is no power of two above 1", count);
  }
  if (shape[at(dim)] % count != 0) {
    return fmt::format("{} elements are no multiple of swizzle {}", shape[at(dim)], count);
  }
  return "";
}

// How many numbers a primitive takes; 0: any.
size_t arguments_of(LayoutOp op) {
  switch (op) {
    case LayoutOp::kSplit:
    case LayoutOp::kReorder:
      return 0;
    case LayoutOp::kFuse:
    case LayoutOp::kStoreAt:
      return 1;
    case LayoutOp::kPad:
    case LayoutOp::kUnfold:
    case LayoutOp::kSwizzle:
      return 2;
  }
  return 0;
}

Shape shape_after(const Shape& shape, const LayoutStep& step) {
  Shape out = shape;
  const auto k = step.op == LayoutOp::kReorder ? out.begin() : out.begin() + step.dim;
  switch (step.op) {
    case LayoutOp::kSplit:
      out.insert(out.erase(k), step.args.begin(), step.args.end());
      break;
    case LayoutOp::kReorder:
      for (size_t d = 0; d < out.size(); ++d) {
        out[d] = shape[at(step.args[d])];
      }
      break;
    case LayoutOp::kFuse:
      for (int64_t j = 1; j < step.args[0]; ++j) {
        *k *= *(k + j);
      }
      out.erase(k + 1, k + step.args[0]);
      break;
    case LayoutOp::kPad:
      *k += step.args[0] + step.args[1];
      break;
    case LayoutOp::kUnfold:
      *k = tiles_of(*k, step.args[0], step.args[1]);
      out.insert(k + 1, step.args[0]);
      break;
    case LayoutOp::kStoreAt:
      *k += step.args[0];
      break;
    case LayoutOp::kSwizzle:
      break;
  }
  return out;
}

// What takes the place of the extent of `step.dim` in the number of elements; nothing if it is too large.
std::optional<int64_t> extents_after(int64_t extent, const LayoutStep& step) {
  if (step.op == LayoutOp::kSplit) return product_of(step.args);
  if (step.op == LayoutOp::kUnfold) {
    return product_of({tiles_of(extent, step.args[0], step.args[1]), step.args[0]});
  }
  return std::accumulate(step.args.begin(), step.args.end(), extent);
}

// How many elements shape_after(shape, step) has; nothing if they are too many.
std::optional<int64_t> elements_after(const Shape& shape, const LayoutStep& step) {
  if (step.op == LayoutOp::kReorder || step.op == LayoutOp::kFuse ||
      step.op == LayoutOp::kSwizzle) {
    return product_of(shape);
  }
  const int64_t extent = shape[at(step.dim)];
  int64_t p = elements_of(shape) / extent;
  const auto extents = extents_after(extent, step);
  return extents && multiply(p, *extents) ? std::optional(p) : std::nullopt;
}

bool leaves_padding(const Shape& shape, const LayoutStep& step) {
  switch (step.op) {
    case LayoutOp::kSplit:
      return product_of(step.args) != shape[at(step.dim)];
    case LayoutOp::kUnfold: {
      const int64_t extent = shape[at(step.dim)];
      return (tiles_of(extent, step.args[0], step.args[1]) - 1) * step.args[1] + step.args[0] !=
             extent;
    }
    case LayoutOp::kPad:
    case LayoutOp::kStoreAt:
      return true;
    case LayoutOp::kReorder:
    case LayoutOp::kFuse:
    case LayoutOp::kSwizzle:
      return false;
  }
  return false;
}

bool stores_twice(const Shape& shape, const LayoutStep& step) {
  return step.op == LayoutOp::kUnfold && step.args[0] > step.args[1] &&
         step.args[0] < shape[at(step.dim)];
}

}  // namespace

std::string_view to_string(LayoutOp op) {
  switch (op) {
    case LayoutOp::kSplit:
      return "split";
    case LayoutOp::kReorder:
      return "reorder";
    case LayoutOp::kFuse:
      return "fuse";
    case LayoutOp::kPad:
      return "pad";
    case LayoutOp::kUnfold:
      return "unfold";
    case LayoutOp::kStoreAt:
      return "store_at";
    case LayoutOp::kSwizzle:
      return "swizzle";
  }
  return "";
}

Layout::Layout(std::vector<int64_t> logical_shape) : logical_(std::move(logical_shape)) {
  for (const int64_t n : logical_) {
    TENON_CHECK(n >= 1) << "extent " << n;
  }
  elements_of(logical_);
  storage_ = logical_;
}

std::vector<std::vector<int64_t>> Layout::shapes() const {
  std::vector<Shape> out;
  out.reserve(steps_.size());
  Shape shape = logical_;
  for (const LayoutStep& step : steps_) {
    out.push_back(shape);
    shape = shape_after(shape, step);
  }
  return out;
}

bool Layout::is_bijective() const { return is_padding_free() && !duplicates(); }

bool Layout::duplicates() const {
  const auto before = shapes();
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (stores_twice(before[i], steps_[i])) {
      return true;
    }
  }
  return false;
}

bool Layout::is_padding_free() const {
  const auto before = shapes();
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (leaves_padding(before[i], steps_[i])) {
      return false;
    }
  }
  return true;
}

double Layout::growth() const {
  return static_cast<double>(elements_of(storage_)) / static_cast<double>(elements_of(logical_));
}

double Layout::growth_after(const LayoutStep& step) const {
  const auto stored = elements_after(storage_, step);
  TENON_CHECK(stored.has_value()) << "a layout of more than 2^48 elements";
  return static_cast<double>(*stored) / static_cast<double>(elements_of(logical_));
}

std::string Layout::why_not(const LayoutStep& step) const {
  if (const size_t n = arguments_of(step.op); n != 0 && step.args.size() != n) {
    return fmt::format("{} takes {} numbers, not {}", to_string(step.op), n, step.args.size());
  }
  if (step.op == LayoutOp::kReorder) {
    return why_not_reorder(storage_, step.args);
  }
  const auto rank = static_cast<int64_t>(storage_.size());
  if (step.dim < 0 || step.dim >= rank) {
    return fmt::format("there is no dimension {}; the layout has {}", step.dim, rank);
  }
  const int64_t extent = storage_[at(step.dim)];
  std::string reason;
  switch (step.op) {
    case LayoutOp::kSplit:
      reason = why_not_split(extent, step.args);
      break;
    case LayoutOp::kFuse:
      reason = why_not_fuse(storage_, step.dim, step.args[0]);
      break;
    case LayoutOp::kPad:
      reason = why_not_pad(step.args[0], step.args[1]);
      break;
    case LayoutOp::kUnfold:
      reason = why_not_unfold(extent, step.args[0], step.args[1]);
      break;
    case LayoutOp::kStoreAt:
      reason = step.args[0] < 1              ? "store_at needs room for at least one slab"
               : step.args[0] > kMaxElements ? "the slabs are too many"
                                             : "";
      break;
    case LayoutOp::kSwizzle:
      reason = why_not_swizzle(storage_, step.dim, step.args[0], step.args[1]);
      break;
    case LayoutOp::kReorder:
      break;
  }
  if (reason.empty() && !elements_after(storage_, step)) {
    reason = "the layout would store more than 2^48 elements";
  }
  return reason;
}

void Layout::append(const LayoutStep& step) {
  const std::string reason = why_not(step);
  TENON_CHECK(reason.empty()) << to_string(step.op) << ": " << reason;
  storage_ = shape_after(storage_, step);
  steps_.push_back(step);
}

Layout Layout::then(const LayoutStep& step) const {
  Layout r = *this;
  r.append(step);
  return r;
}

Layout Layout::split(int64_t dim, std::vector<int64_t> factors) const {
  return then({LayoutOp::kSplit, dim, std::move(factors)});
}
Layout Layout::reorder(std::vector<int64_t> perm) const {
  return then({LayoutOp::kReorder, 0, std::move(perm)});
}
Layout Layout::fuse(int64_t dim, int64_t count) const {
  return then({LayoutOp::kFuse, dim, {count}});
}
Layout Layout::pad(int64_t dim, int64_t before, int64_t after) const {
  return then({LayoutOp::kPad, dim, {before, after}});
}
Layout Layout::unfold(int64_t dim, int64_t size, int64_t stride) const {
  return then({LayoutOp::kUnfold, dim, {size, stride}});
}
Layout Layout::store_at(int64_t dim, int64_t count) const {
  return then({LayoutOp::kStoreAt, dim, {count}});
}
Layout Layout::swizzle(int64_t dim, int64_t by, int64_t count) const {
  return then({LayoutOp::kSwizzle, dim, {by, count}});
}

Layout Layout::compose(const Layout& next) const {
  TENON_CHECK(next.logical_ == storage_) << "the layouts do not fit onto each other";
  Layout r = *this;
  r.storage_ = next.storage_;
  r.steps_.insert(r.steps_.end(), next.steps_.begin(), next.steps_.end());
  return r;
}

}  // namespace tenon::layout
