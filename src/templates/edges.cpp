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

int64_t block_bytes(ir::DType t) { return t.bits == 8 ? 4 : t.bytes(); }

int64_t default_block(int64_t channels, int64_t element_bytes, const target::Cpu& t) {
  return channels < 4 ? 1 : choose_lanes(channels, element_bytes, t);
}

std::vector<std::string> store_alike(space::Builder& b, const Request& request,
                                     const std::vector<std::string>& names, int64_t block,
                                     FunctionRef<layout::Layout(int64_t)> in_blocks) {
  std::vector<std::string> stored;
  for (const std::string& s : names) {
    const auto it = request.fixed.find(s);
    const auto own = it == request.fixed.end() ? std::optional(block) : block_of(it->second, block);
    if (!own) continue;
    b.store(b.stage(s), in_blocks(*own));
    stored.push_back(s);
  }
  return stored;
}

space::Loop last_axis(const space::Builder& b, space::StageRef stage) {
  if (!b.state().has(stage)) return {stage, {}};
  return b.axis(stage, b.now(stage).axes.size() - 1);
}

bool may_be_plain(const Request& request, const te::Tensor& t) {
  const auto it = request.fixed.find(t.name());
  return it == request.fixed.end() || layout::same_storage(it->second, layout::Layout(t.shape()));
}

}  // namespace tenon::templates
