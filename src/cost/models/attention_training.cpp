// SPDX-License-Identifier: Apache-2.0
// Training of the network by the plug-in.
#include <algorithm>
#include <utility>

#include "cost/models/attention_network.h"
#include "support/check.h"

namespace tenon::cost {

namespace {

struct Quality {
  const TrainRows& how;
  size_t scores;

  static double of(void* context, const float* scores) {
    const auto& q = *static_cast<const Quality*>(context);
    return q.how.quality({scores, q.scores});
  }
};

void check_lessons(const RowsLessons& lessons, const TrainRows& how, uint32_t outputs) {
  const size_t sets = lessons.sets.size();
  TENON_CHECK(lessons.labels.size() == sets * outputs) << lessons.labels.size() << " labels";
  TENON_CHECK(lessons.tasks.size() == sets) << lessons.tasks.size() << " tasks";
  TENON_CHECK(how.batch >= 1 && how.threads >= 1);
  TENON_CHECK(
      std::all_of(how.asked.begin(), how.asked.end(), [&](uint64_t a) { return a < sets; }));
}

}  // namespace

AttentionTrainer find_attention_trainer() {
  return find_trainer<tenon_attention_trainer_functions>(TENON_ATTENTION_TRAINER_SYMBOL,
                                                         TENON_ATTENTION_TRAINER_VERSION);
}

PackedSets::PackedSets(std::span<const Row> sets, uint32_t columns) {
  for (const Row& s : sets) {
    TENON_CHECK(s.width == columns && s.rows() > 0) << s.rows() << " rows of " << s.width;
    rows.push_back(static_cast<uint32_t>(s.rows()));
    values.insert(values.end(), s.values.begin(), s.values.end());
  }
}

void train(const tenon_attention_trainer_functions& trainer, const RowsLessons& lessons,
           const TrainRows& how, AttentionNetwork& network) {
  const tenon_attention_sizes& sizes = network.sizes;
  check_lessons(lessons, how, sizes.outputs);
  if (lessons.sets.empty()) return;
  const PackedSets packed(lessons.sets, sizes.columns);
  Quality quality{how, how.asked.size() * sizes.outputs};
  const tenon_attention_lessons given{packed.view(),
                                      lessons.labels.data(),
                                      lessons.tasks.data(),
                                      how.loss,
                                      how.seed,
                                      how.epochs,
                                      how.batch,
                                      static_cast<uint32_t>(how.threads),
                                      how.learning_rate,
                                      how.asked.data(),
                                      how.asked.size(),
                                      how.quality ? Quality::of : nullptr,
                                      &quality};
  std::vector<float> weights = network.weights;
  const int32_t failed = trainer.train(&sizes, &given, weights.data());
  check_trained(failed, weights);
  network.weights = std::move(weights);
}

}  // namespace tenon::cost
