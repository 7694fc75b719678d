// SPDX-License-Identifier: Apache-2.0
#include "cost/models/attention_network.h"

#include <algorithm>
#include <cmath>

#include "support/check.h"
#include "support/rng.h"

namespace tenon::cost {

namespace {

using Part = AttentionPart;
using Numbers = std::vector<float>;

size_t number(Part p) { return static_cast<size_t>(p); }

void relu(Numbers& v) {
  for (float& x : v) x = std::max(x, 0.0F);
}

void add(const Numbers& from, Numbers& to) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

// in * weights + bias, for each row of `in`.
Numbers dense(std::span<const float> in, std::span<const float> weights,
              std::span<const float> bias) {
  const size_t to = bias.size(), from = weights.size() / to;
  Numbers out(in.size() / from * to);
  for (size_t r = 0; r < in.size() / from; ++r) {
    float* sums = out.data() + r * to;
    std::copy(bias.begin(), bias.end(), sums);
    for (size_t i = 0; i < from; ++i) {
      const float x = in[r * from + i];
      const float* row = weights.data() + i * to;
      for (size_t j = 0; j < to; ++j) sums[j] += x * row[j];
    }
  }
  return out;
}

void softmax(std::span<float> v) {
  const float most = *std::max_element(v.begin(), v.end());
  float sum = 0;
  for (float& x : v) {
    x = std::exp(x - most);
    sum += x;
  }
  for (float& x : v) x /= sum;
}

class PlainScorer : public RowsScorer {
 public:
  explicit PlainScorer(const AttentionNetwork& network) : net_(network) {
    check_sizes(net_.sizes);
    TENON_CHECK(net_.weights.size() == weights_of(net_.sizes)) << net_.weights.size();
  }

  std::vector<float> score(std::span<const Row> sets, uint32_t output) const override {
    TENON_CHECK(output < net_.sizes.outputs) << "output " << output;
    std::vector<float> out;
    for (const Row& s : sets) out.push_back(score_one(s, output));
    return out;
  }

 private:
  Numbers layer(std::span<const float> in, Part weights, Part bias) const {
    return dense(in, net_.part(weights), net_.part(bias));
  }

  // What the rows see of each other: of one head, in its columns of `out`.
  void attend(const Numbers& asked, size_t rows, size_t head, Numbers& out) const {
    const size_t width = net_.sizes.width, depth = width / net_.sizes.heads, first = head * depth;
    const float scale = 1 / std::sqrt(static_cast<float>(depth));
    Numbers share(rows);
    for (size_t i = 0; i < rows; ++i) {
      const float* q = asked.data() + i * 3 * width + first;
      for (size_t j = 0; j < rows; ++j) {
        const float* k = asked.data() + (j * 3 + 1) * width + first;
        float sum = 0;
        for (size_t d = 0; d < depth; ++d) sum += q[d] * k[d];
        share[j] = sum * scale;
      }
      softmax(share);
      float* to = out.data() + i * width + first;
      for (size_t j = 0; j < rows; ++j) {
        const float* v = asked.data() + (j * 3 + 2) * width + first;
        for (size_t d = 0; d < depth; ++d) to[d] += share[j] * v[d];
      }
    }
  }

  float score_one(const Row& set, uint32_t output) const {
    const size_t rows = set.rows();
    TENON_CHECK(set.width == net_.sizes.columns && rows > 0) << rows << " rows of " << set.width;
    Numbers x = layer(set.values, Part::kIn, Part::kInBias);
    relu(x);
    x = layer(x, Part::kUp, Part::kUpBias);
    relu(x);
    const Numbers asked = layer(x, Part::kAsk, Part::kAskBias);
    Numbers seen(x.size());
    for (size_t h = 0; h < net_.sizes.heads; ++h) attend(asked, rows, h, seen);
    add(layer(seen, Part::kMix, Part::kMixBias), x);
    for (const auto& [weights, bias] :
         {std::pair(Part::kFirst, Part::kFirstBias), std::pair(Part::kSecond, Part::kSecondBias)}) {
      Numbers more = layer(x, weights, bias);
      relu(more);
      add(more, x);
    }
    Numbers last = dense(x, net_.part(Part::kHead, output), net_.part(Part::kHeadBias, output));
    relu(last);
    const auto worth =
        dense(last, net_.part(Part::kScore, output), net_.part(Part::kScoreBias, output));
    float score = 0;
    for (const float w : worth) score += w;
    return score;
  }

  AttentionNetwork net_;
};

void fill(Numbers& weights, const NetworkPart& part, double radius, Rng& rng) {
  for (size_t i = part.first; i < part.end(); ++i) {
    weights[i] = static_cast<float>(radius * (2 * rng.unit() - 1));
  }
}

}  // namespace

std::array<NetworkPart, kAttentionParts> parts_of(const tenon_attention_sizes& sizes) {
  const int64_t columns = sizes.columns, width = sizes.width, outputs = sizes.outputs,
                half = width / 2;
  return in_a_row<kAttentionParts>({{{"in", columns, width},
                                     {"in.bias", 1, width},
                                     {"up", width, width},
                                     {"up.bias", 1, width},
                                     {"ask", width, 3 * width},
                                     {"ask.bias", 1, 3 * width},
                                     {"mix", width, width},
                                     {"mix.bias", 1, width},
                                     {"first", width, width},
                                     {"first.bias", 1, width},
                                     {"second", width, width},
                                     {"second.bias", 1, width},
                                     {"head", outputs * width, half},
                                     {"head.bias", outputs, half},
                                     {"score", outputs, half},
                                     {"score.bias", outputs, 1}}});
}

size_t weights_of(const tenon_attention_sizes& sizes) { return parts_of(sizes).back().end(); }

void check_sizes(const tenon_attention_sizes& s) {
  TENON_CHECK(s.columns > 0 && s.outputs > 0 && s.heads > 0 && s.width > 0 &&
              s.width % s.heads == 0 && s.width % 2 == 0)
      << s.columns << " columns, width " << s.width << ", " << s.heads << " heads, " << s.outputs
      << " outputs";
}

std::span<const float> AttentionNetwork::part(AttentionPart which) const {
  const NetworkPart p = parts_of(sizes)[number(which)];
  return std::span(weights).subspan(p.first, p.size());
}

std::span<const float> AttentionNetwork::part(AttentionPart which, uint32_t output) const {
  const auto all = part(which);
  const size_t each = all.size() / sizes.outputs;
  return all.subspan(output * each, each);
}

AttentionNetwork fresh_attention_network(const tenon_attention_sizes& sizes, uint64_t seed) {
  check_sizes(sizes);
  AttentionNetwork net{sizes, Numbers(weights_of(sizes))};
  Rng rng(seed);
  const auto parts = parts_of(sizes);
  const double width = sizes.width;
  const auto layer = [&](Part weights, double inputs) {
    fill(net.weights, parts[number(weights)], 1 / std::sqrt(inputs), rng);
    if (weights == Part::kMix) return;  // its bias is 0, as those of q, k and v are
    fill(net.weights, parts[number(weights) + 1], 1 / std::sqrt(inputs), rng);
  };
  layer(Part::kIn, sizes.columns);
  layer(Part::kUp, width);
  fill(net.weights, parts[number(Part::kAsk)], std::sqrt(6 / (4 * width)), rng);  // Xavier's
  for (const Part p : {Part::kMix, Part::kFirst, Part::kSecond, Part::kHead}) layer(p, width);
  layer(Part::kScore, width / 2);
  return net;
}

std::unique_ptr<RowsScorer> plain_rows_scorer(const AttentionNetwork& network, Keep) {
  return std::make_unique<PlainScorer>(network);
}

}  // namespace tenon::cost
