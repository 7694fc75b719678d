// SPDX-License-Identifier: Apache-2.0
#include "templates/conv_steps.h"

#include <algorithm>

namespace tenon::templates {

using space::Loop;

namespace {

int64_t group_of(const ChannelTile& t) { return schedule::row_of(*t.dot).group; }

}  // namespace

void pack_weights(space::Builder& b, space::StageRef w, size_t rank, const ChannelTile& t) {
  b.layout_split(w, 0, {arith::ceil_div(t.kvecs, t.kb), t.kb * t.v});
  const bool split = t.ci > 1;
  const int64_t co = arith::ceil_div(t.in, t.ci);
  if (t.dot) {
    b.layout_split(w, 2, {co, t.ci / group_of(t), group_of(t)});
  } else if (split) {
    b.layout_split(w, 2, {co, t.ci});
  }
  std::vector<int64_t> order{0, 2};
  const int64_t first = t.dot ? 5 : split ? 4 : 3;
  for (size_t d = 0; d < rank; ++d) order.push_back(first + static_cast<int64_t>(d));
  if (split) order.push_back(3);
  order.push_back(1);
  if (t.dot) order.push_back(4);
  b.layout_reorder(w, order);
}

Loop tile_sum(space::Builder& b, space::StageRef acc, size_t positions, const ChannelTile& t,
              size_t rank, bool skip) {
  const size_t reduce = positions + 3;  // after n, k_0 and k_1
  std::vector<Loop> c{b.axis(acc, reduce)};
  if (t.dot) {
    c = b.split(c[0], {t.ci / group_of(t), group_of(t)});
  } else if (t.ci > 1) {
    c = b.split(c[0], {t.ci});
  }
  std::vector<Loop> order{c[0]};
  for (size_t d = 0; d < rank; ++d) order.push_back(b.axis(acc, reduce + 1 + d));
  const Loop last_tap = order.back();
  if (c.size() > 1) order.push_back(c[1]);
  const Loop around = order.back();
  std::vector<Loop> tile;
  for (size_t d = 0; d < positions; ++d) tile.push_back(b.axis(acc, 2 + d));
  order.insert(order.end(), tile.begin(), tile.end());
  const Loop vectors = b.axis(acc, 1), lanes = b.axis(acc, positions + 2);
  order.insert(order.end(), {vectors, lanes});
  if (t.dot) order.push_back(c[2]);
  b.reorder(order);
  if (skip) b.unroll(last_tap);
  for (size_t d = positions - std::min<size_t>(positions, 2); d < positions; ++d) b.unroll(tile[d]);
  b.unroll(vectors);
  if (t.dot) {
    b.tensorize(lanes, c[2], *t.dot);
  } else {
    b.vectorize(lanes);
  }
  return around;
}

}  // namespace tenon::templates
