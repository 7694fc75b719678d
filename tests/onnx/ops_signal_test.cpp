// SPDX-License-Identifier: Apache-2.0
// Transforms, n-grams and unpooling against sums written out.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "onnx/op_run.h"

namespace tenon::onnx {
namespace {

using testing::at;
using testing::difference;
using testing::filled_by;
using testing::OpRun;
using testing::random_array;
using testing::scalar;
using Place = std::vector<int64_t>;
using Complex = std::complex<double>;

// Element k of the transform of `length` points; points beyond those given are zero.
Complex transform(const std::vector<Complex>& points, int64_t length, int64_t k, bool inverse) {
  Complex sum = 0;
  for (int64_t n = 0; n < std::min(length, static_cast<int64_t>(points.size())); ++n) {
    const double turn =
        2 * std::numbers::pi * static_cast<double>(n * k) / static_cast<double>(length);
    sum += points[static_cast<size_t>(n)] * std::polar(1.0, inverse ? turn : -turn);
  }
  return inverse ? sum / static_cast<double>(length) : sum;
}

Complex read(const ir::Array& x, Place p) {
  p.back() = 0;
  const double re = at(x, p);
  if (x.shape().back() == 1) return re;
  p.back() = 1;
  return {re, at(x, p)};
}

TEST(Signal, TransformsOfAnyLengthAndAxis) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Shape s{rng.between(1, 3), rng.between(1, 9), rng.between(1, 8), rng.between(1, 2)};
    const auto axis = static_cast<size_t>(rng.between(0, 2));
    const int64_t length = rng.chance(0.5) ? s[axis] : rng.between(1, 11);
    const bool inverse = rng.chance(0.4);
    const bool onesided = !inverse && rng.chance(0.4);
    const ir::Array x = random_array(rng, ir::kF64, s);
    const bool new_form = rng.chance(0.5);
    OpRun run("DFT", new_form ? 20 : 17);
    run.in(x).with("inverse", int64_t{inverse}).with("onesided", int64_t{onesided});
    length == s[axis] ? run.absent() : run.known(scalar(ir::kI64, static_cast<double>(length)));
    if (new_form) {
      run.known(scalar(ir::kI64, static_cast<double>(axis) - 4));
    } else {
      run.with("axis", static_cast<int64_t>(axis));
    }
    Shape shape = s;
    shape[axis] = onesided ? length / 2 + 1 : length;
    shape[3] = 2;
    const ir::Array want = filled_by(ir::kF64, shape, [&](const Place& p) {
      std::vector<Complex> points;
      for (Place from = p; static_cast<int64_t>(points.size()) < s[axis];) {
        from[axis] = static_cast<int64_t>(points.size());
        points.push_back(read(x, from));
      }
      const Complex v = transform(points, length, p[axis], inverse);
      return p[3] == 0 ? v.real() : v.imag();
    });
    ASSERT_EQ(difference(run.run()[0], want, 1e-9), "");
  }
}

TEST(Signal, ShortTransformsOfFrames) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Shape s{rng.between(1, 2), rng.between(8, 20), rng.between(1, 2)};
    const int64_t length = rng.between(1, 8);
    const int64_t step = rng.between(1, 5);
    const bool windowed = rng.chance(0.5);
    const bool onesided = s[2] == 1 && rng.chance(0.5);
    const ir::Array x = random_array(rng, ir::kF64, s);
    const ir::Array window = random_array(rng, ir::kF64, {length});
    OpRun run("STFT", 17);
    run.in(x).known(scalar(ir::kI64, static_cast<double>(step)));
    windowed ? run.in(window) : run.absent();
    run.known(scalar(ir::kI64, static_cast<double>(length))).with("onesided", int64_t{onesided});
    const Shape shape{s[0], (s[1] - length) / step + 1, onesided ? length / 2 + 1 : length, 2};
    const ir::Array want = filled_by(ir::kF64, shape, [&](const Place& p) {
      std::vector<Complex> points;
      for (int64_t n = 0; n < length; ++n) {
        points.push_back(read(x, {p[0], p[1] * step + n, 0}) * (windowed ? at(window, {n}) : 1.0));
      }
      const Complex v = transform(points, length, p[2], false);
      return p[3] == 0 ? v.real() : v.imag();
    });
    ASSERT_EQ(difference(run.run()[0], want, 1e-9), "");
  }
}

TEST(Signal, WindowsOfOneAndMorePoints) {
  const auto window = [](const std::string& op, int64_t size, int64_t periodic) {
    return OpRun(op, 17)
        .known(scalar(ir::kI64, static_cast<double>(size)))
        .with("periodic", periodic)
        .with("output_datatype", int64_t{11})
        .run()[0];
  };
  EXPECT_EQ(window("HannWindow", 1, 0).shape(), Shape{1});
  const ir::Array hann = window("HannWindow", 8, 1);
  EXPECT_EQ(hann.dtype(), ir::kF64);
  EXPECT_NEAR(at(hann, {0}), 0, 1e-15);
  EXPECT_NEAR(at(hann, {4}), 1, 1e-15);
  const ir::Array symmetric = window("BlackmanWindow", 9, 0);
  for (int64_t i = 0; i < 9; ++i) EXPECT_NEAR(at(symmetric, {i}), at(symmetric, {8 - i}), 1e-12);
}

// How often the tokens occur in the row, each `1 + skipped` positions after the one before.
int64_t occurrences(const ir::Array& x, int64_t row, const std::vector<int64_t>& gram,
                    int64_t most_skipped) {
  int64_t found = 0;
  const int64_t n = x.shape()[1];
  const auto length = static_cast<int64_t>(gram.size());
  for (int64_t skipped = 0; skipped <= (length == 1 ? 0 : most_skipped); ++skipped) {
    for (int64_t i = 0; i + (length - 1) * (skipped + 1) < n; ++i) {
      bool hit = true;
      for (int64_t k = 0; k < length; ++k) {
        hit &= at(x, {row, i + k * (skipped + 1)}) ==
               static_cast<double>(gram[static_cast<size_t>(k)]);
      }
      found += hit ? 1 : 0;
    }
  }
  return found;
}

TEST(Text, CountsNgrams) {
  const std::vector<std::vector<int64_t>> grams{{1}, {2}, {1, 2}, {2, 2}, {0, 1, 2}};
  const std::vector<double> weights{0.5, 2, 3, 4, 5};
  const std::vector<int64_t> columns{4, 0, 2, 1, 3};
  for (const std::string mode : {"TF", "IDF", "TFIDF"}) {
    for (int64_t skip = 0; skip < 3; ++skip) {
      SCOPED_TRACE(mode + " " + std::to_string(skip));
      Rng rng(static_cast<uint64_t>(skip) + 1);
      ir::Array x(ir::kI32, {3, 11});
      for (int64_t i = 0; i < x.elements(); ++i) x.set(i, {rng.between(0, 2), 0});
      const auto out = OpRun("TfIdfVectorizer", 9)
                           .in(x)
                           .with("mode", mode)
                           .with("min_gram_length", int64_t{1})
                           .with("max_gram_length", int64_t{2})
                           .with("max_skip_count", skip)
                           .with("ngram_counts", std::vector<int64_t>{0, 2, 6})
                           .with("ngram_indexes", columns)
                           .with("pool_int64s", std::vector<int64_t>{1, 2, 1, 2, 2, 2, 0, 1, 2})
                           .with("weights", weights)
                           .run();
      ASSERT_EQ(out[0].shape(), (Shape{3, 5}));
      testing::for_each_place({3, 5}, [&](const Place& p) {
        const size_t g = static_cast<size_t>(p[1]);
        const int64_t n = g < 4 ? occurrences(x, p[0], grams[g], skip) : 0;  // {0,1,2} is too long
        const double want = mode == "TF"      ? static_cast<double>(n)
                            : mode == "TFIDF" ? static_cast<double>(n) * weights[g]
                            : n > 0           ? weights[g]
                                              : 0;
        EXPECT_EQ(at(out[0], {p[0], columns[g]}), want) << p[0] << " " << p[1];
      });
    }
  }
}

// What max pooling took away comes back at its place.
TEST(Detect, UnpoolingPutsElementsBack) {
  Rng rng(3);
  const std::vector<int64_t> window{2, 3};
  const ir::Array even = random_array(rng, ir::kF32, {2, 3, 4, 6});
  const auto pool = OpRun("MaxPool", 12)
                        .in(even)
                        .with("kernel_shape", window)
                        .with("strides", window)
                        .outputs(2)
                        .run();
  const ir::Array z = OpRun("MaxUnpool", 11)
                          .in(pool[0])
                          .in(pool[1])
                          .with("kernel_shape", window)
                          .with("strides", window)
                          .run()[0];
  int64_t kept = 0;
  for (int64_t i = 0; i < z.elements(); ++i) {
    if (z.get_double(i) == 0) continue;
    ++kept;
    EXPECT_EQ(z.get_double(i), even.get_double(i));
  }
  EXPECT_EQ(kept, pool[0].elements());
}

}  // namespace
}  // namespace tenon::onnx
