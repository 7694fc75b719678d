// SPDX-License-Identifier: Apache-2.0
// Signal processing: DFT and STFT as products with a constant matrix, windows and the mel matrix as
// constants.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "onnx/ops/emit.h"

namespace tenon::onnx {
namespace {

using graph::GraphBuilder;
using ir::Expr;
using std::numbers::pi;

// The matrix of a transform of `length` points to `bins`: rows are (point, part) and columns (bin, part),
// where a part is real or imaginary; real input has one part. The largest has 2^26 elements.
ValueId transform_matrix(GraphBuilder& b, ir::DType t, int64_t points, int64_t length, int64_t bins,
                         int64_t parts, bool inverse) {
  if (points * parts > (int64_t{1} << 25) / bins) {
    refuse("a transform of {} points is too long", length);
  }
  ir::Array m(t, {points * parts, bins * 2});
  for (int64_t n = 0; n < points; ++n) {
    for (int64_t k = 0; k < bins; ++k) {
      // The angle by the remainder: exact for long transforms too.
      const double turn =
          2 * pi * static_cast<double>(n * k % length) / static_cast<double>(length);
      const double scale = inverse ? 1.0 / static_cast<double>(length) : 1.0;
      const double re = std::cos(turn) * scale;
      const double im = (inverse ? 1 : -1) * std::sin(turn) * scale;
      const int64_t row = n * parts;
      const auto set = [&](int64_t r, int64_t part, double v) {
        m.set_double(r * bins * 2 + k * 2 + part, v);
      };
      set(row, 0, re);
      set(row, 1, im);
      if (parts == 2) {
        set(row + 1, 0, -im);
        set(row + 1, 1, re);
      }
    }
  }
  return b.constant(std::move(m), "transform");
}

// x[..., points * parts] times the matrix, in the type of x: [..., bins * 2].
ValueId transformed(GraphBuilder& b, ValueId x, ValueId matrix) {
  const Shape shape = b.shape(x);
  const int64_t inner = shape.back();
  const int64_t rows = count_elements(shape) / inner;
  const ValueId y = b.add("dft", graph::MatMul{}, {b.reshape(x, {rows, inner}), matrix});
  Shape out = shape;
  out.back() = b.shape(y)[1];
  return b.reshape(b.cast(y, b.dtype(x)), out);
}

void require_signal(Convert& c) {
  require_float(c.dtype(0));
  const Shape& s = c.shape(0);
  if (s.size() < 2 || (s.back() != 1 && s.back() != 2)) {
    refuse("the last dimension must be 1 (real) or 2 (complex)");
  }
  if (is_empty(c, c.input(0))) {
    refuse("a signal without elements");
  }
}

std::vector<ValueId> dft(Convert& c, int64_t axis_given) {
  require_signal(c);
  GraphBuilder& b = c.b();
  const Shape s = c.shape(0);
  const auto rank = static_cast<int64_t>(s.size());
  const int64_t axis = Convert::axis(axis_given, rank);
  if (axis == rank - 1) {
    refuse("the last dimension holds real and imaginary parts and cannot be transformed");
  }
  const int64_t given = s[static_cast<size_t>(axis)];
  const int64_t length =
      c.has_input(1) ? static_cast<int64_t>(c.constant_scalar(1, "the length")) : given;
  const bool inverse = c.int_or("inverse", 0) != 0;
  const bool onesided = c.int_or("onesided", 0) != 0;
  if (length < 1 || (onesided && inverse)) {
    refuse("length {}{}", length, onesided ? ", one-sided inverse" : "");
  }
  // The transformed dimension goes last but one; shorter transforms drop points, longer ones see zeros.
  std::vector<int64_t> perm;
  for (int64_t d = 0; d < rank - 1; ++d) {
    if (d != axis) perm.push_back(d);
  }
  perm.insert(perm.end(), {axis, rank - 1});
  ValueId x = b.transpose(c.input(0), perm);
  Shape shape = b.shape(x);
  const int64_t points = std::min(given, length);
  if (points < given) {
    shape[shape.size() - 2] = points;
    x = b.compute("slice", {x}, [&](te::Builder& t, Tensors in) {
      return te::slice(t, "slice", in[0], Shape(shape.size(), 0), shape);
    });
  }
  const int64_t parts = s.back();
  const int64_t bins = onesided ? length / 2 + 1 : length;
  Shape flat(shape.begin(), shape.end() - 1);
  flat.back() *= parts;
  const ValueId y =
      transformed(b, b.reshape(x, flat),
                  transform_matrix(b, wide(c.dtype(0)), points, length, bins, parts, inverse));
  shape[shape.size() - 2] = bins;
  shape.back() = 2;
  std::vector<int64_t> back(perm.size());
  for (size_t d = 0; d < perm.size(); ++d) {
    back[static_cast<size_t>(perm[d])] = static_cast<int64_t>(d);
  }
  return {b.transpose(b.reshape(y, shape), back)};
}

std::vector<ValueId> convert_dft_17(Convert& c) { return dft(c, c.int_or("axis", 1)); }

std::vector<ValueId> convert_dft_20(Convert& c) {
  return dft(c, c.has_input(2) ? static_cast<int64_t>(c.constant_scalar(2, "the axis")) : -2);
}

// Signal [batch, length, parts] to [batch, frames, bins, 2].
std::vector<ValueId> convert_stft(Convert& c) {
  require_signal(c);
  GraphBuilder& b = c.b();
  const Shape s = c.shape(0);
  const auto step = static_cast<int64_t>(c.constant_scalar(1, "the frame step"));
  const bool windowed = c.has_input(2);
  int64_t length = windowed && c.rank(2) == 1 ? c.shape(2)[0] : -1;
  if (c.has_input(3)) length = static_cast<int64_t>(c.constant_scalar(3, "the frame length"));
  if (s.size() != 3 || step < 1 || length < 1 || length > s[1] ||
      (windowed && c.shape(2) != Shape{length})) {
    refuse("frames of {} points every {} do not fit the signal or the window", length, step);
  }
  const int64_t frames = (s[1] - length) / step + 1;
  const int64_t parts = s[2];
  std::vector<ValueId> inputs{c.input(0)};
  if (windowed) inputs.push_back(c.input(2));
  const ValueId x = b.compute("frames", inputs, [&](te::Builder& t, Tensors in) {
    return t.compute("frames", {s[0], frames, length * parts}, [&](Axes i) {
      const Expr point = ir::floor_div(i[2], parts);
      const Expr v = ir::load(in[0], {i[0], i[1] * Expr(step) + point, ir::floor_mod(i[2], parts)});
      return windowed ? v * ir::cast(v.dtype(), ir::load(in[1], {point})) : v;
    });
  });
  const bool onesided = c.int_or("onesided", 1) != 0 && parts == 1;
  const int64_t bins = onesided ? length / 2 + 1 : length;
  const ValueId y =
      transformed(b, x, transform_matrix(b, wide(c.dtype(0)), length, length, bins, parts, false));
  return {b.reshape(y, {s[0], frames, bins, 2})};
}

// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N)
std::vector<ValueId> window(Convert& c, double a0, double a1, double a2) {
  const auto size = static_cast<int64_t>(c.constant_scalar(0, "the size"));
  if (count_elements({size}) > (int64_t{1} << 28)) {
    refuse("a window of {} points is too long", size);
  }
  ir::Array w(type_of_number(c.int_or("output_datatype", 1)), {size});
  const bool periodic = c.int_or("periodic", 1) != 0;
  const auto last = static_cast<double>(periodic ? size : std::max<int64_t>(size - 1, 1));
  for (int64_t n = 0; n < size; ++n) {
    const double turn = 2 * pi * static_cast<double>(n) / last;
    w.set_double(n, a0 - a1 * std::cos(turn) + a2 * std::cos(2 * turn));
  }
  return {c.b().constant(std::move(w), "window")};
}

std::vector<ValueId> convert_hann(Convert& c) { return window(c, 0.5, 0.5, 0); }
std::vector<ValueId> convert_hamming(Convert& c) { return window(c, 25.0 / 46, 1 - 25.0 / 46, 0); }
std::vector<ValueId> convert_blackman(Convert& c) { return window(c, 0.42, 0.5, 0.08); }

double to_mel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double to_hertz(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

// Triangles that are equally wide on the mel scale, in whole bins of the spectrum.
std::vector<ValueId> convert_mel_weights(Convert& c) {
  const auto bins = static_cast<int64_t>(c.constant_scalar(0, "the number of mel bins"));
  const auto length = static_cast<int64_t>(c.constant_scalar(1, "the DFT length"));
  const double rate = c.constant_scalar(2, "the sample rate");
  const double low = to_mel(c.constant_scalar(3, "the lower edge"));
  const double high = to_mel(c.constant_scalar(4, "the upper edge"));
  const int64_t spectrum = length / 2 + 1;
  if (bins < 1 || length < 1 || rate <= 0 || count_elements({bins, spectrum}) > (1 << 26)) {
    refuse("{} mel bins of a DFT of length {}", bins, length);
  }
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double mel = low + static_cast<double>(i) * (high - low) / static_cast<double>(bins + 2);
    edges.push_back(
        static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * to_hertz(mel) / rate)));
  }
  ir::Array m(type_of_number(c.int_or("output_datatype", 1)), {spectrum, bins});
  const auto set = [&](int64_t row, int64_t column, double v) {
    if (row >= 0 && row < spectrum) m.set_double(row * bins + column, v);
  };
  for (int64_t i = 0; i < bins; ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t begin = edges[at];
    const int64_t top = edges[at + 1];
    const int64_t end = edges[at + 2];
    if (top == begin) set(top, i, 1);
    for (int64_t r = std::max<int64_t>(begin, 0); r <= std::min(top, spectrum) && top > begin;
         ++r) {
      set(r, i, static_cast<double>(r - begin) / static_cast<double>(top - begin));
    }
    for (int64_t r = std::max<int64_t>(top, 0); r < std::min(end, spectrum); ++r) {
      set(r, i, static_cast<double>(end - r) / static_cast<double>(end - top));
    }
  }
  return {c.b().constant(std::move(m), "mel")};
}

constexpr Row kSignalRows[] = {
    {"", "BlackmanWindow", 17, convert_blackman},
    {"", "DFT", 17, convert_dft_17},
    {"", "DFT", 20, convert_dft_20},
    {"", "HammingWindow", 17, convert_hamming},
    {"", "HannWindow", 17, convert_hann},
    {"", "MelWeightMatrix", 17, convert_mel_weights},
    {"", "STFT", 17, convert_stft},
};

}  // namespace

std::span<const Row> rows_signal() { return kSignalRows; }

}  // namespace tenon::onnx
