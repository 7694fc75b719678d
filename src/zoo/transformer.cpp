// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <numeric>

#include "zoo/attention.h"
#include "zoo/families.h"
#include "zoo/layers.h"

namespace tenon::zoo {
namespace {

struct Bert {
  int64_t layers, width, heads;
};

constexpr double kBertEpsilon = 1e-12;
constexpr double kVitEpsilon = 1e-6;

Tensor look_up(ModelBuilder& m, const std::string& name, int64_t rows, int64_t width,
               const Tensor& ids) {
  const Tensor table = m.weight(name + ".weight", {rows, width}, 1);
  Shape shape = ids.shape;
  shape.push_back(width);
  return m.node("Gather", name, {table, ids}, shape);
}

Tensor bert_embeddings(ModelBuilder& m, const Tensor& ids, const Tensor& types, int64_t width) {
  const std::string name = "embeddings";
  const int64_t tokens = ids.shape[1];
  std::vector<int64_t> numbers(static_cast<size_t>(tokens));
  std::iota(numbers.begin(), numbers.end(), 0);
  Tensor positions = m.ints(name + ".position_ids", numbers);
  Tensor x = look_up(m, name + ".word_embeddings", 30522, width, ids);
  x = binary(m, "Add", name + ".types", x,
             look_up(m, name + ".token_type_embeddings", 2, width, types));
  x = binary(m, "Add", name + ".positions", x,
             look_up(m, name + ".position_embeddings", 512, width, positions));
  return layer_norm(m, name + ".LayerNorm", x, kBertEpsilon);
}

// 1 -> 0 and 0 -> a large negative number that softmax turns into nothing.
Tensor bert_mask(ModelBuilder& m, const Tensor& mask) {
  const Shape shape = {mask.shape[0], 1, 1, mask.shape[1]};
  Tensor x = m.node("Unsqueeze", "mask", {mask, m.ints("mask.axes", {1, 2})}, shape);
  x = m.node("Cast", "mask", {x}, shape, {{"to", int64_t{1}}});
  x = m.node("Sub", "mask", {m.scalar("mask.one", 1), x}, shape);
  return binary(m, "Mul", "mask", x, m.scalar("mask.lowest", -10000));
}

Tensor bert_layer(ModelBuilder& m, const std::string& name, const Tensor& x, const Tensor& mask,
                  const Bert& bert) {
  const int64_t batch = x.shape[0];
  const int64_t tokens = x.shape[1];
  const Shape split = {batch, tokens, bert.heads, bert.width / bert.heads};
  const auto project = [&](const std::string& part, const Shape& perm) {
    const std::string full = name + ".attention.self." + part;
    const Tensor y = dense(m, full, x, bert.width);
    return transpose(m, full, reshape(m, full, y, split), perm);
  };
  const Tensor q = project("query", {0, 2, 1, 3});
  const Tensor k = project("key", {0, 2, 3, 1});
  const Tensor v = project("value", {0, 2, 1, 3});
  Tensor y = attend(m, name + ".attention.self", q, k, v, mask);
  y = dense(m, name + ".attention.output.dense", y, bert.width);
  y = binary(m, "Add", name + ".attention.output", y, x);
  y = layer_norm(m, name + ".attention.output.LayerNorm", y, kBertEpsilon);
  Tensor z = dense(m, name + ".intermediate.dense", y, 4 * bert.width, kReluGain);
  z = gelu(m, name + ".intermediate", z);
  z = dense(m, name + ".output.dense", z, bert.width);
  z = binary(m, "Add", name + ".output", z, y);
  return layer_norm(m, name + ".output.LayerNorm", z, kBertEpsilon);
}

void build_bert(ModelBuilder& m, const Options& options, const Bert& bert) {
  const Shape shape = {options.batch, options.tokens};
  const Tensor ids = m.input("input_ids", Element::kInt64, shape);
  const Tensor attention = m.input("attention_mask", Element::kInt64, shape);
  const Tensor types = m.input("token_type_ids", Element::kInt64, shape);
  Tensor x = bert_embeddings(m, ids, types, bert.width);
  const Tensor mask = bert_mask(m, attention);
  for (int64_t i = 0; i < bert.layers; ++i) {
    x = bert_layer(m, fmt::format("encoder.layer.{}", i), x, mask, bert);
  }
  const Tensor first = select(m, "pooler", x, 1, 0);
  const Tensor pooled = unary(m, "Tanh", "pooler", linear(m, "pooler.dense", first, bert.width));
  m.output(x, "last_hidden_state");
  m.output(pooled, "pooler_output");
}

// q, k and v come from one product, as torch.nn.MultiheadAttention has it.
Tensor vit_attention(ModelBuilder& m, const std::string& name, const Tensor& x, int64_t heads) {
  const int64_t batch = x.shape[0];
  const int64_t tokens = x.shape[1];
  const int64_t width = x.shape[2];
  Tensor all = dense(m, name + ".in_proj", x, 3 * width);
  all = reshape(m, name + ".in_proj", all, {batch, tokens, 3, heads, width / heads});
  all = transpose(m, name + ".in_proj", all, {2, 0, 3, 1, 4});
  const Tensor q = select(m, name + ".q", all, 0, 0);
  const Tensor k = transpose(m, name + ".k", select(m, name + ".k", all, 0, 1), {0, 1, 3, 2});
  const Tensor v = select(m, name + ".v", all, 0, 2);
  return dense(m, name + ".out_proj", attend(m, name, q, k, v, {}), width);
}

Tensor vit_layer(ModelBuilder& m, const std::string& name, const Tensor& x, int64_t heads,
                 int64_t hidden) {
  Tensor y = layer_norm(m, name + ".ln_1", x, kVitEpsilon);
  y = binary(m, "Add", name + ".attention", vit_attention(m, name + ".self_attention", y, heads),
             x);
  Tensor z = layer_norm(m, name + ".ln_2", y, kVitEpsilon);
  z = gelu(m, name + ".mlp", dense(m, name + ".mlp.0", z, hidden, kReluGain));
  return binary(m, "Add", name, dense(m, name + ".mlp.3", z, x.shape[2]), y);
}

}  // namespace

void build_bert_tiny(ModelBuilder& m, const Options& options) {
  build_bert(m, options, {.layers = 2, .width = 128, .heads = 2});
}

void build_bert_base(ModelBuilder& m, const Options& options) {
  build_bert(m, options, {.layers = 12, .width = 768, .heads = 12});
}

void build_vit_b_16(ModelBuilder& m, const Options& options) {
  constexpr int64_t kPatch = 16;
  constexpr int64_t kWidth = 768;
  const int64_t patches = (options.image / kPatch) * (options.image / kPatch);
  Tensor x = m.input("input", Element::kFloat, {options.batch, 3, options.image, options.image});
  ConvSpec patch = square(kWidth, kPatch, kPatch);
  patch.pad = {0, 0};
  patch.bias = true;
  patch.gain = kLinearGain;
  x = reshape(m, "conv_proj", conv(m, "conv_proj", x, patch), {options.batch, kWidth, patches});
  x = transpose(m, "conv_proj", x, {0, 2, 1});
  const Shape one_token = {options.batch, 1, kWidth};
  Tensor token = m.weight("class_token", {1, 1, kWidth}, 1);
  token =
      m.node("Expand", "class_token", {token, m.ints("class_token.shape", one_token)}, one_token);
  x = concat(m, "tokens", {token, x}, 1);
  x = binary(m, "Add", "encoder.pos_embedding", x,
             m.weight("encoder.pos_embedding", {1, patches + 1, kWidth}, 0.5));
  for (int64_t i = 0; i < 12; ++i) {
    x = vit_layer(m, fmt::format("encoder.layers.{}", i), x, 12, 4 * kWidth);
  }
  x = layer_norm(m, "encoder.ln", x, kVitEpsilon);
  m.output(linear(m, "heads.head", select(m, "heads", x, 1, 0), 1000), "logits");
}

}  // namespace tenon::zoo
