// SPDX-License-Identifier: Apache-2.0
// Gradient-boosted trees by XGBoost, with Ansor's loss as a custom objective. The trees of this run
// stand on those of the history and are grown anew each time: labels are relative to the best time
// of their task, and that moves. XGBoost's own threads are never used: ten thousand samples take
// one thread about a second, several would mostly wait for each other at every node of a tree, and
// their pool would survive neither a fork nor a thread sanitizer. Scoring is shared among threads
// here.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cost/ansor_loss.h"
#include "cost/features.h"
#include "cost/models/shared.h"
#include "cost/models/xgb_library.h"
#include "support/check.h"
#include "support/parallel.h"

namespace tenon::cost {

namespace {

constexpr size_t kEnough = 16;   // programs that ran; fewer teach nothing
constexpr double kGrowth = 1.2;  // trained anew when there are this many times the programs
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

void check(int status) { TENON_CHECK(status == 0) << "xgboost: " << xgb().last_error(); }

struct FreeBooster {
  void operator()(void* b) const { xgb().booster_free(b); }
};
using Booster = std::unique_ptr<void, FreeBooster>;
struct FreeMatrix {
  void operator()(void* m) const { xgb().dmatrix_free(m); }
};
using Matrix = std::unique_ptr<void, FreeMatrix>;

// Programs that ran: their vectors one after the other, as XGBoost takes them.
struct Programs {
  std::vector<float> values;
  std::vector<size_t> rows;    // vectors of each
  std::vector<Sample> timing;  // of each, without its row

  // Failures weigh nothing in the loss and are left out.
  void add(const Sample& s) {
    if (!ran(s) || s.row.rows() == 0) return;
    TENON_CHECK(s.row.width == kFeatures) << "a row of another model";
    values.insert(values.end(), s.row.values.begin(), s.row.values.end());
    rows.push_back(s.row.rows());
    timing.push_back({{}, s.task, s.seconds});
  }
  bool enough() const { return rows.size() >= kEnough; }
};

class XgbModel : public CostModel {
 public:
  XgbModel(uint64_t seed, int threads) : seed_(seed), threads_(threads) {
    xgb();  // a missing library is told before the first candidate is measured
    TENON_CHECK(threads >= 1) << threads << " threads";
  }

  std::string_view name() const override { return "xgb"; }
  bool trained() const override { return booster_ != nullptr; }

  Result<Row> encode(const Subject& subject) const override {
    if (subject.state != nullptr && subject.bounds != nullptr) {
      return extract(*subject.state, *subject.bounds);
    }
    if (subject.state != nullptr) return extract(*subject.state);
    const task::Task& t = subject.task;
    const auto state = schedule::replay(schedule::State(t.dag, t.target), subject.trace);
    if (!state) return state.illegal();
    return extract(*state);
  }

  void learn(std::span<const Sample> samples, Role role) override {
    seen_ += samples.size();
    if (role == Role::kHistory) return learn_history(samples);
    for (const Sample& s : samples) run_.add(s);
    const double needed = kGrowth * static_cast<double>(trained_on_);
    if (trained_on_ > 0 && static_cast<double>(run_.rows.size()) < needed) return;
    train_run();
  }

  std::vector<float> score(std::span<const Row> rows) const override {
    std::vector<float> scores(rows.size(), 0.0F);
    if (!trained()) {
      for (size_t i = 0; i < scores.size(); ++i) {
        scores[i] = random_score(seed_ + seen_, rows[i]);
      }
      return scores;
    }
    for_each_parallel((rows.size() + kChunk - 1) / kChunk, threads_, [&](size_t c) {
      const size_t first = c * kChunk, n = std::min(kChunk, rows.size() - first);
      predict_some(rows.subspan(first, n), std::span(scores).subspan(first, n));
    });
    return scores;
  }

  std::string save() const override {
    const std::string trees = trained() ? trees_of(booster_.get()) : "";
    return saved(name(), columns() + trees);
  }

  void load(const std::string& bytes) override {
    const std::string body = body_of_saved(name(), bytes);
    if (!body.starts_with(columns())) {
      throw UserError("the cost model was trained on other features than this version computes",
                      "tune without it; a new one is trained from the records");
    }
    std::string trees = body.substr(columns().size());
    Booster b = trees.empty() ? nullptr : make_booster(nullptr, trees);
    history_ = std::move(trees);
    adopt(std::move(b));
    train_run();
  }

 private:
  // A saved model goes with the columns that it was trained on.
  static std::string columns() { return fmt::format("columns {:016x}\n", feature_hash()); }

  static std::string trees_of(BoosterHandle b) {
    bst_ulong length = 0;
    const char* bytes = nullptr;
    check(xgb().booster_save_model_to_buffer(b, R"({"format": "ubj"})", &length, &bytes));
    return std::string(bytes, length);
  }

  // With these trees to begin with; empty: none.
  Booster make_booster(DMatrixHandle data, const std::string& trees) const {
    BoosterHandle handle = nullptr;
    check(xgb().booster_create(&data, data == nullptr ? 0 : 1, &handle));
    Booster b(handle);
    set_parameters(handle);
    if (trees.empty()) return b;
    int rounds = 0;
    check(
        xgb().booster_boosted_rounds(handle, &rounds));  // makes it take its parameters, one thread
    if (xgb().booster_load_model_from_buffer(handle, trees.data(), trees.size()) != 0) {
      throw UserError("the cost model is damaged: " + std::string(xgb().last_error()));
    }
    set_parameters(handle);  // saved trees do not know how they were grown
    return b;
  }

  void set_parameters(BoosterHandle b) const {
    for (const Parameter& p : kParameters) check(xgb().booster_set_param(b, p.name, p.value));
    check(xgb().booster_set_param(b, "seed", std::to_string(seed_ & 0x7fffffff).c_str()));
  }

  // More trees of the history; this run's are grown on top of them again.
  void learn_history(std::span<const Sample> samples) {
    Programs programs;
    for (const Sample& s : samples) programs.add(s);
    if (!programs.enough()) return;
    Booster b = train(programs);
    history_ = trees_of(b.get());
    adopt(std::move(b));
    train_run();
  }

  void train_run() {
    if (!run_.enough()) return;
    adopt(train(run_));
    trained_on_ = run_.rows.size();
  }

  Booster train(const Programs& programs) const {
    DMatrixHandle handle = nullptr;
    check(xgb().dmatrix_create_from_mat_omp(programs.values.data(),
                                            programs.values.size() / kFeatures, kFeatures,
                                            std::numeric_limits<float>::quiet_NaN(), &handle, 1));
    const Matrix data(handle);
    Booster b = make_booster(handle, history_);
    boost(b.get(), handle, {programs.rows, labels_of(programs.timing)});
    return b;
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
      check(xgb().booster_boost_one_iter(b, data, g.first.data(), g.second.data(), g.first.size()));
    }
  }

  static std::span<const float> predict_training(BoosterHandle b, DMatrixHandle data) {
    const bst_ulong* shape = nullptr;
    bst_ulong dims = 0;
    const float* out = nullptr;
    check(xgb().booster_predict_from_dmatrix(b, data, R"({"type": 1, "training": true,
        "iteration_begin": 0, "iteration_end": 0, "strict_shape": false})",
                                             &shape, &dims, &out));
    return {out, shape[0]};
  }

  // A booster configures itself in its first prediction; after that predicting changes nothing in it.
  void adopt(Booster b) {
    std::vector<float> nothing(kFeatures), worth(1);
    if (b != nullptr) predict_rows(b.get(), nothing, worth);
    booster_ = std::move(b);
  }

  void predict_some(std::span<const Row> candidates, std::span<float> scores) const {
    std::vector<float> values;
    size_t n = 0;
    for (const Row& f : candidates) n += f.values.size();
    values.reserve(n);
    for (const Row& f : candidates) {
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
    check(xgb().booster_predict_from_dense(b, array.c_str(), R"({"type": 1,
        "training": false, "iteration_begin": 0, "iteration_end": 0, "strict_shape": false,
        "cache_id": 0, "missing": NaN})",
                                           nullptr, &shape, &dims, &scores));
    TENON_CHECK(shape[0] == out.size()) << shape[0] << " predictions for " << out.size() << " rows";
    std::copy(scores, scores + out.size(), out.begin());
  }

  uint64_t seed_;
  int threads_;
  uint64_t seen_ = 0;    // samples
  std::string history_;  // trees
  Programs run_;
  size_t trained_on_ = 0;  // programs of this run at the last training
  Booster booster_;        // of the history and of this run; null: not trained
};

}  // namespace

std::unique_ptr<CostModel> make_xgb_model(uint64_t seed, int threads) {
  return std::make_unique<XgbModel>(seed, threads);
}

}  // namespace tenon::cost
