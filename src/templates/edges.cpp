// SPDX-License-Identifier: Apache-2.0
#include "templates/edges.h"

#include "templates/anchor.h"

namespace tenon::templates {

layout::Layout blocked(const std::vector<int64_t>& shape, int64_t block) {
  layout::Layout l(shape);
  if (block == 1 || shape.size() < 2) return l;
  l = l.split(1, {arith::ceil_div(shape[1], block), block});
  std::vector<int64_t> perm{0, 1};
  for (size_t d = 2; d < shape.size(); ++d) perm.push_back(static_cast<int64_t>(d) + 1);
  perm.push_back(2);
  return l.reorder(perm);
}

std::optional<int64_t> block_of(const layout::Layout& l, int64_t prefer) {
  const std::vector<int64_t>& shape = l.logical_shape();
  if (shape.size() < 2) return l.is_identity() ? std::optional<int64_t>(1) : std::nullopt;
  for (const int64_t block : {prefer, int64_t{1}, int64_t{16}, int64_t{8}, int64_t{4}, int64_t{32},
                              int64_t{64}, int64_t{2}, shape[1]}) {
    if (layout::same_storage(l, blocked(shape, block))) return block;
  }
  return std::nullopt;
}

std::optional<int64_t> block_for(const Request& request, const te::Tensor& t, int64_t prefer) {
  const auto it = request.fixed.find(t.name());
  return it == request.fixed.end() ? std::optional(prefer) : block_of(it->second, prefer);
}

int64_t default_block(int64_t channels, int64_t element_bytes, const target::Target& t) {
  return channels < 4 ? 1 : choose_lanes(channels, element_bytes, t);
}

std::string last_axis(const te::ComputeOp& op, int64_t block) {
  return block > 1 && op.axes.size() > 1 ? op.axes[1].var.name() + "_1" : op.axes.back().var.name();
}

bool may_be_plain(const Request& request, const te::Tensor& t) {
  const auto it = request.fixed.find(t.name());
  return it == request.fixed.end() || layout::same_storage(it->second, layout::Layout(t.shape()));
}

}  // namespace tenon::templates
