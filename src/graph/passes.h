// SPDX-License-Identifier: Apache-2.0
// Rewrites of a model graph that keep its answer. The list is a table; a runner applies it in order.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/define.h"

namespace tenon::graph {

// Constants that were put side by side, each time they are asked for again: a model is optimised at several sizes with
// the same weights. Threads may share it.
class JoinedConstants {
 public:
  Data find_or(const std::vector<Data>& parts, const Shape& shape,
               const std::function<Data()>& join);

 private:
  std::mutex lock_;
  std::map<std::pair<std::vector<Data>, Shape>, Data> known_;
};

struct PassContext {
  Evaluator evaluate = interpreter();  // for constants too large to interpret; give a compiled one
  std::shared_ptr<JoinedConstants> joined = nullptr;  // null: nothing is remembered
};

struct Pass {
  std::string_view name;
  std::string_view what;
  void (*run)(Graph& g, const PassContext& context);
};
std::span<const Pass> passes();

struct OptimizeOptions {
  std::vector<std::string> skip;  // names of passes
  bool verify = false;            // after each pass
  std::function<void(std::string_view pass, const Graph&, double seconds)> watch;
};
void optimize(Graph& g, const PassContext& context = {}, const OptimizeOptions& options = {});

// Turns of all loops of a dag, which is what evaluating it costs.
double points(const te::ComputeDag& dag);

// The passes. Each leaves a graph that compact() has cleaned.
void fold_constants(Graph& g, const PassContext& context);
// The same, without what integer_products looks for: 8-bit weights that are made real numbers.
void fold_but_weights(Graph& g, const PassContext& context);
// Sums of products of dequantised 8-bit numbers become sums of integers.
void integer_products(Graph& g, const PassContext& context);
// Sums of dequantised images over their positions become sums of integers.
void integer_sums(Graph& g, const PassContext& context);
// Channels of a convolution of 8-bit numbers become a multiple of four, by zeros.
void pad_channels(Graph& g, const PassContext& context);
// A tensor that is quantised in i8 and only dequantised again is stored in u8.
void store_unsigned(Graph& g, const PassContext& context);
// move(dequantize(x)) -> dequantize(move(x)), and the same for maxima; quantize(dequantize(x)) -> x.
void delay_dequantize(Graph& g, const PassContext& context);
// quantize(f(dequantize(x))) of one 8-bit tensor x, element by element -> table[x].
void byte_tables(Graph& g, const PassContext& context);
// Each reader of a dequantised tensor dequantises it itself, so that it reads 8 bits.
void spread_dequantize(Graph& g, const PassContext& context);
// conv(pad(x), w) with zeros around positions  ->  conv(x, w), padded by itself.
void fold_padding(Graph& g, const PassContext& context);
// conv(x, w) * s + t with constants per output channel  ->  conv(x, w * s) + t; matmul likewise.
void fold_scales(Graph& g, const PassContext& context);
// Transposes and reshapes that cancel, compose, or move nothing.
void simplify_moves(Graph& g, const PassContext& context);
// reshape(slice(x)) as one move of x where it can be written without division.
void compose_moves(Graph& g, const PassContext& context);
// (x * c) y -> (x y) * c for matrix products of activations.
void delay_scales(Graph& g, const PassContext& context);
// Projections of one tensor that feed attention become one product: x Wq, x Wk, x Wv -> slices of x [Wq Wk Wv].
void merge_products(Graph& g, const PassContext& context);
// conv(x * s[c], w) -> conv(x, w * s[c]) for pointwise convolutions with few weights.
void scale_weights(Graph& g, const PassContext& context);
// add(reshape(y), x) -> reshape(add(y, reshape(x))) behind matrix products, where only dimensions of one element differ.
void sink_reshapes(Graph& g, const PassContext& context);
// conv_transpose(x, w) -> move(conv(x, w')) where all phases together fill vectors and the channels of the output do not.
void widen_transposed(Graph& g, const PassContext& context);
// Equal nodes on equal inputs become one.
void merge_equal(Graph& g, const PassContext& context);

}  // namespace tenon::graph
