// SPDX-License-Identifier: Apache-2.0
// The network of TreeGRU (Chen et al. 2018, appendix): a gated unit that adds up the states of a
// node's children, and a head that scatters the states of all nodes among a few slots. With E the
// sigmoid of a dense layer of the node's columns, and s the sum of its children's states:
//
//   r = sigmoid(E Wr + s Ur)   z = sigmoid(E Wz + s Uz)   n = tanh(E Wn + r * (s Un))
//   state = (1 - z) * n + z * s
//   slot i = sum over nodes of softmax(state Ws)_i * state
//   score = sigmoid(slots W1) w2                      each product but the last with a bias
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cost/models/network.h"
#include "cost/models/tree_trainer.h"
#include "cost/row.h"

namespace tenon::cost {

inline constexpr size_t kTreeParts = 11;
// In the order in which weights are kept: the dense layer of E and its bias, the products of E for
// r, z and n side by side and their bias, those of s, Ws, W1, w2.
using TreeParts = std::array<NetworkPart, kTreeParts>;
enum TreePartNumber : uint8_t {
  kEmbed,
  kEmbedBias,
  kOfNode,
  kOfNodeBias,
  kOfChildren,
  kOfChildrenBias,
  kSlots,
  kSlotsBias,
  kHead,
  kHeadBias,
  kScore
};
TreeParts parts_of(const tenon_tree_sizes& sizes);
size_t weights_of(const tenon_tree_sizes& sizes);

struct TreeNetwork {
  tenon_tree_sizes sizes = {};
  std::vector<float> weights;
  std::span<const float> part(TreePartNumber number) const;
};

// Before any training.
TreeNetwork fresh_tree_network(const tenon_tree_sizes& sizes, uint64_t seed);

// Whatever runs a network. Safe to call from several threads.
class TreeScorer {
 public:
  virtual ~TreeScorer() = default;
  virtual std::vector<float> score(std::span<const Row> rows) const = 0;
};
using MakeTreeScorer =
    std::function<std::unique_ptr<TreeScorer>(const TreeNetwork& network, Keep keep)>;

// Plain loops, one program at a time.
std::unique_ptr<TreeScorer> plain_tree_scorer(const TreeNetwork& network, Keep keep);

}  // namespace tenon::cost
