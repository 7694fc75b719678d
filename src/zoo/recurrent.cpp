// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "zoo/families.h"
#include "zoo/layers.h"

namespace tenon::zoo {
namespace {

constexpr int64_t kWords = 10000;
constexpr int64_t kWidth = 650;
constexpr int64_t kLayers = 2;

struct LstmOut {
  Tensor y, h, c;
};

// x: [tokens, batch, width], states: [1, batch, width].
LstmOut lstm(ModelBuilder& m, const std::string& name, const Tensor& x, const Tensor& h,
             const Tensor& c) {
  const double deviation = 1 / std::sqrt(static_cast<double>(kWidth));
  const Tensor w = m.weight(name + ".weight_ih", {1, 4 * kWidth, x.shape[2]}, deviation);
  const Tensor r = m.weight(name + ".weight_hh", {1, 4 * kWidth, kWidth}, deviation);
  const Tensor b = m.spread(name + ".bias", {1, 8 * kWidth}, 0, 0.1);
  const int64_t tokens = x.shape[0];
  const int64_t batch = x.shape[1];
  const std::vector<Tensor> out =
      m.nodes("LSTM", name, {x, w, r, b, Tensor{}, h, c},
              {{tokens, 1, batch, kWidth}, h.shape, c.shape}, {{"hidden_size", kWidth}});
  const Tensor y =
      m.node("Squeeze", name, {out[0], m.ints(name + ".axes", {1})}, {tokens, batch, kWidth});
  return {y, out[1], out[2]};
}

}  // namespace

void build_lstm_lm(ModelBuilder& m, const Options& options) {
  const Shape state = {kLayers, options.batch, kWidth};
  const Shape one_state = {1, options.batch, kWidth};
  const Tensor words = m.input("words", Element::kInt64, {options.tokens, options.batch});
  const Tensor h0 = m.input("h0", Element::kFloat, state);
  const Tensor c0 = m.input("c0", Element::kFloat, state);
  const Tensor table = m.weight("encoder.weight", {kWords, kWidth}, 1);
  Tensor x = m.node("Gather", "encoder", {table, words}, {options.tokens, options.batch, kWidth});
  const auto hs = m.nodes("Split", "h0", {h0}, {one_state, one_state}, {{"axis", int64_t{0}}});
  const auto cs = m.nodes("Split", "c0", {c0}, {one_state, one_state}, {{"axis", int64_t{0}}});
  std::vector<Tensor> h;
  std::vector<Tensor> c;
  for (size_t layer = 0; layer < kLayers; ++layer) {
    const LstmOut out = lstm(m, fmt::format("rnn.{}", layer), x, hs[layer], cs[layer]);
    x = out.y;
    h.push_back(out.h);
    c.push_back(out.c);
  }
  m.output(dense(m, "decoder", x, kWords, 4), "logits");
  m.output(concat(m, "hn", h, 0), "hn");
  m.output(concat(m, "cn", c, 0), "cn");
}

}  // namespace tenon::zoo
