// SPDX-License-Identifier: Apache-2.0
// How an operator is imported: one function per (domain, op, since version), in tables, one per family file.
//
//   std::vector<ValueId> convert_elu(Convert& c) {
//     const double alpha = c.float_or("alpha", 1.0);
//     return {c.b().elementwise("elu", {c.input(0)}, [&](std::span<const ir::Expr> x) { ... })};
//   }
//   constexpr Row kRows[] = {{"", "Elu", 1, convert_elu}, ...};
//
// The row with the largest `since` that is not above the model's opset is taken. Opsets 1 to 6 occur too (the
// test suite has some 140 such models): what meant something else there (`broadcast` and `axis` of Add before 7)
// is handled or Unsupported.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/builder.h"
#include "onnx/sequences.h"
#include "support/check.h"

namespace tenon::onnx {

using graph::Shape;
using graph::ValueId;

// A node that cannot be imported, with the reason as a sentence and perhaps a hint.
class Unsupported : public UserError {
 public:
  explicit Unsupported(const std::string& reason, const std::string& hint = "")
      : UserError(reason, hint), reason_(reason), hint_(hint) {}
  const std::string& reason() const { return reason_; }
  const std::string& hint() const { return hint_; }

 private:
  std::string reason_, hint_;
};

// The outputs of a subgraph depend on a node that is not imported (and that is reported already).
struct Blocked {};

// One node of the model while it is converted. Attributes of the wrong type are Unsupported.
class Convert {
 public:
  virtual ~Convert() = default;
  graph::GraphBuilder& b() { return b_; }

  virtual const std::string& op() const = 0;
  virtual int64_t opset() const = 0;      // of the node's domain
  virtual size_t num_inputs() const = 0;  // positions given, absent ones included
  virtual size_t num_outputs() const = 0;
  virtual bool has_input(size_t i) const = 0;
  virtual bool has_output(size_t i) const = 0;
  virtual bool is_read(size_t output) const { return has_output(output); }  // by anybody
  virtual ValueId input(size_t i) const = 0;  // Unsupported if absent, or no tensor
  // A tensor or a sequence, or one that is known behind a loop only.
  virtual ValueId any_input(size_t i) const { return input(i); }

  // Sequences that the values of the model are; add() with a value of make_sequence.
  virtual Sequences& sequences() { return own_sequences_; }
  ValueId make_sequence(std::vector<Piece> pieces);

  virtual bool has(const std::string& attribute) const = 0;
  virtual int64_t int_or(const std::string& attribute, int64_t otherwise) const = 0;
  virtual double float_or(const std::string& attribute, double otherwise) const = 0;
  virtual std::string string_or(const std::string& attribute,
                                const std::string& otherwise) const = 0;
  virtual std::vector<int64_t> ints_or(const std::string& attribute,
                                       std::vector<int64_t> otherwise) const = 0;
  virtual std::vector<double> floats_or(const std::string& attribute,
                                        std::vector<double> otherwise) const = 0;
  virtual std::vector<std::string> strings_or(const std::string& attribute) const = 0;
  virtual std::optional<ir::Array> tensor(const std::string& attribute) const = 0;

  // Writes out a graph attribute (If, Loop, Scan) in place: `arguments` for its inputs, its outputs returned.
  // Names of the outer graph are visible inside.
  virtual std::vector<ValueId> subgraph(const std::string& attribute,
                                        const std::vector<ValueId>& arguments) = 0;

  // Does something that may turn out to be impossible. False: `fn` said so, or a node in it could not be imported; then
  // nothing of it is left.
  bool attempt(const std::function<bool()>& fn);

  // What to do where a value should be known now and is not (unknown.h).
  std::string hint_to_know(ValueId v) const;

  // The value of an input that must be known now: Unsupported with a hint otherwise.
  const ir::Array& constant(size_t i, std::string_view what);
  const ir::Array& known(ValueId v, std::string_view what);
  // The same of what decides how large the result is. Binding an image would make no sense, so the hint is another one but
  // for settings of few numbers.
  const ir::Array& decisive(size_t i, std::string_view what);
  std::vector<int64_t> constant_ints(size_t i, std::string_view what);
  double constant_scalar(size_t i, std::string_view what);

  const Shape& shape(size_t i) { return b_.shape(input(i)); }
  ir::DType dtype(size_t i) { return b_.dtype(input(i)); }
  int64_t rank(size_t i) { return static_cast<int64_t>(shape(i).size()); }
  // -rank..rank-1 to 0..rank-1; Unsupported outside.
  static int64_t axis(int64_t a, int64_t rank);

 protected:
  explicit Convert(graph::GraphBuilder& b) : b_(b) {}
  // Problems that nodes of subgraphs had; attempt() takes back those behind the first `count`.
  virtual size_t problem_count() const { return 0; }
  virtual void keep_problems(size_t /*count*/) {}

 private:
  std::vector<ValueId> read() const;

  graph::GraphBuilder& b_;
  Sequences own_sequences_;
};

using Converter = std::vector<ValueId> (*)(Convert&);  // one value per output that the op has

struct Row {
  std::string_view domain;  // "" is ai.onnx
  std::string_view op;
  int since;
  Converter convert;
};

// One per family file; table.cpp joins them.
std::span<const Row> rows_math();  // arithmetic, comparison, logic, Cast, Where, Max, Mean, ...
std::span<const Row> rows_activation();  // Relu, Clip, Gelu, Sigmoid, ...
std::span<const Row> rows_quantized();  // QuantizeLinear, DequantizeLinear, QLinear*, *Integer, ...
std::span<const Row> rows_quantized_ms();  // com.microsoft: QLinearAdd, QLinearConcat, ...
std::span<const Row> rows_shape();         // Shape, Reshape, Transpose, DepthToSpace, ...
std::span<const Row> rows_select();        // Slice, Split, Trilu, Concat, Expand, Tile
std::span<const Row> rows_pad();           // Pad, CenterCropPad
std::span<const Row> rows_index();         // Gather*, OneHot, TopK, ArgMax, CumSum
std::span<const Row> rows_scatter();       // Scatter*
std::span<const Row> rows_counted();       // NonZero, Compress, Unique
std::span<const Row>
rows_nn();  // Conv, ConvTranspose, pooling, LRN, Resize, Upsample, RoiAlign, ...
std::span<const Row>
rows_norm();  // BatchNormalization, InstanceNormalization, LayerNormalization, ...
std::span<const Row> rows_linear();     // MatMul, Gemm, Einsum, Det
std::span<const Row> rows_attention();  // Attention, RotaryEmbedding
std::span<const Row> rows_reduce();     // Reduce*, Softmax, LogSoftmax, Hardmax
std::span<const Row> rows_recurrent();  // LSTM, GRU, RNN
std::span<const Row> rows_control();    // If, Identity, Constant, Dropout
std::span<const Row> rows_loop();       // Loop, Scan
std::span<const Row> rows_sequence();  // SequenceConstruct, SplitToSequence, ConcatFromSequence, ..
std::span<const Row> rows_loss();      // NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss
std::span<const Row> rows_detect();    // NonMaxSuppression, MaxUnpool, and other host-side work
std::span<const Row> rows_signal();    // DFT, windows, MelWeightMatrix, STFT
std::span<const Row> rows_text();      // TfIdfVectorizer

}  // namespace tenon::onnx
