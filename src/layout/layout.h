// SPDX-License-Identifier: Apache-2.0
// A Layout says where the elements of a tensor are stored: a map from logical indices to storage
// indices, built from seven primitives. Storage is the row-major order of the storage shape.
//
//   primitive            storage shape               index
//   split(k,[F1..Fm])    N_k -> F1,..,Fm             i_k -> i_k / (F2..Fm), ..., i_k mod Fm
//                        (prod F >= N_k; the excess is padding that holds zero)
//   reorder(perm)        dimension d of the result is dimension perm[d] before
//   fuse(k, n)           N_k..N_{k+n-1} -> product   row-major
//   pad(k, before, after) N_k -> before + N_k + after  i_k -> i_k + before  (padding holds zero)
//   unfold(k, B, S)      N_k -> T, B;  T = ceil((N_k - B) / S) + 1; tile t holds elements t*S .. t*S+B-1
//                        (an element may be stored in several tiles; beyond N_k holds zero)
//   store_at(k, n)       N_k -> N_k + n: room for n slabs of another tensor after this one's own
//   swizzle(k, d, n)     the same shape              i_k -> i_k xor (i_d mod n)
//                        (n is a power of two, N_k a multiple of it: neighbours along d at one place of k lie in
//                        different banks of a GPU's shared memory, and nothing is padded)
//
// Worked: conv activations N C H W (1,64,56,56) to N C/16 H W 16c:
//   Layout(shape).split(1, {4, 16}).reorder({0, 1, 3, 4, 2})
//   storage shape 1,4,56,56,16; logical (n,c,h,w) -> (n, c/16, h, w, c%16)
// and unfold of 1..5 with B=3, S=2 stores {1,2,3},{3,4,5}. S <= B <= N_k: no element is lost.
//
// split, reorder and fuse with exact factors and swizzle are bijections. Values: cheap to copy, compare, print.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arith/simplify.h"
#include "ir/interp.h"
#include "ir/ir.h"

namespace tenon::layout {

enum class LayoutOp : uint8_t { kSplit, kReorder, kFuse, kPad, kUnfold, kStoreAt, kSwizzle };

std::string_view to_string(LayoutOp op);  // "split", "store_at", ...

struct LayoutStep {
  LayoutOp op;
  int64_t dim = 0;  // not used by kReorder
  std::vector<int64_t>
      args;  // factors | permutation | {count} | {before, after} | {B, S} | {n} | {d, n}
  bool operator==(const LayoutStep&) const = default;
};

class Layout {
 public:
  Layout() = default;
  explicit Layout(std::vector<int64_t> logical_shape);  // the identity: row-major

  const std::vector<int64_t>& logical_shape() const { return logical_; }
  const std::vector<int64_t>& storage_shape() const { return storage_; }
  const std::vector<LayoutStep>& steps() const { return steps_; }
  bool is_identity() const { return steps_.empty(); }
  // Every element is stored exactly once and nothing else is stored.
  bool is_bijective() const;
  // Some element is stored more than once (unfold with B > S).
  bool duplicates() const;
  // Stored elements / logical elements.
  double growth() const;
  // growth() of then(step); why_not(step) must be empty.
  double growth_after(const LayoutStep& step) const;

  // Empty if `step` fits the current storage shape, otherwise a sentence that says why not.
  std::string why_not(const LayoutStep& step) const;
  Layout then(const LayoutStep& step) const;  // why_not(step) must be empty
  void append(const LayoutStep& step);        // becomes then(step)
  Layout split(int64_t dim, std::vector<int64_t> factors) const;
  Layout reorder(std::vector<int64_t> perm) const;
  Layout fuse(int64_t dim, int64_t count) const;
  Layout pad(int64_t dim, int64_t before, int64_t after) const;
  Layout unfold(int64_t dim, int64_t size, int64_t stride) const;
  Layout store_at(int64_t dim, int64_t count) const;
  Layout swizzle(int64_t dim, int64_t by, int64_t count) const;
  // This layout's steps continued by those of `next`, whose logical shape is our storage shape.
  Layout compose(const Layout& next) const;

  // Where a logical element is stored (for unfold: the canonical copy, tile min(i / S, T-1)). Indices that
  // change are simplified under `ranges`: no division or modulo is left where tiles match.
  std::vector<ir::Expr> to_storage(const std::vector<ir::Expr>& logical,
                                   const arith::Ranges& ranges) const;
  // The logical element that a storage element holds. Where `is_padding_free()` is false the caller must
  // guard with `holds_element`: padding maps to indices outside the logical shape.
  std::vector<ir::Expr> to_logical(const std::vector<ir::Expr>& storage,
                                   const arith::Ranges& ranges) const;
  bool is_padding_free() const;
  // True where the storage element holds a logical element, false on padding (simplified).
  ir::Expr holds_element(const std::vector<ir::Expr>& storage, const arith::Ranges& ranges) const;

  // Re-lays an array from logical to storage order (padding zero, duplicates filled) and back.
  ir::Array pack(const ir::Array& logical) const;
  ir::Array unpack(const ir::Array& storage) const;

  // The shape before each step: shapes()[i] is what steps()[i] is applied to.
  std::vector<std::vector<int64_t>> shapes() const;

  bool operator==(const Layout&) const = default;

 private:
  std::vector<int64_t> logical_;
  std::vector<int64_t> storage_;
  std::vector<LayoutStep> steps_;
};

// Both need the same memory and put every element at the same place of it: N C/16 (H W) 16 and N C/16 H W 16. Exact for
// layouts of split, reorder, fuse, pad and store_at; what else there is (copies in several tiles, a fused dimension
// cut where its parts meet) is compared element by element, and taken for different beyond 4 million of them.
bool same_storage(const Layout& a, const Layout& b);

// "split(1,[4,16]).reorder([0,1,3,4,2])", "" for the identity; parse throws UserError with the column.
std::string to_string(const Layout& l);
Layout parse_layout(const std::string& text, std::vector<int64_t> logical_shape);

// Rewriting of a sliding access (Liu et al., ALT; checked by brute force in the tests): for a reader
// x[V*i + d*r] with window M = d*(K-1)+1, unfold(k, B, S) needs S = V*w where w = (B-M)/V + 1 windows
// fit a tile; then tile = i / w and offset = V*i + d*r - S*tile.
struct SlidingAccess {
  ir::Expr window_index;  // i
  int64_t stride;         // V
  ir::Expr offset;        // d*r, without i
  int64_t window;         // M
};
struct UnfoldedIndex {
  ir::Expr tile, offset;
};
// Nothing if S is not V*w or no window fits.
std::optional<UnfoldedIndex> rewrite_sliding(const SlidingAccess& access, int64_t size,
                                             int64_t stride, const arith::Ranges& ranges);

}  // namespace tenon::layout
