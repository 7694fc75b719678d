// SPDX-License-Identifier: Apache-2.0
#include "cost/models/tree_network.h"

#include <algorithm>
#include <cmath>

#include "support/check.h"
#include "support/rng.h"

namespace tenon::cost {

namespace {

float sigmoid(float v) { return 1 / (1 + std::exp(-v)); }

class PlainScorer : public TreeScorer {
 public:
  explicit PlainScorer(const TreeNetwork& network) : net_(network), hidden_(network.sizes.hidden) {}

  std::vector<float> score(std::span<const Row> rows) const override {
    std::vector<float> out;
    for (const Row& r : rows) out.push_back(score_one(r));
    return out;
  }

 private:
  using Numbers = std::vector<float>;

  // in * weights + bias
  Numbers dense(std::span<const float> in, TreePartNumber weights, TreePartNumber bias) const {
    const auto w = net_.part(weights), b = net_.part(bias);
    Numbers out(b.begin(), b.end());
    for (size_t i = 0; i < in.size(); ++i) {
      const float* row = w.data() + i * out.size();
      for (size_t j = 0; j < out.size(); ++j) out[j] += in[i] * row[j];
    }
    return out;
  }

  Numbers state_of(std::span<const float> columns, std::span<const float> children) const {
    Numbers e = dense(columns, kEmbed, kEmbedBias);
    for (float& v : e) v = sigmoid(v);
    const Numbers own = dense(e, kOfNode, kOfNodeBias);
    const Numbers below = dense(children, kOfChildren, kOfChildrenBias);
    Numbers state(hidden_);
    for (size_t j = 0; j < hidden_; ++j) {
      const float r = sigmoid(own[j] + below[j]);
      const float z = sigmoid(own[hidden_ + j] + below[hidden_ + j]);
      const float n = std::tanh(own[2 * hidden_ + j] + r * below[2 * hidden_ + j]);
      state[j] = (1 - z) * n + z * children[j];
    }
    return state;
  }

  void scatter(const Numbers& state, Numbers& slots) const {
    Numbers share = dense(state, kSlots, kSlotsBias);
    const float most = *std::max_element(share.begin(), share.end());
    float sum = 0;
    for (float& v : share) {
      v = std::exp(v - most);
      sum += v;
    }
    for (size_t i = 0; i < share.size(); ++i) {
      for (size_t j = 0; j < hidden_; ++j) slots[i * hidden_ + j] += share[i] / sum * state[j];
    }
  }

  float score_one(const Row& row) const {
    TENON_CHECK(row.width == net_.sizes.columns && row.parent.size() == row.rows());
    Numbers sums(row.rows() * hidden_), slots(net_.sizes.slots * hidden_);
    for (size_t n = row.rows(); n-- > 0;) {  // children first
      const Numbers state = state_of(std::span(row.values).subspan(n * row.width, row.width),
                                     std::span(sums).subspan(n * hidden_, hidden_));
      scatter(state, slots);
      if (row.parent[n] < 0) continue;
      float* above = sums.data() + static_cast<size_t>(row.parent[n]) * hidden_;
      for (size_t j = 0; j < hidden_; ++j) above[j] += state[j];
    }
    const Numbers last = dense(slots, kHead, kHeadBias);
    float score = 0;
    for (size_t j = 0; j < hidden_; ++j) score += sigmoid(last[j]) * net_.part(kScore)[j];
    return score;
  }

  TreeNetwork net_;
  size_t hidden_;
};

}  // namespace

TreeParts parts_of(const tenon_tree_sizes& sizes) {
  const int64_t columns = sizes.columns, hidden = sizes.hidden, slots = sizes.slots;
  return in_a_row<kTreeParts>({{{"embed", columns, hidden},
                                {"embed.bias", 1, hidden},
                                {"node", hidden, 3 * hidden},
                                {"node.bias", 1, 3 * hidden},
                                {"children", hidden, 3 * hidden},
                                {"children.bias", 1, 3 * hidden},
                                {"slots", hidden, slots},
                                {"slots.bias", 1, slots},
                                {"head", slots * hidden, hidden},
                                {"head.bias", 1, hidden},
                                {"score", 1, hidden}}});
}

size_t weights_of(const tenon_tree_sizes& sizes) { return parts_of(sizes).back().end(); }

std::span<const float> TreeNetwork::part(TreePartNumber number) const {
  const NetworkPart p = parts_of(sizes)[number];
  return std::span(weights).subspan(p.first, p.size());
}

TreeNetwork fresh_tree_network(const tenon_tree_sizes& sizes, uint64_t seed) {
  TreeNetwork net{sizes, std::vector<float>(weights_of(sizes))};
  Rng rng(seed);
  const TreeParts parts = parts_of(sizes);
  for (const TreePartNumber number : {kEmbed, kOfNode, kOfChildren, kSlots, kHead, kScore}) {
    const NetworkPart& p = parts[number];
    const double radius = 1 / std::sqrt(static_cast<double>(number == kScore ? p.columns : p.rows));
    for (size_t i = 0; i < p.size(); ++i) {
      net.weights[p.first + i] = static_cast<float>(radius * (2 * rng.unit() - 1));
    }
  }
  return net;
}

std::unique_ptr<TreeScorer> plain_tree_scorer(const TreeNetwork& network, Keep) {
  return std::make_unique<PlainScorer>(network);
}

}  // namespace tenon::cost
