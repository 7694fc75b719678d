// SPDX-License-Identifier: Apache-2.0
// A network over a set of rows, after TLP (Zhai et al. 2023): rows look at each other by attention,
// each is worth something, and the score is the sum. A head at the end for each output (machine).
//
//   x = relu(relu(row A + a) B + b)                    columns -> width -> width
//   x = x + attention(x)                               softmax(q k' / sqrt(width / heads)) v, per
//                                                      head; q, k, v = x Q + q; then a product
//   x = x + relu(x R + r)                              twice
//   score of output o = sum over rows of relu(x H_o + h_o) w_o + c_o     width -> width / 2 -> 1
//
//   AttentionNetwork net = fresh_attention_network({40, 64, 4, 1}, seed);
//   train(*find_attention_trainer().functions, {sets, labels, tasks}, {.epochs = 20}, net);
//   plain_rows_scorer(net, Keep::kForThisRun)->score(sets, 0);
//
// The order of rows does not matter. A set has no padding: whoever pads masks what it added.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cost/models/attention_trainer.h"
#include "cost/models/network.h"
#include "cost/row.h"

namespace tenon::cost {

// In the order in which weights are kept. Those for q, k and v stand side by side, those of the
// outputs one above the other.
enum class AttentionPart : uint8_t {
  kIn,
  kInBias,
  kUp,
  kUpBias,
  kAsk,  // q, k, v
  kAskBias,
  kMix,  // behind the heads
  kMixBias,
  kFirst,
  kFirstBias,
  kSecond,
  kSecondBias,
  kHead,
  kHeadBias,
  kScore,
  kScoreBias,
};
inline constexpr size_t kAttentionParts = 16;
std::array<NetworkPart, kAttentionParts> parts_of(const tenon_attention_sizes& sizes);
size_t weights_of(const tenon_attention_sizes& sizes);
// Throws InternalError unless heads share the width evenly, and so on.
void check_sizes(const tenon_attention_sizes& sizes);

struct AttentionNetwork {
  tenon_attention_sizes sizes = {};
  std::vector<float> weights;
  std::span<const float> part(AttentionPart which) const;
  // Of a part that each output has its own of.
  std::span<const float> part(AttentionPart which, uint32_t output) const;
};

// Before any training: uniform within 1 / sqrt(inputs), as libtorch does.
AttentionNetwork fresh_attention_network(const tenon_attention_sizes& sizes, uint64_t seed);

// Whatever runs a network. Safe to call from several threads; many sets at once are cheaper.
class RowsScorer {
 public:
  virtual ~RowsScorer() = default;
  virtual std::vector<float> score(std::span<const Row> sets, uint32_t output) const = 0;
};
using MakeRowsScorer =
    std::function<std::unique_ptr<RowsScorer>(const AttentionNetwork& network, Keep keep)>;

// Plain loops, one set at a time.
std::unique_ptr<RowsScorer> plain_rows_scorer(const AttentionNetwork& network, Keep keep);

// The plug-in that trains it.
using AttentionTrainer = NetworkTrainer<tenon_attention_trainer_functions>;
AttentionTrainer find_attention_trainer();

struct RowsLessons {
  std::vector<Row> sets;
  std::vector<float> labels;  // sets x outputs; as tenon_attention_lessons has them
  std::vector<uint32_t> tasks;
};

struct TrainRows {
  uint32_t loss = TENON_LOSS_RANK;
  uint32_t epochs = 50, batch = 512;
  uint64_t seed = 0;
  int threads = 1;
  float learning_rate = 0;  // the trainer's own
  std::vector<uint64_t> asked = {};
  // Of the sets asked, outputs of a set side by side; empty: the last weights count.
  std::function<double(std::span<const float> scores)> quality = {};
};

// Goes on from the weights that the network has. Throws UserError.
void train(const tenon_attention_trainer_functions& trainer, const RowsLessons& lessons,
           const TrainRows& how, AttentionNetwork& network);

// All rows of sets one after the other.
struct PackedSets {
  std::vector<uint32_t> rows;
  std::vector<float> values;
  explicit PackedSets(std::span<const Row> sets, uint32_t columns);
  tenon_row_sets view() const { return {rows.size(), rows.data(), values.data()}; }
};

}  // namespace tenon::cost
