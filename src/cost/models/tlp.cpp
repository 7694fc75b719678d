// SPDX-License-Identifier: Apache-2.0
#include "cost/models/tlp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "cost/losses.h"
#include "cost/models/shared.h"
#include "cost/models/tlp_run.h"
#include "support/check.h"
#include "support/parallel.h"

namespace tenon::cost {

namespace {

constexpr size_t kTlpBegins = 16;  // programs that ran; fewer teach nothing
constexpr double kMoreOfRun =
    1.2;  // this run's trees are grown anew with so many times the programs
constexpr double kMoreAlone = 1.5;  // the same of a network that has no history
constexpr size_t kTlpAtOnce = 64;   // by one thread
constexpr uint32_t kMostOutputs = 16;
// Few programs are shown more often, in smaller batches.
constexpr size_t kLeastBatch = 64, kMostBatch = 512, kTlpSteps = 600;
constexpr size_t kFewestEpochs = 16, kMostEpochs = 100;
constexpr float kTlpRate = 2.5e-3F;  // the paper's 7e-4 is for four times the width

// Best time of the task on the machine / time.
std::vector<float> labels_of(const TlpLessons& lessons, const std::vector<uint32_t>& tasks) {
  const size_t machines = lessons.machines.size();
  std::map<std::pair<uint32_t, size_t>, double> best;
  for (size_t i = 0; i < lessons.seconds.size(); ++i) {
    if (!std::isfinite(lessons.seconds[i])) continue;
    double& b = best.emplace(std::pair(tasks[i / machines], i % machines), lessons.seconds[i])
                    .first->second;
    b = std::min(b, lessons.seconds[i]);
  }
  std::vector<float> out;
  for (size_t i = 0; i < lessons.seconds.size(); ++i) {
    const double s = lessons.seconds[i];
    const auto b = best.find(std::pair(tasks[i / machines], i % machines));
    // Failures alone say nothing about a task.
    const bool unknown = std::isnan(s) || b == best.end();
    out.push_back(unknown ? -1.0F : std::isfinite(s) ? static_cast<float>(b->second / s) : 0.0F);
  }
  return out;
}

RowsLessons lessons_of(const TlpLessons& given) {
  RowsLessons out;
  std::map<std::string_view, uint32_t> numbers;
  for (const std::string& t : given.tasks) {
    out.tasks.push_back(numbers.emplace(t, static_cast<uint32_t>(numbers.size())).first->second);
  }
  out.labels = labels_of(given, out.tasks);
  out.sets = given.rows;
  return out;
}

// The first network of a seed, trained on the lessons.
AttentionNetwork learn_network(const tenon_attention_trainer_functions& trainer,
                               const TlpLessons& lessons, uint64_t seed) {
  const auto outputs = static_cast<uint32_t>(lessons.machines.size());
  AttentionNetwork net =
      fresh_attention_network({kTokenColumns, kTlpWidth, kTlpHeads, outputs}, seed);
  TrainRows how;
  how.loss = TENON_LOSS_RANK;
  how.seed = seed;
  const size_t n = lessons.rows.size();
  const size_t batch = std::clamp(n / 16, kLeastBatch, kMostBatch);
  const size_t epochs = kTlpSteps / (1 + n / batch);
  how.batch = static_cast<uint32_t>(batch);
  how.epochs = static_cast<uint32_t>(std::clamp(epochs, kFewestEpochs, kMostEpochs));
  how.learning_rate = kTlpRate;
  train(trainer, lessons_of(lessons), how, net);  // on one thread: the same weights everywhere
  return net;
}

[[noreturn]] void refuse_to_learn(const std::string& why) {
  throw UserError("the cost model tlp is trained by the plug-in tenon-torch: " + why,
                  "install libtorch-dev and build the target tenon-torch, or tune with "
                  "--cost-model xgb-rank");
}

class TlpModel : public CostModel {
 public:
  TlpModel(uint64_t seed, int threads, MakeRowsScorer make_scorer)
      : seed_(seed), threads_(threads), make_scorer_(std::move(make_scorer)), run_(seed) {
    TENON_CHECK(threads >= 1) << threads << " threads";
  }

  std::string_view name() const override { return "tlp"; }
  bool trained() const override { return scorer_ != nullptr; }
  Result<Row> encode(const Subject& subject) const override {
    return tokens_.encode(subject.task, subject.trace);
  }

  void learn(std::span<const Sample> samples, Role role) override {
    seen_ += samples.size();
    if (role == Role::kHistory) {
      history_ = learn_network_of(samples) || history_;
    } else if (history_) {
      learn_run(samples);
    } else {
      learn_alone(samples);
    }
  }

  std::vector<float> score(std::span<const Row> rows) const override {
    std::vector<float> scores(rows.size());
    if (!trained()) {
      for (size_t i = 0; i < scores.size(); ++i) scores[i] = random_score(seed_ + seen_, rows[i]);
      return scores;
    }
    for_each_parallel((rows.size() + kTlpAtOnce - 1) / kTlpAtOnce, threads_, [&](size_t c) {
      const size_t first = c * kTlpAtOnce, n = std::min(kTlpAtOnce, rows.size() - first);
      const auto part = std::span(scores).subspan(first, n);
      const auto some = scorer_->score(rows.subspan(first, n), output_);
      std::copy(some.begin(), some.end(), part.begin());
      run_.correct(rows.subspan(first, n), part);
    });
    return scores;
  }

  std::string save() const override {
    std::string body = columns();
    if (!trained()) return saved(name(), body);
    body += fmt::format("outputs {}\n", machines_.size());
    for (const TlpMachine& m : machines_) {
      body += fmt::format("{}\t{}\t{}\n", m.vector_bytes, m.protocol, m.target);
    }
    const auto& w = network_.weights;  // as this machine has them, little-endian
    body.append(reinterpret_cast<const char*>(w.data()), w.size() * sizeof(float));
    return saved(name(), body);
  }

  void load(const std::string& bytes) override {
    const std::string body = body_behind(columns(), name(), bytes);
    if (body.empty()) return;
    std::string_view rest = body;
    std::vector<TlpMachine> machines = read_machines(rest);
    AttentionNetwork net = read_weights(rest, static_cast<uint32_t>(machines.size()));
    use(std::move(net), std::move(machines), Keep::kForOthers);
    history_ = true;
  }

  std::string serve(const std::string& measured, const std::string& protocol,
                    int64_t vector_bytes) override {
    const auto rank = [&](const TlpMachine& m) {
      const bool same = m.target == measured;
      return std::tuple(!(same && m.protocol == protocol), !same,
                        std::abs(m.vector_bytes - vector_bytes));
    };
    if (machines_.size() < 2) return "";
    const auto best = std::min_element(
        machines_.begin(), machines_.end(),
        [&](const TlpMachine& a, const TlpMachine& b) { return rank(a) < rank(b); });
    output_ = static_cast<uint32_t>(best - machines_.begin());
    if (!std::get<0>(rank(*best))) return "";
    return fmt::format("the model does not know this machine; it scores as for {}; {}",
                       best->target, best->protocol);
  }

  void learn_machines(const TlpLessons& lessons) {
    if (!find_trainer()) refuse_to_learn(trainer_.why);
    AttentionNetwork net = learn_network(*trainer_.functions, lessons, seed_);
    use(std::move(net), lessons.machines, Keep::kForThisRun);
    history_ = true;
  }

 private:
  // A saved network goes with the columns that it was trained on, and with its sizes.
  static std::string columns() {
    return fmt::format("columns {:016x}\nwidth {} heads {}\n", token_hash(), kTlpWidth, kTlpHeads);
  }

  static std::string_view take_line(std::string_view& rest) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) refuse_damaged_model();
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return line;
  }

  static std::vector<TlpMachine> read_machines(std::string_view& rest) {
    const std::string head(take_line(rest));
    uint32_t n = 0;
    if (std::sscanf(head.c_str(), "outputs %u", &n) != 1 || n < 1 || n > kMostOutputs) {
      refuse_damaged_model();
    }
    std::vector<TlpMachine> out;
    for (uint32_t i = 0; i < n; ++i) {
      const std::string line(take_line(rest));
      const size_t first = line.find('\t'), second = line.find('\t', first + 1);
      if (first == std::string::npos || second == std::string::npos) refuse_damaged_model();
      out.push_back({line.substr(second + 1), line.substr(first + 1, second - first - 1),
                     std::strtoll(line.c_str(), nullptr, 10)});
    }
    return out;
  }

  static AttentionNetwork read_weights(std::string_view bytes, uint32_t outputs) {
    AttentionNetwork net{{kTokenColumns, kTlpWidth, kTlpHeads, outputs}, {}};
    net.weights.resize(weights_of(net.sizes));
    if (bytes.size() != net.weights.size() * sizeof(float)) refuse_damaged_model();
    std::memcpy(net.weights.data(), bytes.data(), bytes.size());
    const auto finite = [](float w) { return std::isfinite(w); };
    if (!std::all_of(net.weights.begin(), net.weights.end(), finite)) refuse_damaged_model();
    return net;
  }

  bool find_trainer() {
    if (trainer_.functions == nullptr) trainer_ = find_attention_trainer();
    return trainer_.functions != nullptr;
  }

  // Trained anew on all of them. A network that was loaded stays where nothing can train.
  bool learn_network_of(std::span<const Sample> samples) {
    if (!find_trainer() && trained()) return false;
    if (!find_trainer()) refuse_to_learn(trainer_.why);
    TlpLessons lessons;
    lessons.machines.emplace_back();
    for (const Sample& s : samples) {
      if (s.row.rows() == 0) continue;
      TENON_CHECK(s.row.width == kTokenColumns) << "a row of another model";
      lessons.rows.push_back(s.row);
      lessons.tasks.push_back(s.task);
      lessons.seconds.push_back(s.seconds);
    }
    const auto ok = std::count_if(samples.begin(), samples.end(), ran);
    if (static_cast<size_t>(ok) < kTlpBegins) return false;
    AttentionNetwork net = learn_network(*trainer_.functions, lessons, seed_);
    use(std::move(net), lessons.machines, Keep::kForThisRun);
    return true;
  }

  // Without a history, what the run measured is all there is.
  void learn_alone(std::span<const Sample> samples) {
    alone_.insert(alone_.end(), samples.begin(), samples.end());
    const double needed = kMoreAlone * static_cast<double>(trained_on_);
    if (trained_on_ > 0 && static_cast<double>(alone_.size()) < needed) return;
    if (learn_network_of(alone_)) trained_on_ = alone_.size();
  }

  void learn_run(std::span<const Sample> samples) {
    std::vector<Row> rows;
    for (const Sample& s : samples) rows.push_back(s.row);
    const auto scores = scorer_->score(rows, output_);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].rows() > 0) run_.add(samples[i], scores[i]);
    }
    const double needed = kMoreOfRun * static_cast<double>(trained_on_);
    if (trained_on_ > 0 && static_cast<double>(run_.size()) < needed) return;
    if (run_.train()) trained_on_ = run_.size();
  }

  // Trees that stood on another network are worth nothing.
  void use(AttentionNetwork net, std::vector<TlpMachine> machines, Keep keep) {
    scorer_ = make_scorer_(net, keep);
    network_ = std::move(net);
    machines_ = std::move(machines);
    output_ = 0;
    run_ = TlpRun(seed_);
    trained_on_ = 0;
  }

  uint64_t seed_;
  int threads_;
  MakeRowsScorer make_scorer_;
  Tokens tokens_;
  AttentionTrainer trainer_;
  uint64_t seen_ = 0;          // samples
  bool history_ = false;       // the network is older than this run
  std::vector<Sample> alone_;  // of this run, where there is no history
  AttentionNetwork network_;
  std::vector<TlpMachine> machines_;    // of its outputs
  std::unique_ptr<RowsScorer> scorer_;  // of the network; null: not trained
  uint32_t output_ = 0;
  TlpRun run_;
  size_t trained_on_ = 0;  // programs of this run at the last training
};

}  // namespace

std::unique_ptr<CostModel> make_tlp(uint64_t seed, int threads, MakeRowsScorer make_scorer) {
  return std::make_unique<TlpModel>(seed, threads, std::move(make_scorer));
}

std::unique_ptr<CostModel> make_tlp_model(uint64_t seed, int threads) {
  return make_tlp(seed, threads, plain_rows_scorer);
}

std::unique_ptr<CostModel> learned_tlp(const TlpLessons& lessons, uint64_t seed, int threads) {
  auto model = std::make_unique<TlpModel>(seed, threads, plain_rows_scorer);
  model->learn_machines(lessons);
  return model;
}

}  // namespace tenon::cost
