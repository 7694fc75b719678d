// SPDX-License-Identifier: Apache-2.0
#include "set_attention.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

namespace tenon {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;
using Numbers = std::vector<float>;

struct Sizes {
  int64_t width, depth;  // of all heads, of one
  float scale() const { return 1 / std::sqrt(static_cast<float>(depth)); }
};

enum Which { kQ, kK, kV };

// q, k or v of one head and set: depth x rows, or rows x depth.
void gather(const float* asked, const Sizes& s, int64_t rows, bool turned, float* to) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t d = 0; d < s.depth; ++d) {
      to[turned ? d * rows + r : r * s.depth + d] = asked[r * 3 * s.width + d];
    }
  }
}

// The loops below are compiled for what the machine may have.
#if defined(__x86_64__) && defined(__clang__)
#define TENON_EACH_MACHINE \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TENON_EACH_MACHINE
#endif

// c += a b, of m x n numbers, `inner` products each.
TENON_EACH_MACHINE void multiply_add(const float* a, const float* b, int64_t m, int64_t inner,
                                     int64_t n, float* c) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p = 0; p < inner; ++p) {
      const float x = a[i * inner + p];
      for (int64_t j = 0; j < n; ++j) c[i * n + j] += x * b[p * n + j];
    }
  }
}

// c += a' b, where a has m columns.
TENON_EACH_MACHINE void multiply_add_turned(const float* a, const float* b, int64_t m,
                                            int64_t inner, int64_t n, float* c) {
  for (int64_t p = 0; p < inner; ++p) {
    for (int64_t i = 0; i < m; ++i) {
      const float x = a[p * m + i];
      for (int64_t j = 0; j < n; ++j) c[i * n + j] += x * b[p * n + j];
    }
  }
}

void softmax_rows(float* v, int64_t rows, float scale) {
  for (int64_t i = 0; i < rows; ++i, v += rows) {
    const float most = *std::max_element(v, v + rows);
    float sum = 0;
    for (int64_t j = 0; j < rows; ++j) {
      v[j] = std::exp((v[j] - most) * scale);
      sum += v[j];
    }
    for (int64_t j = 0; j < rows; ++j) v[j] /= sum;
  }
}

// One head of one set.
class Head {
 public:
  Head(const Sizes& s, int64_t rows)
      : s_(s), rows_(rows), n_(static_cast<size_t>(rows * s.depth)) {}

  // `share` has rows x rows numbers, `out` the rows of the whole result.
  void forward(const float* asked, float* share, float* out) const {
    Numbers q(n_), k(n_), v(n_), result(n_);
    gather(asked, s_, rows_, false, q.data());
    gather(asked + kK * s_.width, s_, rows_, true, k.data());
    gather(asked + kV * s_.width, s_, rows_, false, v.data());
    std::fill_n(share, rows_ * rows_, 0.0F);
    multiply_add(q.data(), k.data(), rows_, s_.depth, rows_, share);
    softmax_rows(share, rows_, s_.scale());
    multiply_add(share, v.data(), rows_, rows_, s_.depth, result.data());
    scatter(result, s_.width, 1, out);
  }

  // `out` is the gradient of the result, `back` becomes that of what was asked.
  void backward(const float* asked, const float* share, const float* out, float* back) const {
    Numbers q(n_), k(n_), v(n_), by_result(n_), by_q(n_), by_k(n_), by_v(n_);
    Numbers by_share(static_cast<size_t>(rows_ * rows_));
    gather(asked, s_, rows_, false, q.data());
    gather(asked + kK * s_.width, s_, rows_, false, k.data());
    gather(asked + kV * s_.width, s_, rows_, true, v.data());
    for (int64_t r = 0; r < rows_; ++r) {
      std::copy_n(out + r * s_.width, s_.depth, by_result.data() + r * s_.depth);
    }
    multiply_add_turned(share, by_result.data(), rows_, rows_, s_.depth, by_v.data());
    multiply_add(by_result.data(), v.data(), rows_, s_.depth, rows_, by_share.data());
    through_softmax(share, by_share.data());
    multiply_add(by_share.data(), k.data(), rows_, rows_, s_.depth, by_q.data());
    multiply_add_turned(by_share.data(), q.data(), rows_, rows_, s_.depth, by_k.data());
    scatter(by_q, 3 * s_.width, s_.scale(), back);
    scatter(by_k, 3 * s_.width, s_.scale(), back + kK * s_.width);
    scatter(by_v, 3 * s_.width, 1, back + kV * s_.width);
  }

 private:
  void through_softmax(const float* share, float* by) const {
    for (int64_t i = 0; i < rows_; ++i, share += rows_, by += rows_) {
      float mean = 0;
      for (int64_t j = 0; j < rows_; ++j) mean += share[j] * by[j];
      for (int64_t j = 0; j < rows_; ++j) by[j] = share[j] * (by[j] - mean);
    }
  }

  void scatter(const Numbers& from, int64_t stride, float scale, float* to) const {
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t d = 0; d < s_.depth; ++d) {
        to[r * stride + d] = scale * from[static_cast<size_t>(r * s_.depth + d)];
      }
    }
  }

  Sizes s_;
  int64_t rows_;
  size_t n_;
};

// It says where the shares of the heads of each set begin.
std::vector<int64_t> share_places(const int64_t* first, int64_t sets, int64_t heads) {
  std::vector<int64_t> out = {0};
  for (int64_t s = 0; s < sets; ++s) {
    const int64_t rows = first[s + 1] - first[s];
    out.push_back(out.back() + heads * rows * rows);
  }
  return out;
}

// Calls work(head, first row, number of rows, place of its shares) for all heads of all sets.
template <class Work>
void for_each_head(const torch::Tensor& first, int64_t heads, const Work& work) {
  const auto* f = first.data_ptr<int64_t>();
  const int64_t sets = first.numel() - 1;
  const auto places = share_places(f, sets, heads);
  at::parallel_for(0, sets, 16, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      const int64_t rows = f[s + 1] - f[s];
      for (int64_t h = 0; h < heads; ++h) {
        work(h, f[s], rows, places[static_cast<size_t>(s)] + h * rows * rows);
      }
    }
  });
}

struct SetAttention : torch::autograd::Function<SetAttention> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& asked,
                               const torch::Tensor& first, int64_t heads) {
    const Sizes sizes{asked.size(1) / 3, asked.size(1) / 3 / heads};
    const torch::Tensor from = asked.contiguous();
    const auto* f = first.data_ptr<int64_t>();
    const torch::Tensor out = torch::empty({from.size(0), sizes.width});
    const torch::Tensor shares = torch::empty(share_places(f, first.numel() - 1, heads).back());
    for_each_head(first, heads, [&](int64_t h, int64_t row, int64_t rows, int64_t place) {
      Head(sizes, rows)
          .forward(from.data_ptr<float>() + row * 3 * sizes.width + h * sizes.depth,
                   shares.data_ptr<float>() + place,
                   out.data_ptr<float>() + row * sizes.width + h * sizes.depth);
    });
    context->save_for_backward({from, first, shares});
    context->saved_data["heads"] = heads;
    return out;
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& by) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &from = saved[0], &shares = saved[2];
    const int64_t heads = context->saved_data["heads"].toInt();
    const Sizes sizes{from.size(1) / 3, from.size(1) / 3 / heads};
    const torch::Tensor out = by[0].contiguous(), back = torch::empty_like(from);
    for_each_head(saved[1], heads, [&](int64_t h, int64_t row, int64_t rows, int64_t place) {
      const int64_t at = row * 3 * sizes.width + h * sizes.depth;
      Head(sizes, rows)
          .backward(from.data_ptr<float>() + at, shares.data_ptr<float>() + place,
                    out.data_ptr<float>() + row * sizes.width + h * sizes.depth,
                    back.data_ptr<float>() + at);
    });
    return {back, torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor set_attention(const torch::Tensor& asked, const std::vector<int64_t>& first,
                            int64_t heads) {
  return SetAttention::apply(asked, torch::tensor(first, torch::kLong), heads);
}

}  // namespace tenon
