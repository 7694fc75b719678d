// SPDX-License-Identifier: Apache-2.0
#include "cost/models/tree_lessons.h"

#include <utility>

#include "cost/losses.h"
#include "support/check.h"

namespace tenon::cost {

namespace {

constexpr uint32_t kMinibatches = 200;
constexpr size_t kAsked = 512;  // programs by which the quality is told, at most

// AutoTVM's average recall on some of the lessons.
struct Quality {
  std::vector<uint64_t> asked;
  Packs packs;

  explicit Quality(const Packs& all) {
    const size_t step = (all.labels.size() + kAsked - 1) / kAsked;
    for (size_t i = 0; i < all.labels.size(); i += step) {
      asked.push_back(i);
      packs.rows.push_back(1);
      packs.labels.push_back(all.labels[i]);
      packs.tasks.push_back(all.tasks[i]);
    }
  }

  static double of(void* context, const float* scores) {
    const auto& q = *static_cast<const Quality*>(context);
    const std::vector<double> given(scores, scores + q.asked.size());
    const std::vector<char> everyone(q.asked.size(), 1);
    return average_recall(q.packs, given, everyone);
  }
};

}  // namespace

void TreeLessons::add(const Sample& s) {
  TENON_CHECK(s.row.parent.size() == s.row.rows()) << "a row of another model";
  parent.insert(parent.end(), s.row.parent.begin(), s.row.parent.end());
  programs.add(s);
}

TreeTrainer find_tree_trainer() {
  return find_trainer<tenon_tree_trainer_functions>(TENON_TREE_TRAINER_SYMBOL,
                                                    TENON_TREE_TRAINER_VERSION);
}

void train(const tenon_tree_trainer_functions& trainer, const TreeLessons& lessons, uint64_t seed,
           TreeNetwork& network) {
  const Packs packs = packs_of(lessons.programs);
  Quality quality(packs);
  const std::vector<uint32_t> nodes(packs.rows.begin(), packs.rows.end());
  const tenon_tree_lessons given{
      {nodes.size(), nodes.data(), lessons.programs.values.data(), lessons.parent.data()},
      packs.labels.data(),
      packs.tasks.data(),
      seed,
      kMinibatches,
      quality.asked.data(),
      quality.asked.size(),
      Quality::of,
      &quality};
  std::vector<float> weights = network.weights;
  const int32_t failed = trainer.train(&network.sizes, &given, weights.data());
  check_trained(failed, weights);
  network.weights = std::move(weights);
}

}  // namespace tenon::cost
