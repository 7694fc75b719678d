// SPDX-License-Identifier: Apache-2.0
// The network of src/cost/models/tree_network.h by libtorch, and its training as in Chen et al.
// 2018: each program of a minibatch is compared with one other of its task.
//
//   TreeGru net(sizes, weights);
//   net.train(lessons);
//   net.copy_weights(weights);
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "cost/models/tree_trainer.h"

namespace tenon::tree_gru {

// Nodes of some trees that lie equally deep.
struct Depth {
  std::vector<int64_t> node;    // among all nodes of the lessons
  std::vector<int64_t> parent;  // place among those one depth above
  std::vector<int64_t> tree;    // place among the trees asked for
};

// Places in a minibatch: the better and the worse program of each pair.
struct Pairs {
  std::vector<int64_t> better, worse;
};

class TreeGru {
 public:
  TreeGru(const tenon_tree_sizes& sizes, const float* weights);

  void train(const tenon_tree_lessons& lessons);
  // It answers for these trees, which go by their numbers.
  std::vector<float> score(const tenon_trees& trees, const std::vector<int64_t>& asked);
  void copy_weights(float* to) const;

 private:
  torch::Tensor scores_of(const tenon_trees& trees, const std::vector<int64_t>& asked);
  // States of all nodes, the deepest first, by what each brings itself.
  torch::Tensor states_of(const std::vector<Depth>& depths, const torch::Tensor& own);
  // The states added up among the slots of their trees.
  torch::Tensor scattered(const torch::Tensor& states, const std::vector<int64_t>& tree,
                          int64_t trees);
  torch::Tensor loss_of(const tenon_tree_lessons& lessons, const std::vector<int64_t>& batch,
                        const Pairs& pairs);

  tenon_tree_sizes sizes_;
  std::vector<torch::Tensor> parts_;  // in the order of tree_network.h
};

}  // namespace tenon::tree_gru
