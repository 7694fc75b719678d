// SPDX-License-Identifier: Apache-2.0
#include "neural/attention_onnx.h"

#include <algorithm>
#include <cmath>

#include "support/check.h"
#include "zoo/layers.h"
#include "zoo/model_builder.h"

namespace tenon::neural {

namespace {

using cost::AttentionPart;
using zoo::Shape;
using zoo::Tensor;

constexpr int kOpset = 17;
constexpr double kFar = 1e9;  // below any score, so that its exponential is 0

class Writer {
 public:
  Writer(const cost::AttentionNetwork& network, uint32_t output, const RowsForm& form)
      : net_(network),
        parts_(cost::parts_of(network.sizes)),
        output_(output),
        form_(form),
        rows_(form.batch * form.rows),
        width_(network.sizes.width),
        m_("attention", kOpset, 0) {}

  std::string write() {
    Tensor x = m_.input("x", zoo::Element::kFloat, {rows_, int64_t{net_.sizes.columns}});
    present_ = m_.input("present", zoo::Element::kFloat, {form_.batch, 1, 1, form_.rows});
    x = relu(layer(x, AttentionPart::kIn));
    x = relu(layer(x, AttentionPart::kUp));
    x = sum("mix.sum", x, layer(attention(x), AttentionPart::kMix));
    x = sum("first.sum", x, relu(layer(x, AttentionPart::kFirst)));
    x = sum("second.sum", x, relu(layer(x, AttentionPart::kSecond)));
    m_.output(score(x), "score");
    return m_.bytes();
  }

 private:
  const cost::NetworkPart& part(AttentionPart p) const { return parts_[static_cast<size_t>(p)]; }

  Tensor dense(const std::string& name, const Tensor& in, const Tensor& weights,
               const Tensor& bias) {
    const Shape shape{in.shape[0], weights.shape[1]};
    return m_.node("Add", name, {m_.node("MatMul", name, {in, weights}, shape), bias}, shape);
  }
  Tensor layer(const Tensor& in, AttentionPart weights) {
    const auto& p = part(weights);
    const auto w = net_.part(weights);
    const auto b = net_.part(static_cast<AttentionPart>(static_cast<uint8_t>(weights) + 1));
    const std::string name(p.name);
    return dense(name, in, m_.floats(name + ".weights", {p.rows, p.columns}, {w.begin(), w.end()}),
                 m_.floats(name + ".bias", {p.columns}, {b.begin(), b.end()}));
  }
  Tensor relu(const Tensor& a) { return m_.node("Relu", a.name + ".relu", {a}, a.shape); }
  Tensor sum(const std::string& name, const Tensor& a, const Tensor& b) {
    return zoo::binary(m_, "Add", name, a, b);
  }

  // Of q, k and v in turn; the scale of scores is inside q.
  std::vector<float> scaled(AttentionPart p) const {
    const auto w = net_.part(p);
    std::vector<float> out(w.begin(), w.end());
    const auto width = static_cast<size_t>(width_);
    const float scale = 1 / std::sqrt(static_cast<float>(width_ / net_.sizes.heads));
    for (size_t i = 0; i < out.size(); ++i) {
      if (i % (3 * width) < width) out[i] *= scale;
    }
    return out;
  }

  Tensor attention(const Tensor& x) {
    const int64_t batch = form_.batch, heads = net_.sizes.heads, rows = form_.rows;
    const Tensor all =
        dense("ask", x, m_.floats("ask.weights", {width_, 3 * width_}, scaled(AttentionPart::kAsk)),
              m_.floats("ask.bias", {3 * width_}, scaled(AttentionPart::kAskBias)));
    const Shape each{rows_, width_};
    const auto asked =
        m_.nodes("Split", "ask.parts", {all, m_.ints("ask.split", {width_, width_, width_})},
                 {each, each, each}, {{"axis", int64_t{1}}});
    const auto turned = [&](size_t which, const std::string& name, const Shape& perm) {
      const Tensor parted =
          zoo::reshape(m_, name + ".heads", asked[which], {batch, rows, heads, width_ / heads});
      return zoo::transpose(m_, name, parted, perm);
    };
    const Tensor q = turned(0, "q", {0, 2, 1, 3}), k = turned(1, "k", {0, 2, 3, 1}),
                 v = turned(2, "v", {0, 2, 1, 3});
    const Tensor far = m_.scalar("far", kFar);
    const Tensor mask =
        zoo::binary(m_, "Sub", "mask", zoo::binary(m_, "Mul", "mask.far", present_, far), far);
    const Tensor scores = m_.node("MatMul", "scores", {q, k}, {batch, heads, rows, rows});
    const Tensor masked = m_.node("Add", "masked", {scores, mask}, scores.shape);
    const Tensor share =
        m_.node("Softmax", "share", {masked}, masked.shape, {{"axis", int64_t{-1}}});
    const Tensor seen = m_.node("MatMul", "seen", {share, v}, q.shape);
    return zoo::reshape(m_, "seen.flat", zoo::transpose(m_, "seen.turned", seen, {0, 2, 1, 3}),
                        {rows_, width_});
  }

  Tensor score(const Tensor& x) {
    const int64_t half = width_ / 2;
    const auto own = [&](AttentionPart p, const std::string& name, const Shape& shape) {
      const auto w = net_.part(p, output_);
      return m_.floats(name, shape, {w.begin(), w.end()});
    };
    const Tensor last =
        relu(dense("head", x, own(AttentionPart::kHead, "head.weights", {width_, half}),
                   own(AttentionPart::kHeadBias, "head.bias", {half})));
    const Tensor worth =
        dense("worth", last, own(AttentionPart::kScore, "worth.weights", {half, 1}),
              own(AttentionPart::kScoreBias, "worth.bias", {1}));
    const Shape shape{form_.batch, form_.rows};
    const Tensor counted =
        zoo::binary(m_, "Mul", "counted", zoo::reshape(m_, "worth.sets", worth, shape),
                    zoo::reshape(m_, "present.sets", present_, shape));
    return m_.node("ReduceSum", "sum", {counted, m_.ints("sum.axes", {1})}, {form_.batch},
                   {{"keepdims", int64_t{0}}});
  }

  const cost::AttentionNetwork& net_;
  std::array<cost::NetworkPart, cost::kAttentionParts> parts_;
  uint32_t output_;
  RowsForm form_;
  int64_t rows_, width_;
  zoo::ModelBuilder m_;
  Tensor present_;
};

}  // namespace

std::string attention_onnx(const cost::AttentionNetwork& network, uint32_t output,
                           const RowsForm& form) {
  cost::check_sizes(network.sizes);
  return Writer(network, output, form).write();
}

std::vector<std::vector<float>> row_inputs(std::span<const cost::Row* const> sets, int64_t columns,
                                           const RowsForm& form) {
  TENON_CHECK(std::ssize(sets) <= form.batch) << sets.size() << " sets";
  const auto rows = static_cast<size_t>(form.rows);
  std::vector<float> x(static_cast<size_t>(form.batch * form.rows * columns));
  std::vector<float> present(static_cast<size_t>(form.batch * form.rows));
  for (size_t i = 0; i < sets.size(); ++i) {
    const cost::Row& set = *sets[i];
    TENON_CHECK(set.rows() <= rows && int64_t{set.width} == columns) << set.rows() << " rows";
    std::copy(set.values.begin(), set.values.end(), x.begin() + std::ptrdiff_t(i * rows) * columns);
    std::fill_n(present.begin() + static_cast<std::ptrdiff_t>(i * rows), set.rows(), 1.0F);
  }
  return {std::move(x), std::move(present)};
}

}  // namespace tenon::neural
