// SPDX-License-Identifier: Apache-2.0
// The boosted models: Ansor's, and AutoTVM's with each of its encodings and objectives.
#include "cost/models/boosted.h"

namespace tenon::cost {

namespace {

// Where this differs from Ansor's own (depth 10, all columns, 300 rounds): docs/tuning/cost-models.md has the scores.
constexpr Parameter kAnsor[] = {
    {"max_depth", "8"}, {"colsample_bytree", "0.5"}, {"gamma", "0.001"}, {"min_child_weight", "0"},
    {"eta", "0.2"},
};
constexpr Parameter kAutoTvm[] = {
    {"max_depth", "3"},
    {"gamma", "0.0001"},
    {"min_child_weight", "1"},
    {"eta", "0.3"},
};
constexpr int kAnsorRounds = 150;
constexpr int kAutoTvmRounds = 400;
constexpr size_t kEnsemble = 6;

constexpr BoostedKind autotvm(std::string_view name, const Encoder& encoder, Loss* loss,
                              size_t members = 1, Acquisition* worth = nullptr) {
  return {.name = name,
          .encoder = encoder,
          .loss = loss,
          .parameters = kAutoTvm,
          .stop = Stop::kRecall,
          .max_rounds = kAutoTvmRounds,
          .learns_from_failures = true,
          .members = members,
          .worth = worth};
}

}  // namespace

constinit const BoostedKind kXgb{.name = "xgb",
                                 .encoder = kStatements,
                                 .loss = ansor_loss,
                                 .parameters = kAnsor,
                                 .max_rounds = kAnsorRounds};
constinit const BoostedKind kXgbRank = autotvm("xgb-rank", kCurve, rank_loss);
constinit const BoostedKind kXgbReg = autotvm("xgb-reg", kCurve, squared_loss);
constinit const BoostedKind kXgbItervar = autotvm("xgb-itervar", kItervar, rank_loss);
constinit const BoostedKind kXgbKnob = autotvm("xgb-knob", kKnobs, rank_loss);
constinit const BoostedKind kXgbEi =
    autotvm("xgb-ei", kCurve, squared_loss, kEnsemble, expected_improvement);
constinit const BoostedKind kXgbUcb =
    autotvm("xgb-ucb", kCurve, squared_loss, kEnsemble, upper_confidence);

}  // namespace tenon::cost
