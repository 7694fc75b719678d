// SPDX-License-Identifier: Apache-2.0
// TfIdfVectorizer on integers: how often each n-gram of a pool occurs in a row, with skips.
#include <algorithm>

#include "onnx/ops/emit.h"

namespace tenon::onnx {
namespace {

using ir::Expr;

// The n-grams of one length: where each is counted, and its tokens one after the other.
struct Grams {
  int64_t length = 1;
  std::vector<int64_t> columns, tokens;
};

struct Vectorizer {
  std::string mode;
  int64_t most_skipped = 0;
  int64_t columns = 0;
  std::vector<double> weights;  // by column
  std::vector<Grams> grams;     // those that are counted
};

Vectorizer read(const Convert& c) {
  Vectorizer v;
  v.mode = c.string_or("mode", "TF");
  v.most_skipped = c.int_or("max_skip_count", 0);
  const std::vector<int64_t> pool = c.ints_or("pool_int64s", {});
  const std::vector<int64_t> indexes = c.ints_or("ngram_indexes", {});
  std::vector<int64_t> starts = c.ints_or("ngram_counts", {});
  if (pool.empty()) {
    refuse("{}",
           c.has("pool_strings") ? "strings are out of scope" : "the pool of n-grams is empty");
  }
  for (const int64_t i : indexes) {
    v.columns = std::max(v.columns, i + 1);
    if (i < 0 || i > (1 << 26)) refuse("n-gram index {}", i);
  }
  v.weights.assign(static_cast<size_t>(v.columns), 1);
  const std::vector<double> weights = c.floats_or("weights", {});
  size_t gram = 0;  // counted over all lengths
  starts.push_back(static_cast<int64_t>(pool.size()));
  for (size_t n = 0; n + 1 < starts.size(); ++n) {
    Grams g{static_cast<int64_t>(n) + 1, {}, {}};
    const int64_t tokens = starts[n + 1] - starts[n];
    if (starts[n] < 0 || tokens < 0 || starts[n + 1] > static_cast<int64_t>(pool.size()) ||
        tokens % g.length != 0) {
      refuse("ngram_counts does not fit the pool");
    }
    g.tokens.assign(pool.begin() + starts[n], pool.begin() + starts[n + 1]);
    for (int64_t k = 0; k < tokens / g.length; ++k, ++gram) {
      if (gram >= indexes.size()) refuse("there are fewer ngram_indexes than n-grams");
      g.columns.push_back(indexes[gram]);
      if (gram < weights.size()) v.weights[static_cast<size_t>(indexes[gram])] = weights[gram];
    }
    const bool wanted =
        g.length >= c.int_or("min_gram_length", 1) && g.length <= c.int_or("max_gram_length", 1);
    if (wanted && !g.columns.empty()) v.grams.push_back(std::move(g));
  }
  return v;
}

// counts[row, k]: how often n-gram k occurs in the row, its tokens 1 .. most_skipped+1 positions apart.
ValueId count(Convert& c, const Vectorizer& v, const Grams& g, ValueId rows) {
  graph::GraphBuilder& b = c.b();
  const Shape s = b.shape(rows);
  const auto kinds = static_cast<int64_t>(g.columns.size());
  // Skipping means nothing to single tokens: they would be counted once for each distance.
  const int64_t distances = g.length == 1 ? 1 : v.most_skipped + 1;
  if (s[1] < g.length) {
    return filled(c, ir::kF32, {s[0], kinds}, 0.0);
  }
  const ValueId pool = b.reshape(b.ints(g.tokens), {kinds, g.length});
  return b.compute("ngrams", {rows, pool}, [&](te::Builder& t, Tensors in) {
    return t.reduce(
        "ngrams", {s[0], kinds}, ir::BinaryOp::kAdd, {distances, s[1]}, [&](Axes i, Axes k) {
          const Expr distance = k[0] + 1;
          Expr hit = ir::lt(k[1] + distance * (g.length - 1), s[1]);
          for (int64_t n = 0; n < g.length; ++n) {
            const Expr at = ir::min(k[1] + distance * n, s[1] - 1);
            hit = ir::logical_and(
                hit, ir::eq(ir::load(in[0], {i[0], at}), ir::load(in[1], {i[1], Expr(n)})));
          }
          return ir::select(hit, ir::make_float(ir::kF32, 1), ir::zero_of(ir::kF32));
        });
  });
}

// Where column j of the result comes from in `counts`; -1: no n-gram counts there.
std::vector<int64_t> sources(const Vectorizer& v) {
  std::vector<int64_t> from(static_cast<size_t>(v.columns), -1);
  int64_t k = 0;
  for (const Grams& g : v.grams) {
    for (const int64_t column : g.columns) from[static_cast<size_t>(column)] = k++;
  }
  return from;
}

ValueId weigh(Convert& c, const Vectorizer& v, ValueId counts) {
  graph::GraphBuilder& b = c.b();
  ir::Array weights(ir::kF32, {v.columns});
  for (int64_t i = 0; i < v.columns; ++i) {
    weights.set_double(i, v.weights[static_cast<size_t>(i)]);
  }
  const Shape s = b.shape(counts);
  const std::vector<ValueId> inputs{counts, b.ints(sources(v)), b.constant(std::move(weights))};
  return b.compute("tfidf", inputs, [&](te::Builder& t, Tensors in) {
    return t.compute("tfidf", {s[0], v.columns}, [&](Axes i) {
      const Expr from = ir::load(in[1], {i[1]});
      const Expr zero = ir::zero_of(ir::kF32);
      const Expr n =
          ir::select(ir::lt(from, 0), zero, ir::load(in[0], {i[0], clamped(from, s[1])}));
      const Expr weight = ir::load(in[2], {i[1]});
      if (v.mode == "TF") return n;
      return v.mode == "TFIDF" ? n * weight : ir::select(ir::lt(zero, n), weight, zero);
    });
  });
}

std::vector<ValueId> convert_tfidf(Convert& c) {
  const Vectorizer v = read(c);
  graph::GraphBuilder& b = c.b();
  if (v.mode != "TF" && v.mode != "IDF" && v.mode != "TFIDF") {
    refuse("mode '{}' is not known", v.mode);
  }
  Shape shape = c.shape(0);
  if (shape.empty() || shape.size() > 2 || is_empty(c, c.input(0)) || v.grams.empty() ||
      v.most_skipped < 0) {
    refuse("the input must have rank 1 or 2 and elements, and there must be n-grams to count");
  }
  const ValueId rows =
      b.reshape(b.cast(c.input(0), ir::kI64), {shape.size() == 2 ? shape[0] : 1, shape.back()});
  std::vector<ValueId> counts;
  for (const Grams& g : v.grams) counts.push_back(count(c, v, g, rows));
  const ValueId all = join(b, counts, 1);
  shape.back() = v.columns;
  return {b.reshape(weigh(c, v, all), shape)};
}

constexpr Row kTextRows[] = {
    {"", "TfIdfVectorizer", 9, convert_tfidf},
};

}  // namespace

std::span<const Row> rows_text() { return kTextRows; }

}  // namespace tenon::onnx
