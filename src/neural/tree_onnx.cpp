// SPDX-License-Identifier: Apache-2.0
#include "neural/tree_onnx.h"

#include <array>

#include "support/check.h"
#include "zoo/model_builder.h"

namespace tenon::neural {

namespace {

using cost::TreePartNumber;
using zoo::Shape;
using zoo::Tensor;

constexpr int kOpset = 17;
constexpr size_t kGates = 3;  // r, z, n

class Writer {
 public:
  Writer(const cost::TreeNetwork& network, const TreeForm& form)
      : net_(network),
        parts_(cost::parts_of(network.sizes)),
        form_(form),
        nodes_(form.batch * form.width),
        hidden_(network.sizes.hidden),
        m_("treegru", kOpset, 0) {}

  std::string write() {
    declare_inputs();
    embed_ = whole(cost::kEmbed), embed_bias_ = bias(cost::kEmbedBias);
    for (size_t g = 0; g < kGates; ++g) {
      node_[g] = gate(cost::kOfNode, g), node_bias_[g] = gate(cost::kOfNodeBias, g);
      below_[g] = gate(cost::kOfChildren, g), below_bias_[g] = gate(cost::kOfChildrenBias, g);
    }
    std::vector<Tensor> states(x_.size());  // [batch, width, hidden]
    Tensor sums = m_.floats("none", {nodes_, hidden_},
                            std::vector<float>(static_cast<size_t>(nodes_ * hidden_)));
    for (size_t d = x_.size(); d-- > 0;) {
      const std::string at = "depth" + std::to_string(d);
      states[d] =
          reshaped(at + ".state", state(at, x_[d], sums), {form_.batch, form_.width, hidden_});
      if (d == 0) break;
      const Tensor sum =
          m_.node("MatMul", at + ".sum", {children_[d - 1], states[d]}, states[d].shape);
      sums = reshaped(at + ".sums", sum, {nodes_, hidden_});
    }
    m_.output(score(slots(states)), "score");
    return m_.bytes();
  }

 private:
  void declare_inputs() {
    const auto input = [&](const std::string& name, const Shape& shape) {
      return m_.input(name, zoo::Element::kFloat, shape);
    };
    const int64_t depths = form_.depths, width = form_.width;
    for (int64_t d = 0; d < depths; ++d) {
      x_.push_back(input("x" + std::to_string(d), {nodes_, int64_t{net_.sizes.columns}}));
    }
    for (int64_t d = 0; d + 1 < depths; ++d) {
      children_.push_back(input("children" + std::to_string(d), {form_.batch, width, width}));
    }
    present_ = input("present", {form_.batch, depths * width, 1});
  }

  Tensor whole(TreePartNumber number) {
    const cost::NetworkPart& p = parts_[number];
    const auto w = net_.part(number);
    return m_.floats(std::string(p.name), {p.rows, p.columns}, {w.begin(), w.end()});
  }
  Tensor bias(TreePartNumber number) {
    const auto w = net_.part(number);
    return m_.floats(std::string(parts_[number].name), {parts_[number].columns},
                     {w.begin(), w.end()});
  }
  // A third of the columns.
  Tensor gate(TreePartNumber number, size_t which) {
    const cost::NetworkPart& p = parts_[number];
    const auto w = net_.part(number);
    const auto hidden = static_cast<size_t>(hidden_);
    std::vector<float> values;
    for (size_t r = 0; r < static_cast<size_t>(p.rows); ++r) {
      const auto row = w.subspan((kGates * r + which) * hidden, hidden);
      values.insert(values.end(), row.begin(), row.end());
    }
    const Shape shape = p.rows == 1 ? Shape{hidden_} : Shape{p.rows, hidden_};
    return m_.floats(std::string(p.name) + ".gate" + std::to_string(which), shape, values);
  }

  Tensor dense(const std::string& name, const Tensor& in, const Tensor& weight, const Tensor& b) {
    const Shape shape{in.shape[0], weight.shape[1]};
    return m_.node("Add", name, {m_.node("MatMul", name, {in, weight}, shape), b}, shape);
  }
  Tensor unary(const char* type, const std::string& name, const Tensor& a) {
    return m_.node(type, name, {a}, a.shape);
  }
  Tensor binary(const char* type, const std::string& name, const Tensor& a, const Tensor& b) {
    return m_.node(type, name, {a, b}, a.shape);
  }
  Tensor reshaped(const std::string& name, const Tensor& a, const Shape& shape) {
    return m_.node("Reshape", name, {a, m_.ints(name + ".shape", shape)}, shape);
  }

  // n + z * (sums - n)
  Tensor state(const std::string& at, const Tensor& columns, const Tensor& sums) {
    const Tensor e = unary("Sigmoid", at + ".e", dense(at + ".e", columns, embed_, embed_bias_));
    std::array<Tensor, kGates> own, below;
    for (size_t g = 0; g < kGates; ++g) {
      const std::string which = at + ".gate" + std::to_string(g);
      own[g] = dense(which + ".own", e, node_[g], node_bias_[g]);
      below[g] = dense(which + ".below", sums, below_[g], below_bias_[g]);
    }
    const auto opened = [&](size_t g, const std::string& name) {
      return unary("Sigmoid", name, binary("Add", name, own[g], below[g]));
    };
    const Tensor r = opened(0, at + ".r"), z = opened(1, at + ".z");
    const std::string name = at + ".n";
    const Tensor n =
        unary("Tanh", name, binary("Add", name, own[2], binary("Mul", name, r, below[2])));
    const Tensor far = binary("Mul", at + ".z", z, binary("Sub", at + ".n", sums, n));
    return binary("Add", at, n, far);
  }

  // [batch, slots * hidden]
  Tensor slots(const std::vector<Tensor>& states) {
    const int64_t batch = form_.batch, all = form_.depths * form_.width, slots = net_.sizes.slots;
    const Tensor state =
        m_.node("Concat", "states", states, {batch, all, hidden_}, {{"axis", int64_t{1}}});
    const Tensor flat = reshaped("flat", state, {batch * all, hidden_});
    const Tensor open = dense("share", flat, whole(cost::kSlots), bias(cost::kSlotsBias));
    const Tensor share = m_.node("Softmax", "share", {open}, open.shape, {{"axis", int64_t{-1}}});
    const Tensor counted =
        binary("Mul", "share", reshaped("shares", share, {batch, all, slots}), present_);
    const Tensor turned =
        m_.node("Transpose", "share", {counted}, {batch, slots, all}, {{"perm", Shape{0, 2, 1}}});
    const Tensor sums = m_.node("MatMul", "scatter", {turned, state}, {batch, slots, hidden_});
    return reshaped("scattered", sums, {batch, slots * hidden_});
  }

  Tensor score(const Tensor& slots) {
    const Tensor last =
        unary("Sigmoid", "head", dense("head", slots, whole(cost::kHead), bias(cost::kHeadBias)));
    const auto w = net_.part(cost::kScore);
    const Tensor weight = m_.floats("score.weight", {hidden_, 1}, {w.begin(), w.end()});
    const Tensor score = m_.node("MatMul", "score", {last, weight}, {form_.batch, 1});
    return reshaped("scores", score, {form_.batch});
  }

  const cost::TreeNetwork& net_;
  cost::TreeParts parts_;
  TreeForm form_;
  int64_t nodes_, hidden_;
  zoo::ModelBuilder m_;
  std::vector<Tensor> x_, children_;
  Tensor present_, embed_, embed_bias_;
  std::array<Tensor, kGates> node_, node_bias_, below_, below_bias_;
};

// Puts trees into the padded form.
class Filler {
 public:
  Filler(int64_t columns, const TreeForm& form)
      : columns_(columns), depths_(form.depths), width_(form.width) {
    const auto zeros = [&](int64_t n) { inputs_.emplace_back(static_cast<size_t>(n)); };
    for (int64_t d = 0; d < depths_; ++d) zeros(form.batch * width_ * columns);
    for (int64_t d = 0; d + 1 < depths_; ++d) zeros(form.batch * width_ * width_);
    zeros(form.batch * depths_ * width_);
  }

  void add(const cost::Row& row, int64_t tree) {
    struct Place {
      int64_t depth, slot;
    };
    std::vector<Place> places;
    std::vector<int64_t> taken(static_cast<size_t>(depths_));
    for (size_t n = 0; n < row.rows(); ++n) {
      const bool root = row.parent[n] < 0;
      const Place above = root ? Place{-1, 0} : places.at(static_cast<size_t>(row.parent[n]));
      const int64_t depth = above.depth + 1;
      TENON_CHECK(depth < depths_) << "a tree of more than " << depths_ << " levels";
      const int64_t slot = taken[static_cast<size_t>(depth)]++;
      TENON_CHECK(slot < width_) << "a tree of more than " << width_ << " nodes at one depth";
      places.push_back({depth, slot});
      const float* from = row.values.data() + n * row.width;
      float* x = at(depth, (tree * width_ + slot) * columns_);
      for (int64_t c = 0; c < columns_; ++c) x[c] = from[c];
      if (!root) {
        *at(depths_ + above.depth, (tree * width_ + above.slot) * width_ + slot) = 1;
      }
      *at(2 * depths_ - 1, (tree * depths_ + depth) * width_ + slot) = 1;
    }
  }

  std::vector<std::vector<float>> take() { return std::move(inputs_); }

 private:
  float* at(int64_t input, int64_t offset) {
    return inputs_[static_cast<size_t>(input)].data() + offset;
  }

  int64_t columns_, depths_, width_;
  std::vector<std::vector<float>> inputs_;
};

}  // namespace

std::string tree_onnx(const cost::TreeNetwork& network, const TreeForm& form) {
  return Writer(network, form).write();
}

std::vector<std::vector<float>> tree_inputs(std::span<const cost::Row> rows, int64_t columns,
                                            const TreeForm& form) {
  TENON_CHECK(std::ssize(rows) <= form.batch) << rows.size() << " rows";
  Filler filler(columns, form);
  for (size_t i = 0; i < rows.size(); ++i) filler.add(rows[i], static_cast<int64_t>(i));
  return filler.take();
}

}  // namespace tenon::neural
