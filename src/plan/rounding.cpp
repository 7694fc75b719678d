// SPDX-License-Identifier: Apache-2.0
#include "plan/rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "support/rng.h"

namespace tenon::plan {
namespace {

using schedule::Matrix;

constexpr uint64_t kSeed = 2026;
constexpr int64_t kProducts = 1 << 18;  // about as many are taken in float64

// Numbers of variance 1 out of a pool of prime size, each of six uniform ones: as good as normal here, and without a
// library's logarithm. Two pools of different size do not meet in the same way for long.
class Numbers {
 public:
  Numbers(uint64_t seed, size_t size) : pool_(size) {
    Rng rng(seed);
    for (double& v : pool_) {
      double sum = -3;
      for (int i = 0; i < 6; ++i) sum += rng.unit();
      v = sum * std::sqrt(2.0);
    }
  }
  double next() {
    at_ = at_ + 1 == pool_.size() ? 0 : at_ + 1;
    return pool_[at_];
  }

 private:
  std::vector<double> pool_;
  size_t at_ = 0;
};

struct Data {
  Numbers inputs{kSeed, 8191}, weights{kSeed + 1, 7919};
  float input() { return static_cast<float>(inputs.next()); }
  float weight(double deviation) { return static_cast<float>(deviation * weights.next()); }
};

double weight_deviation(int64_t depth) { return std::sqrt(2.0 / static_cast<double>(depth)); }

// A fused multiply-add: the product is exact in double.
float add_product(float sum, float a, float b) {
  return static_cast<float>(static_cast<double>(sum) +
                            static_cast<double>(a) * static_cast<double>(b));
}

// To bfloat16 and back: eight bits, to the nearest, ties to even.
float narrowed(float v) {
  auto bits = std::bit_cast<uint32_t>(v);
  bits += 0x7fff + ((bits >> 16) & 1);
  return std::bit_cast<float>(bits & 0xffff0000);
}

class Tally {
 public:
  // `got` in float32; `want` and `direct` sum up what is given to product().
  void product(float a, float b) {
    want_ += static_cast<double>(a) * static_cast<double>(b);
    direct_ = add_product(direct_, a, b);
  }
  float direct() const { return direct_; }
  void finish(float got) {
    largest_ = std::max(largest_, std::abs(want_));
    error_ = std::max(error_, std::abs(static_cast<double>(got) - want_));
    direct_error_ = std::max(direct_error_, std::abs(static_cast<double>(direct_) - want_));
    want_ = 0;
    direct_ = 0;
  }
  LayerError result() const { return {error_ / largest_, direct_error_ / largest_}; }

 private:
  double want_ = 0, largest_ = 1e-30, error_ = 0, direct_error_ = 0;
  float direct_ = 0;
};

// A row of a matrix times terms, in the order of the stages that `variant` makes: what is added first.
template <class Term>
float combine(const std::vector<double>& row, Term&& term) {
  float sum = 0;
  bool first = true;
  for (const bool negative : {false, true}) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i] == 0 || (row[i] < 0) != negative) continue;
      const float t = term(i) * static_cast<float>(std::abs(row[i]));
      sum = first ? t : negative ? sum - t : sum + t;
      first = false;
    }
  }
  return sum;
}

// One tile of one channel: `rows` by `columns`, row after row. Along one dimension there is one column.
struct Tile {
  size_t rows, columns;
  std::vector<float> at;
};

// m * tile * m^T, rows first; of one column m * tile.
Tile transform(const Matrix& m, const Tile& t) {
  Tile half{m.size(), t.columns, {}};
  for (const auto& row : m) {
    for (size_t c = 0; c < t.columns; ++c)
      half.at.push_back(combine(row, [&](size_t r) { return t.at[r * t.columns + c]; }));
  }
  if (t.columns == 1) return half;
  Tile out{m.size(), m.size(), {}};
  for (size_t r = 0; r < half.rows; ++r) {
    for (const auto& row : m)
      out.at.push_back(combine(row, [&](size_t c) { return half.at[r * half.columns + c]; }));
  }
  return out;
}

// The same in double, rounded once: as weights are turned when a program is compiled.
std::vector<float> turned_weights(const Matrix& g, const float* w, bool square) {
  std::vector<float> out;
  for (const auto& a : g) {
    for (size_t j = 0; j < (square ? g.size() : 1); ++j) {
      double sum = 0;
      for (size_t r = 0; r < 3; ++r) {
        if (!square) sum += a[r] * static_cast<double>(w[r]);
        for (size_t c = 0; square && c < 3; ++c)
          sum += a[r] * g[j][c] * static_cast<double>(w[3 * r + c]);
      }
      out.push_back(static_cast<float>(sum));
    }
  }
  return out;
}

// What all tiles of a measurement share.
class WinogradSample {
 public:
  WinogradSample(schedule::Algorithm a, size_t dims, int64_t channels, Data& data)
      : m_(schedule::winograd_matrices(a)),
        square_(dims == 2),
        channels_(static_cast<size_t>(channels)),
        taps_(square_ ? 9 : 3),
        stride_(static_cast<size_t>(schedule::row_of(a).stride)),
        data_(data) {
    const double deviation = weight_deviation(channels * static_cast<int64_t>(taps_));
    for (size_t i = 0; i < kFilters * channels_ * taps_; ++i) w_.push_back(data.weight(deviation));
    for (size_t i = 0; i < kFilters * channels_; ++i)
      u_.push_back(turned_weights(m_.g, w_.data() + i * taps_, square_));
  }

  static constexpr size_t kFilters = 4;

  void measure_tile(Tally& tally) {
    const size_t points = m_.b.size();
    std::vector<Tile> x, v;
    for (size_t c = 0; c < channels_; ++c) {
      const size_t columns = square_ ? points : 1;
      x.push_back({points, columns, {}});
      for (size_t i = 0; i < points * columns; ++i) x.back().at.push_back(data_.input());
      v.push_back(transform(m_.b, x.back()));
    }
    for (size_t f = 0; f < kFilters; ++f) {
      Tile products{v[0].rows, v[0].columns, std::vector<float>(v[0].at.size(), 0)};
      for (size_t c = 0; c < channels_; ++c) {
        for (size_t p = 0; p < products.at.size(); ++p)
          products.at[p] = add_product(products.at[p], v[c].at[p], u_[f * channels_ + c][p]);
      }
      compare(transform(m_.a, products), x, f, tally);
    }
  }

 private:
  void compare(const Tile& y, const std::vector<Tile>& x, size_t f, Tally& tally) const {
    for (size_t i = 0; i < y.rows; ++i) {
      for (size_t j = 0; j < y.columns; ++j) {
        for (size_t c = 0; c < channels_; ++c) {
          const float* w = w_.data() + (f * channels_ + c) * taps_;
          for (size_t t = 0; t < taps_; ++t) {
            const size_t r = i * stride_ + (square_ ? t / 3 : t);
            const size_t s = square_ ? j * stride_ + t % 3 : 0;
            tally.product(x[c].at[r * x[c].columns + s], w[t]);
          }
        }
        tally.finish(y.at[i * y.columns + j]);
      }
    }
  }

  const schedule::WinogradMatrices& m_;
  bool square_;
  size_t channels_, taps_, stride_;
  Data& data_;
  std::vector<float> w_;
  std::vector<std::vector<float>> u_;
};

int64_t samples(int64_t products_each, int64_t most) {
  return std::clamp<int64_t>(kProducts / products_each, 1, most);
}

}  // namespace

LayerError direct_error(int64_t depth) {
  Data data;
  Tally tally;
  const double deviation = weight_deviation(depth);
  for (int64_t n = samples(depth, 512) + 15; n > 0; --n) {
    for (int64_t k = 0; k < depth; ++k) tally.product(data.input(), data.weight(deviation));
    tally.finish(tally.direct());
  }
  return tally.result();
}

LayerError bfloat16_error(int64_t depth) {
  Data data;
  Tally tally;
  const double deviation = weight_deviation(depth);
  for (int64_t n = samples(depth, 512) + 15; n > 0; --n) {
    float sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      const float x = data.input(), w = data.weight(deviation);
      tally.product(x, w);
      sum = add_product(sum, narrowed(x), narrowed(w));
    }
    tally.finish(sum);
  }
  return tally.result();
}

LayerError winograd_error(schedule::Algorithm a, size_t dims, int64_t channels) {
  Data data;
  Tally tally;
  WinogradSample sample(a, dims, channels, data);
  int64_t work = static_cast<int64_t>(WinogradSample::kFilters) * channels;
  for (size_t d = 0; d < dims; ++d) work *= schedule::row_of(a).tile * schedule::kWinogradTaps;
  for (int64_t n = samples(work, 32); n > 0; --n) sample.measure_tile(tally);
  return tally.result();
}

LayerError strassen_error(int64_t depth) {
  const schedule::StrassenMatrices& m = schedule::strassen_matrices();
  Data data;
  Tally tally;
  const double deviation = weight_deviation(depth);
  const auto half = static_cast<size_t>(schedule::half_of(depth));
  for (int64_t n = samples(4 * depth, 64) + 3; n > 0; --n) {
    // Two rows and two columns, one of each half: quarter q of both operands.
    std::vector<std::vector<float>> a(4), w(4);
    for (size_t q = 0; q < 4; ++q) {
      for (size_t k = 0; k < half; ++k) {
        a[q].push_back(data.input());
        w[q].push_back(data.weight(deviation));
      }
    }
    std::vector<float> products;
    for (size_t p = 0; p < m.a.size(); ++p) {
      float sum = 0;
      for (size_t k = 0; k < half; ++k) {
        double turned = 0;
        for (size_t q = 0; q < 4; ++q) turned += m.w[p][q] * static_cast<double>(w[q][k]);
        sum = add_product(sum, combine(m.a[p], [&](size_t q) { return a[q][k]; }),
                          static_cast<float>(turned));
      }
      products.push_back(sum);
    }
    for (size_t q = 0; q < 4; ++q) {
      const size_t row = q / 2 * 2, column = q % 2;
      for (size_t k = 0; k < half; ++k) tally.product(a[row][k], w[column][k]);
      for (size_t k = 0; k < half; ++k) tally.product(a[row + 1][k], w[column + 2][k]);
      tally.finish(combine(m.c[q], [&](size_t p) { return products[p]; }));
    }
  }
  return tally.result();
}

}  // namespace tenon::plan
