// SPDX-License-Identifier: Apache-2.0
#include "tree_gru.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "layers.h"
#include "order.h"
#include "random.h"

namespace tenon::tree_gru {
namespace {

constexpr double kLearningRate = 7e-4;
constexpr double kWeightDecay = 1e-4;
constexpr double kMaxGradient = 5;
constexpr size_t kMinibatch = 128;
constexpr size_t kOfOneTask = 16;  // follow each other, so that each has a partner in its minibatch
constexpr uint32_t kCheckEvery = 10;
constexpr uint32_t kPatience = 50;  // minibatches without a rise of quality

enum Part {
  kEmbed,
  kEmbedBias,
  kNode,
  kNodeBias,
  kChildren,
  kChildrenBias,
  kSlots,
  kSlotsBias,
  kHead,
  kHeadBias,
  kScore
};

Shapes shapes(const tenon_tree_sizes& s) {
  const int64_t columns = s.columns, hidden = s.hidden, slots = s.slots;
  return {{columns, hidden},        {1, hidden},     {hidden, 3 * hidden}, {1, 3 * hidden},
          {hidden, 3 * hidden},     {1, 3 * hidden}, {hidden, slots},      {1, slots},
          {slots * hidden, hidden}, {1, hidden},     {1, hidden}};
}

torch::Tensor values_of(const tenon_trees& trees, int64_t columns) {
  int64_t nodes = 0;
  for (uint64_t t = 0; t < trees.trees; ++t) nodes += trees.nodes[t];
  return torch::from_blob(const_cast<float*>(trees.values), {nodes, columns});
}

std::vector<Depth> by_depth(const tenon_trees& trees, const std::vector<int64_t>& asked) {
  std::vector<int64_t> first(trees.trees + 1, 0);
  for (uint64_t t = 0; t < trees.trees; ++t) first[t + 1] = first[t] + trees.nodes[t];
  std::vector<Depth> out;
  for (size_t a = 0; a < asked.size(); ++a) {
    const auto tree = static_cast<size_t>(asked[a]);
    std::vector<std::pair<size_t, int64_t>> place;  // depth and place of each node of the tree
    for (int64_t n = first[tree]; n < first[tree + 1]; ++n) {
      const int32_t parent = trees.parent[n];
      const size_t depth = parent < 0 ? 0 : place.at(static_cast<size_t>(parent)).first + 1;
      if (depth == out.size()) out.emplace_back();
      place.emplace_back(depth, static_cast<int64_t>(out[depth].node.size()));
      out[depth].node.push_back(n);
      out[depth].parent.push_back(parent < 0 ? -1 : place[static_cast<size_t>(parent)].second);
      out[depth].tree.push_back(static_cast<int64_t>(a));
    }
  }
  return out;
}

// Empty where all are alike.
Pairs pairs_of(const tenon_tree_lessons& lessons, const std::vector<int64_t>& batch,
               agent::Random& random) {
  std::map<uint32_t, std::vector<int64_t>> places;
  for (size_t i = 0; i < batch.size(); ++i) {
    places[lessons.tasks[batch[i]]].push_back(static_cast<int64_t>(i));
  }
  Pairs out;
  for (size_t i = 0; i < batch.size(); ++i) {
    const auto& peers = places[lessons.tasks[batch[i]]];
    const auto p = static_cast<size_t>(random.unit() * static_cast<double>(peers.size()));
    const int64_t other = peers[std::min(p, peers.size() - 1)];
    const float mine = lessons.labels[batch[i]];
    const float its = lessons.labels[batch[static_cast<size_t>(other)]];
    if (mine == its) continue;
    out.better.push_back(mine > its ? static_cast<int64_t>(i) : other);
    out.worse.push_back(mine > its ? other : static_cast<int64_t>(i));
  }
  return out;
}

}  // namespace

TreeGru::TreeGru(const tenon_tree_sizes& sizes, const float* weights) : sizes_(sizes) {
  // Sums stay the same whatever the machine has.
  at::set_num_threads(1);
  parts_ = read_parts(shapes(sizes), weights);
}

void TreeGru::copy_weights(float* to) const { write_parts(parts_, to); }

torch::Tensor TreeGru::states_of(const std::vector<Depth>& depths, const torch::Tensor& own) {
  const torch::Tensor kernel = kernel_of(parts_[kChildren]);
  const int64_t hidden = sizes_.hidden;
  std::vector<torch::Tensor> states;  // the deepest first, as `own`
  int64_t first = 0;
  for (size_t d = depths.size(); d-- > 0;) {
    const auto n = static_cast<int64_t>(depths[d].node.size());
    torch::Tensor children = torch::zeros({n, hidden});
    if (!states.empty()) {
      children = children.index_add(0, indices(depths[d + 1].parent), states.back());
    }
    const torch::Tensor mine = own.narrow(0, first, n);
    const torch::Tensor below = convolved(children, kernel, parts_[kChildrenBias]);
    const auto open =
        torch::sigmoid(mine.narrow(1, 0, 2 * hidden) + below.narrow(1, 0, 2 * hidden)).chunk(2, 1);
    const torch::Tensor state = torch::tanh(torch::addcmul(
        mine.narrow(1, 2 * hidden, hidden), open[0], below.narrow(1, 2 * hidden, hidden)));
    states.push_back(torch::lerp(state, children, open[1]));  // (1 - z) * n + z * children
    first += n;
  }
  return torch::cat(states);
}

torch::Tensor TreeGru::scattered(const torch::Tensor& states, const std::vector<int64_t>& tree,
                                 int64_t trees) {
  const torch::Tensor share = torch::softmax(dense(states, parts_[kSlots], parts_[kSlotsBias]), 1);
  const int64_t wide = int64_t{sizes_.hidden} * sizes_.slots;
  return torch::zeros({trees, wide})
      .index_add(0, indices(tree), (share.unsqueeze(2) * states.unsqueeze(1)).reshape({-1, wide}));
}

torch::Tensor TreeGru::scores_of(const tenon_trees& trees, const std::vector<int64_t>& asked) {
  const std::vector<Depth> depths = by_depth(trees, asked);
  std::vector<int64_t> node, tree;
  for (size_t d = depths.size(); d-- > 0;) {
    node.insert(node.end(), depths[d].node.begin(), depths[d].node.end());
    tree.insert(tree.end(), depths[d].tree.begin(), depths[d].tree.end());
  }
  const torch::Tensor columns = values_of(trees, sizes_.columns).index_select(0, indices(node));
  const torch::Tensor e = torch::sigmoid(dense(columns, parts_[kEmbed], parts_[kEmbedBias]));
  const torch::Tensor states = states_of(depths, dense(e, parts_[kNode], parts_[kNodeBias]));
  const torch::Tensor slots = scattered(states, tree, static_cast<int64_t>(asked.size()));
  const torch::Tensor last = torch::sigmoid(dense(slots, parts_[kHead], parts_[kHeadBias]));
  return last.matmul(parts_[kScore].squeeze(0));
}

std::vector<float> TreeGru::score(const tenon_trees& trees, const std::vector<int64_t>& asked) {
  const torch::NoGradGuard no_grad;
  std::vector<float> out;
  for (size_t i = 0; i < asked.size(); i += kMinibatch) {
    const size_t end = std::min(asked.size(), i + kMinibatch);
    const torch::Tensor some = scores_of(trees, {asked.begin() + static_cast<std::ptrdiff_t>(i),
                                                 asked.begin() + static_cast<std::ptrdiff_t>(end)})
                                   .contiguous();
    out.insert(out.end(), some.data_ptr<float>(), some.data_ptr<float>() + some.numel());
  }
  return out;
}

torch::Tensor TreeGru::loss_of(const tenon_tree_lessons& lessons, const std::vector<int64_t>& batch,
                               const Pairs& pairs) {
  const torch::Tensor scores = scores_of(lessons.trees, batch);
  return torch::softplus(scores.index_select(0, indices(pairs.worse)) -
                         scores.index_select(0, indices(pairs.better)))
      .mean();
}

void TreeGru::train(const tenon_tree_lessons& lessons) {
  agent::Random random(lessons.seed);
  std::vector<int64_t> all(lessons.trees.trees);
  std::iota(all.begin(), all.end(), 0);
  Order order(all, lessons.tasks, kOfOneTask, random);
  torch::optim::Adam adam(parts_,
                          torch::optim::AdamOptions(kLearningRate).weight_decay(kWeightDecay));
  const std::vector<int64_t> asked(lessons.asked, lessons.asked + lessons.asked_count);
  const auto quality = [&] {
    return lessons.quality(lessons.context, score(lessons.trees, asked).data());
  };
  double best = quality();
  uint32_t best_at = 0;
  std::vector<torch::Tensor> best_parts = copies(parts_);
  for (uint32_t i = 1; i <= lessons.minibatches && i <= best_at + kPatience; ++i) {
    const std::vector<int64_t> batch = order.next(kMinibatch);
    const Pairs pairs = pairs_of(lessons, batch, random);
    if (!pairs.better.empty()) {
      adam.zero_grad();
      loss_of(lessons, batch, pairs).backward();
      torch::nn::utils::clip_grad_norm_(parts_, kMaxGradient);
      adam.step();
    }
    if (i % kCheckEvery != 0) continue;
    const double now = quality();
    if (now <= best) continue;
    best = now;
    best_at = i;
    best_parts = copies(parts_);
  }
  parts_ = std::move(best_parts);
}

}  // namespace tenon::tree_gru
