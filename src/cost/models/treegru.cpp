// SPDX-License-Identifier: Apache-2.0
#include "cost/models/treegru.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "cost/losses.h"
#include "cost/models/encoders.h"
#include "cost/models/shared.h"
#include "cost/models/tree_lessons.h"
#include "support/check.h"
#include "support/parallel.h"

namespace tenon::cost {

namespace {

constexpr size_t kEnoughToBegin = 16;  // programs that ran; fewer teach nothing
constexpr size_t kEnoughToGoOn = 4;    // with a history
constexpr double kMoreLessons = 1.5;   // trained again when there are this many times the programs
constexpr size_t kScoredAtOnce = 64;   // by one thread

class TreeGruModel : public CostModel {
 public:
  TreeGruModel(uint64_t seed, int threads, MakeTreeScorer make_scorer)
      : seed_(seed), threads_(threads), make_scorer_(std::move(make_scorer)) {
    TENON_CHECK(threads >= 1) << threads << " threads";
  }

  std::string_view name() const override { return "treegru"; }
  bool trained() const override { return scorer_ != nullptr; }
  Result<Row> encode(const Subject& subject) const override { return kLoopTree.encode(subject); }

  void learn(std::span<const Sample> samples, Role role) override {
    seen_ += samples.size();
    if (!can_train()) return;
    if (role == Role::kHistory) return learn_history(samples);
    for (const Sample& s : samples) add(s, run_);
    const double needed = kMoreLessons * static_cast<double>(trained_on_);
    if (trained_on_ > 0 && static_cast<double>(run_.programs.size()) < needed) return;
    train_run();
  }

  std::vector<float> score(std::span<const Row> rows) const override {
    std::vector<float> scores(rows.size());
    if (!trained()) {
      for (size_t i = 0; i < scores.size(); ++i) scores[i] = random_score(seed_ + seen_, rows[i]);
      return scores;
    }
    for_each_parallel((rows.size() + kScoredAtOnce - 1) / kScoredAtOnce, threads_, [&](size_t c) {
      const size_t first = c * kScoredAtOnce, n = std::min(kScoredAtOnce, rows.size() - first);
      const auto some = scorer_->score(rows.subspan(first, n));
      std::copy(some.begin(), some.end(), scores.begin() + static_cast<std::ptrdiff_t>(first));
    });
    return scores;
  }

  std::string save() const override {
    std::string body = columns();
    const auto& w = network_.weights;  // as this machine has them, little-endian
    if (trained()) body.append(reinterpret_cast<const char*>(w.data()), w.size() * sizeof(float));
    return saved(name(), body);
  }

  void load(const std::string& bytes) override {
    const std::string body = body_behind(columns(), name(), bytes);
    if (body.empty()) return;
    use(read_weights(body), Keep::kForOthers);
    history_ = true;
    if (find_trainer()) train_run();
  }

 private:
  // A saved network goes with the columns that it was trained on, and with its sizes.
  static std::string columns() {
    return fmt::format("columns {:016x}\nhidden {} slots {}\n", kLoopTree.hash(),
                       kTreeGruSizes.hidden, kTreeGruSizes.slots);
  }

  static TreeNetwork read_weights(const std::string& bytes) {
    TreeNetwork net{kTreeGruSizes, std::vector<float>(weights_of(kTreeGruSizes))};
    if (bytes.size() != net.weights.size() * sizeof(float)) refuse_damaged_model();
    std::memcpy(net.weights.data(), bytes.data(), bytes.size());
    for (const float w : net.weights) {
      if (!std::isfinite(w)) refuse_damaged_model();
    }
    return net;
  }

  bool find_trainer() {
    if (trainer_.functions == nullptr) trainer_ = find_tree_trainer();
    return trainer_.functions != nullptr;
  }

  // A network from a file goes on as it is where nothing can train it.
  bool can_train() {
    if (find_trainer() || trained()) return trainer_.functions != nullptr;
    throw UserError("the cost model treegru is trained by the plug-in tenon-torch: " + trainer_.why,
                    "install libtorch-dev and build the target tenon-torch, or tune with "
                    "--cost-model xgb-rank");
  }

  static void add(const Sample& s, TreeLessons& to) {
    if (s.row.rows() == 0) return;
    TENON_CHECK(s.row.width == kLoopTree.width) << "a row of another model";
    to.add(s);
  }

  bool enough(const TreeLessons& lessons) const {
    const auto& all = lessons.programs.timing;
    const auto ok = std::count_if(all.begin(), all.end(), ran);
    return static_cast<size_t>(ok) >= (history_ ? kEnoughToGoOn : kEnoughToBegin);
  }

  void learn_history(std::span<const Sample> samples) {
    TreeLessons lessons;
    for (const Sample& s : samples) add(s, lessons);
    if (!enough(lessons)) return;
    train_on(lessons);
    history_ = true;
    train_run();
  }

  void train_run() {
    if (!enough(run_)) return;
    train_on(run_);
    trained_on_ = run_.programs.size();
  }

  // From the weights that there are.
  void train_on(const TreeLessons& lessons) {
    TreeNetwork net = trained() ? network_ : fresh_tree_network(kTreeGruSizes, seed_);
    train(*trainer_.functions, lessons, seed_, net);
    use(std::move(net), Keep::kForThisRun);
  }

  void use(TreeNetwork net, Keep keep) {
    scorer_ = make_scorer_(net, keep);
    network_ = std::move(net);
  }

  uint64_t seed_;
  int threads_;
  MakeTreeScorer make_scorer_;
  TreeTrainer trainer_;
  uint64_t seen_ = 0;  // samples
  bool history_ = false;
  TreeLessons run_;
  size_t trained_on_ = 0;  // programs of this run at the last training
  TreeNetwork network_;
  std::unique_ptr<TreeScorer> scorer_;  // of the network; null: not trained
};

}  // namespace

std::unique_ptr<CostModel> make_treegru(uint64_t seed, int threads, MakeTreeScorer make_scorer) {
  return std::make_unique<TreeGruModel>(seed, threads, std::move(make_scorer));
}

std::unique_ptr<CostModel> make_treegru_model(uint64_t seed, int threads) {
  return make_treegru(seed, threads, plain_tree_scorer);
}

}  // namespace tenon::cost
