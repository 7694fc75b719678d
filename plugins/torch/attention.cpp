// SPDX-License-Identifier: Apache-2.0
#include "attention.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>
#include <numeric>
#include <utility>

#include "attention_losses.h"
#include "layers.h"
#include "order.h"
#include "random.h"
#include "set_attention.h"

namespace tenon::attention {

// Rows of sets, to be put together for a batch.
class Sets {
 public:
  Sets(const tenon_row_sets& sets, int64_t columns) : first_(sets.sets + 1, 0) {
    for (uint64_t s = 0; s < sets.sets; ++s) first_[s + 1] = first_[s] + sets.rows[s];
    values_ = torch::from_blob(const_cast<float*>(sets.values), {first_.back(), columns});
  }

  struct Batch {
    torch::Tensor values;
    std::vector<int64_t> first;  // row of each set, and the number of rows
    torch::Tensor set;           // of each row
  };
  Batch batch(const std::vector<int64_t>& asked) const {
    std::vector<int64_t> from, set, first = {0};
    for (size_t i = 0; i < asked.size(); ++i) {
      const auto s = static_cast<size_t>(asked[i]);
      for (int64_t r = first_[s]; r < first_[s + 1]; ++r) from.push_back(r);
      first.push_back(static_cast<int64_t>(from.size()));
      set.resize(from.size(), static_cast<int64_t>(i));
    }
    return {values_.index_select(0, indices(from)), first, indices(set)};
  }

 private:
  std::vector<int64_t> first_;
  torch::Tensor values_;
};

namespace {

constexpr double kLearningRate = 7e-4;
constexpr double kWeightDecay = 1e-6;
constexpr double kMaxGradient = 0.5;
constexpr size_t kOfOneTask = 64;  // sets that are ranked together, at most
constexpr size_t kScoredAtOnce = 512;

enum Part {
  kIn,
  kInBias,
  kUp,
  kUpBias,
  kAsk,
  kAskBias,
  kMix,
  kMixBias,
  kFirst,
  kFirstBias,
  kSecond,
  kSecondBias,
  kHead,
  kHeadBias,
  kScore,
  kScoreBias
};

Shapes shapes(const tenon_attention_sizes& s) {
  const int64_t columns = s.columns, width = s.width, outputs = s.outputs, half = width / 2;
  return {{columns, width},        {1, width},      {width, width},  {1, width},
          {width, 3 * width},      {1, 3 * width},  {width, width},  {1, width},
          {width, width},          {1, width},      {width, width},  {1, width},
          {outputs * width, half}, {outputs, half}, {outputs, half}, {outputs, 1}};
}

// in * weights + bias. Matrices of thousands of rows are what a BLAS is good at.
torch::Tensor product(const torch::Tensor& in, const torch::Tensor& weights,
                      const torch::Tensor& bias) {
  return torch::addmm(bias, in, weights);
}

std::vector<int64_t> with_labels(const tenon_attention_lessons& lessons, uint32_t outputs) {
  std::vector<int64_t> out;
  for (uint64_t s = 0; s < lessons.sets.sets; ++s) {
    const float* labels = lessons.labels + s * outputs;
    if (std::any_of(labels, labels + outputs, [](float l) { return l >= 0; })) {
      out.push_back(static_cast<int64_t>(s));
    }
  }
  return out;
}

// From the full rate at the first step down to nothing after the last.
double cosine(double progress) { return 0.5 * (1 + std::cos(3.14159265358979323846 * progress)); }

void set_rate(torch::optim::Adam& adam, double rate) {
  for (auto& group : adam.param_groups()) {
    static_cast<torch::optim::AdamOptions&>(group.options()).lr(rate);
  }
}

// [sets, outputs]
torch::Tensor scores_of(const tenon_attention_sizes& sizes, const std::vector<torch::Tensor>& parts,
                        const Sets& sets, const std::vector<int64_t>& asked) {
  const Sets::Batch batch = sets.batch(asked);
  const int64_t width = sizes.width, outputs = sizes.outputs, half = width / 2;
  const auto layer = [&](const torch::Tensor& in, Part weights) {
    return product(in, parts[weights], parts[weights + 1]);
  };
  torch::Tensor x = layer(layer(batch.values, kIn).relu_(), kUp).relu_();
  x = x + layer(set_attention(layer(x, kAsk), batch.first, sizes.heads), kMix);
  x = x + layer(x, kFirst).relu_();
  x = x + layer(x, kSecond).relu_();
  // Heads of the outputs stand one above the other among the weights, side by side in a product.
  const torch::Tensor heads =
      parts[kHead].reshape({outputs, width, half}).transpose(0, 1).reshape({width, -1});
  const torch::Tensor last = product(x, heads, parts[kHeadBias].reshape({1, -1})).relu_();
  std::vector<torch::Tensor> scores;
  for (int64_t o = 0; o < outputs; ++o) {
    const torch::Tensor worth =
        last.narrow(1, o * half, half).matmul(parts[kScore][o]) + parts[kScoreBias][o];
    scores.push_back(
        torch::zeros(static_cast<int64_t>(asked.size())).index_add(0, batch.set, worth));
  }
  return torch::stack(scores, 1);
}

// A share is what one thread computes of a batch.
struct Share {
  std::vector<int64_t> sets;
  torch::Tensor scores, by_scores;   // [sets, outputs], and the loss by them
  std::vector<torch::Tensor> parts;  // the network's numbers, with gradients of their own
};

std::vector<Share> shared_out(const std::vector<int64_t>& sets, size_t threads,
                              const std::vector<torch::Tensor>& parts) {
  std::vector<Share> out;
  const size_t shares = std::max<size_t>(1, std::min(threads, sets.size()));
  const auto at = [&](size_t i) {
    return sets.begin() + static_cast<std::ptrdiff_t>(i * sets.size() / shares);
  };
  for (size_t i = 0; i < shares; ++i) {
    out.push_back({{at(i), at(i + 1)}, {}, {}, {}});
    for (const torch::Tensor& p : parts) out.back().parts.push_back(p.detach().requires_grad_());
  }
  return out;
}

// Threads of libtorch itself meet after every operation, which takes long where others want the
// cores too; these meet twice in a batch.
template <class Work>
void in_parallel(std::vector<Share>& shares, const Work& work) {
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < shares.size(); ++i) {
    others.push_back(std::async(std::launch::async, [&work, &share = shares[i]] {
      at::set_num_threads(1);
      work(share);
    }));
  }
  work(shares[0]);
  for (auto& o : others) o.get();
}

}  // namespace

Attention::Attention(const tenon_attention_sizes& sizes, const float* weights, uint32_t threads)
    : sizes_(sizes), parts_(read_parts(shapes(sizes), weights)), threads_(threads) {
  at::set_num_threads(1);  // of each of ours
}

void Attention::copy_weights(float* to) const { write_parts(parts_, to); }

std::vector<float> Attention::score(const tenon_row_sets& given,
                                    const std::vector<int64_t>& asked) {
  const Sets sets(given, sizes_.columns);
  std::vector<float> out;
  for (size_t i = 0; i < asked.size(); i += kScoredAtOnce) {
    const size_t end = std::min(asked.size(), i + kScoredAtOnce);
    std::vector<Share> shares = shared_out({asked.begin() + static_cast<std::ptrdiff_t>(i),
                                            asked.begin() + static_cast<std::ptrdiff_t>(end)},
                                           threads_, parts_);
    in_parallel(shares, [&](Share& s) {
      const torch::NoGradGuard no_grad;
      s.scores = scores_of(sizes_, s.parts, sets, s.sets).contiguous();
    });
    for (const Share& s : shares) {
      const auto* from = s.scores.data_ptr<float>();
      out.insert(out.end(), from, from + s.scores.numel());
    }
  }
  return out;
}

double Attention::descend(const tenon_attention_lessons& lessons, const Sets& sets,
                          const std::vector<int64_t>& batch) {
  std::vector<Share> shares = shared_out(batch, threads_, parts_);
  in_parallel(shares, [&](Share& s) { s.scores = scores_of(sizes_, s.parts, sets, s.sets); });
  std::vector<torch::Tensor> all;
  for (const Share& s : shares) all.push_back(s.scores.detach());
  const torch::Tensor scores = torch::cat(all).requires_grad_();
  const auto loss_of = lessons.loss == TENON_LOSS_VALUE ? value_loss : lambda_rank_loss;
  const torch::Tensor loss = loss_of(lessons, batch, scores, sizes_.outputs);
  loss.backward();
  int64_t first = 0;
  for (Share& s : shares) {
    s.by_scores = scores.grad().narrow(0, first, s.scores.size(0));
    first += s.scores.size(0);
  }
  in_parallel(shares, [](Share& s) { s.scores.backward(s.by_scores); });
  for (size_t p = 0; p < parts_.size(); ++p) {
    parts_[p].mutable_grad() = shares[0].parts[p].grad();
    for (size_t s = 1; s < shares.size(); ++s)
      parts_[p].mutable_grad() += shares[s].parts[p].grad();
  }
  return loss.item<double>();
}

double Attention::loss(const tenon_attention_lessons& lessons, float* gradient) {
  std::vector<int64_t> all(lessons.sets.sets);
  std::iota(all.begin(), all.end(), 0);
  const double loss = descend(lessons, Sets(lessons.sets, sizes_.columns), all);
  std::vector<torch::Tensor> by;
  for (const torch::Tensor& p : parts_) by.push_back(p.grad().contiguous());
  write_parts(by, gradient);
  return loss;
}

void Attention::train(const tenon_attention_lessons& lessons) {
  const std::vector<int64_t> taught = with_labels(lessons, sizes_.outputs);
  if (taught.empty()) return;
  const Sets sets(lessons.sets, sizes_.columns);
  agent::Random random(lessons.seed);
  Order order(taught, lessons.tasks, kOfOneTask, random);
  const double rate = lessons.learning_rate > 0 ? lessons.learning_rate : kLearningRate;
  torch::optim::Adam adam(parts_, torch::optim::AdamOptions(rate).weight_decay(kWeightDecay));
  const std::vector<int64_t> asked(lessons.asked, lessons.asked + lessons.asked_count);
  double best = -std::numeric_limits<double>::infinity();
  std::vector<torch::Tensor> best_parts;
  uint64_t learned = 0;  // sets
  for (uint32_t epoch = 0; epoch < lessons.epochs; ++epoch) {
    do {
      const std::vector<int64_t> batch = order.next(lessons.batch);
      set_rate(adam, rate * cosine(static_cast<double>(learned) /
                                   static_cast<double>(taught.size() * lessons.epochs)));
      descend(lessons, sets, batch);
      torch::nn::utils::clip_grad_norm_(parts_, kMaxGradient);
      adam.step();
      learned += batch.size();
    } while (!order.seen_all());
    if (lessons.quality == nullptr) continue;
    const double now = lessons.quality(lessons.context, score(lessons.sets, asked).data());
    if (now <= best) continue;
    best = now;
    best_parts = copies(parts_);
  }
  if (!best_parts.empty()) parts_ = std::move(best_parts);
}

}  // namespace tenon::attention
