// SPDX-License-Identifier: Apache-2.0
// Gradient-boosted trees by XGBoost, with Ansor's loss as a custom objective. Trained from scratch each time: labels
// are relative to the best time of their task, and that moves. XGBoost's own threads are never used: ten thousand
// samples take one thread about a second, several would mostly wait for each other at every node of a tree, and their
// pool would survive neither a fork nor a thread sanitizer. Predictions are shared among threads here.
#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <algorithm>
#include <limits>

#include "cost/ansor_loss.h"
#include "cost/models/rows.h"
#include "support/check.h"
#include "support/parallel.h"

namespace tenon::cost {

namespace {

constexpr size_t kEnough = 16;   // samples that ran; fewer give no model
constexpr double kGrowth = 1.2;  // retrained when there are this many times the samples
constexpr int kMaxRounds = 300;
constexpr size_t kChunk = 64;      // candidates that one thread predicts at a time
constexpr int kPatience = 20;      // rounds without a better fit
constexpr double kBetter = 0.995;  // of the best error so far
constexpr double kFitted = 2e-3;   // an error below the noise of any measurement

struct Parameter {
  const char* name;
  const char* value;
};
constexpr Parameter kParameters[] = {
    {"tree_method", "hist"},
    {"max_bin", "64"},  // columns are logarithms: finer steps cost time and rank no better
    {"max_depth", "10"},
    {"gamma", "0.001"},
    {"min_child_weight", "0"},
    {"eta", "0.2"},
    {"base_score", "0"},
    {"objective", "reg:squarederror"},  // the trees only; gradients are ours
    {"disable_default_eval_metric", "1"},
    {"verbosity", "0"},
    {"nthread", "1"},
    {"num_feature", "164"},
};

static_assert(kFeatures == 164);

void check(int status) { TENON_CHECK(status == 0) << "xgboost: " << XGBGetLastError(); }

struct FreeBooster {
  void operator()(void* b) const { XGBoosterFree(b); }
};
using Booster = std::unique_ptr<void, FreeBooster>;
struct FreeMatrix {
  void operator()(void* m) const { XGDMatrixFree(m); }
};
using Matrix = std::unique_ptr<void, FreeMatrix>;

class XgbModel : public CostModel {
 public:
  XgbModel(uint64_t seed, int threads) : seed_(seed), threads_(threads) {
    TENON_CHECK(threads >= 1) << threads << " threads";
  }

  std::string_view name() const override { return "xgb"; }
  bool trained() const override { return booster_ != nullptr; }

  void update(std::span<const Sample> samples) override {
    seen_ = samples.size();
    const double needed = kGrowth * static_cast<double>(trained_on_);
    if (trained_on_ > 0 && static_cast<double>(samples.size()) < needed) return;
    train(samples);
  }

  std::vector<float> predict(std::span<const Features> candidates) const override {
    std::vector<float> scores(candidates.size(), 0.0F);
    if (!trained()) {
      for (size_t i = 0; i < scores.size(); ++i) {
        scores[i] = random_score(seed_ + seen_, candidates[i]);
      }
      return scores;
    }
    for_each_parallel((candidates.size() + kChunk - 1) / kChunk, threads_, [&](size_t c) {
      const size_t first = c * kChunk, n = std::min(kChunk, candidates.size() - first);
      predict_some(candidates.subspan(first, n), std::span(scores).subspan(first, n));
    });
    return scores;
  }

  std::string save() const override {
    if (!trained()) return saved(name(), "");
    bst_ulong length = 0;
    const char* bytes = nullptr;
    check(XGBoosterSaveModelToBuffer(booster_.get(), R"({"format": "ubj"})", &length, &bytes));
    return saved(name(), fmt::format("{}\n", trained_on_) + std::string(bytes, length));
  }

  void load(const std::string& bytes) override {
    const std::string body = body_of_saved(name(), bytes);
    if (body.empty()) {
      booster_.reset();
      trained_on_ = 0;
      return;
    }
    const size_t end = body.find('\n');
    Booster b = make_booster(nullptr);
    int rounds = 0;
    check(XGBoosterBoostedRounds(b.get(), &rounds));  // makes it take its parameters, one thread
    if (end == std::string::npos ||
        XGBoosterLoadModelFromBuffer(b.get(), body.data() + end + 1, body.size() - end - 1) != 0) {
      throw UserError("the cost model is damaged: " + std::string(XGBGetLastError()));
    }
    adopt(std::move(b));
    trained_on_ = 0;  // of another history: the first samples of this one decide anew
  }

 private:
  Booster make_booster(DMatrixHandle data) const {
    BoosterHandle handle = nullptr;
    check(XGBoosterCreate(&data, data == nullptr ? 0 : 1, &handle));
    Booster b(handle);
    for (const Parameter& p : kParameters) check(XGBoosterSetParam(handle, p.name, p.value));
    check(XGBoosterSetParam(handle, "seed", std::to_string(seed_ & 0x7fffffff).c_str()));
    return b;
  }

  // Failures weigh nothing in the loss and are left out.
  void train(std::span<const Sample> samples) {
    const std::vector<float> labels = labels_of(samples);
    Packs packs;
    std::vector<float> values;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (labels[i] <= 0 || samples[i].features.rows() == 0) continue;
      packs.rows.push_back(samples[i].features.rows());
      packs.labels.push_back(labels[i]);
      values.insert(values.end(), samples[i].features.values.begin(),
                    samples[i].features.values.end());
    }
    if (packs.rows.size() < kEnough) return;
    DMatrixHandle handle = nullptr;
    check(XGDMatrixCreateFromMat_omp(values.data(), values.size() / kFeatures, kFeatures,
                                     std::numeric_limits<float>::quiet_NaN(), &handle, 1));
    const Matrix data(handle);
    Booster b = make_booster(handle);
    boost(b.get(), handle, packs);
    adopt(std::move(b));
    trained_on_ = samples.size();
  }

  void boost(BoosterHandle b, DMatrixHandle data, const Packs& packs) const {
    Gradients g;
    double best = std::numeric_limits<double>::infinity();
    for (int round = 0, waited = 0; round < kMaxRounds && waited < kPatience; ++round, ++waited) {
      ansor_gradients(packs, predict_training(b, data), g);
      if (g.rmse < kFitted) break;
      if (g.rmse < best * kBetter) {
        best = g.rmse;
        waited = 0;
      }
      check(XGBoosterBoostOneIter(b, data, g.first.data(), g.second.data(), g.first.size()));
    }
  }

  static std::span<const float> predict_training(BoosterHandle b, DMatrixHandle data) {
    const bst_ulong* shape = nullptr;
    bst_ulong dims = 0;
    const float* out = nullptr;
    check(XGBoosterPredictFromDMatrix(b, data, R"({"type": 1, "training": true,
        "iteration_begin": 0, "iteration_end": 0, "strict_shape": false})",
                                      &shape, &dims, &out));
    return {out, shape[0]};
  }

  // A booster configures itself in its first prediction; after that predicting changes nothing in it.
  void adopt(Booster b) {
    std::vector<float> nothing(kFeatures), score(1);
    predict_rows(b.get(), nothing, score);
    booster_ = std::move(b);
  }

  void predict_some(std::span<const Features> candidates, std::span<float> scores) const {
    std::vector<float> values;
    size_t n = 0;
    for (const Features& f : candidates) n += f.values.size();
    values.reserve(n);
    for (const Features& f : candidates) {
      values.insert(values.end(), f.values.begin(), f.values.end());
    }
    if (values.empty()) return;
    std::vector<float> rows(values.size() / kFeatures);
    predict_rows(booster_.get(), values, rows);
    size_t row = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      for (size_t r = 0; r < candidates[i].rows(); ++r) scores[i] += rows[row++];
    }
  }

  // Results live in memory of the calling thread until its next call.
  static void predict_rows(BoosterHandle b, std::span<const float> values, std::span<float> out) {
    const std::string array =
        fmt::format(R"({{"data": [{}, true], "shape": [{}, {}], "typestr": "<f4", "version": 3}})",
                    reinterpret_cast<uintptr_t>(values.data()), out.size(), kFeatures);
    const bst_ulong* shape = nullptr;
    bst_ulong dims = 0;
    const float* scores = nullptr;
    check(XGBoosterPredictFromDense(b, array.c_str(), R"({"type": 1,
        "training": false, "iteration_begin": 0, "iteration_end": 0, "strict_shape": false,
        "cache_id": 0, "missing": NaN})",
                                    nullptr, &shape, &dims, &scores));
    TENON_CHECK(shape[0] == out.size()) << shape[0] << " predictions for " << out.size() << " rows";
    std::copy(scores, scores + out.size(), out.begin());
  }

  uint64_t seed_;
  int threads_;
  uint64_t seen_ = 0;      // samples at the last update
  size_t trained_on_ = 0;  // samples at the last training
  Booster booster_;        // null: not trained
};

}  // namespace

std::unique_ptr<CostModel> make_xgb_model(uint64_t seed, int threads) {
  return std::make_unique<XgbModel>(seed, threads);
}

}  // namespace tenon::cost
