// SPDX-License-Identifier: Apache-2.0
#include "cost/models/boosted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>

#include "cost/models/member.h"
#include "cost/models/shared.h"
#include "cost/models/xgb_library.h"
#include "support/check.h"
#include "support/parallel.h"
#include "support/rng.h"

namespace tenon::cost {

namespace {

constexpr size_t kEnough = 16;          // programs that ran; fewer teach nothing
constexpr size_t kEnoughOnHistory = 4;  // these can say how good a history is
constexpr double kGrowth = 1.2;         // trained anew when there are this many times the programs
constexpr size_t kMany = 256;           // programs from which on training takes a while
constexpr double kMeanwhile =
    1.1;  // such training may take until there are this many times the programs
constexpr size_t kChunk = 64;   // candidates that one thread predicts at a time
constexpr double kShown = 0.8;  // of the programs, to each of several members

class BoostedModel : public CostModel {
 public:
  BoostedModel(const BoostedKind& kind, uint64_t seed, int threads)
      : kind_(kind), seed_(seed), threads_(threads) {
    xgb();  // a missing library is told before the first candidate is measured
    TENON_CHECK(threads >= 1) << threads << " threads";
  }

  std::string_view name() const override { return kind_.name; }
  bool trained() const override { return !members_.empty(); }

  Result<Row> encode(const Subject& subject) const override {
    return kind_.encoder.encode(subject);
  }

  void learn(std::span<const Sample> samples, Role role) override {
    seen_ += samples.size();
    if (role == Role::kHistory) return learn_history(samples);
    for (const Sample& s : samples) add(s, run_);
    if (training_.valid() && !grown(kMeanwhile)) return;
    take_trained();
    if (trained_on_ > 0 && !grown(kGrowth)) return;
    if (trained() && run_.size() >= kMany && enough(run_)) return train_meanwhile();
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
      score_some(rows.subspan(first, n), std::span(scores).subspan(first, n));
    });
    return scores;
  }

  std::string save() const override {
    std::string body = columns();
    for (const Member& m : training_.valid() ? training_.get() : members_) body += to_text(m);
    return saved(name(), body);
  }

  void load(const std::string& bytes) override {
    take_trained();
    const std::string body = body_behind(columns(), name(), bytes);
    std::string_view rest = body;
    std::vector<Member> members;
    while (!rest.empty()) members.push_back(read_member(rest, how(members.size()).growing));
    if (!members.empty() && members.size() != kind_.members) refuse_damaged_model();
    history_ = members;
    members_ = std::move(members);
    train_run();
  }

 private:
  // A saved model goes with the columns that it was trained on.
  std::string columns() const { return fmt::format("columns {:016x}\n", kind_.encoder.hash()); }

  How how(size_t member) const {
    return {{kind_.parameters, kind_.encoder.width, seed_ + member},
            kind_.loss,
            kind_.stop,
            kind_.max_rounds};
  }

  void add(const Sample& s, Programs& to) const {
    if (s.row.rows() == 0 || (!ran(s) && !kind_.learns_from_failures)) return;
    TENON_CHECK(s.row.width == kind_.encoder.width) << "a row of another model";
    to.add(s);
  }

  bool enough(const Programs& programs) const {
    const auto ok = std::count_if(programs.timing.begin(), programs.timing.end(), ran);
    return static_cast<size_t>(ok) >= (history_.empty() ? kEnough : kEnoughOnHistory);
  }

  bool grown(double times) const {
    return static_cast<double>(run_.size()) >= times * static_cast<double>(trained_on_);
  }

  // More trees of the history; this run's are grown on top of them again.
  void learn_history(std::span<const Sample> samples) {
    take_trained();
    Programs programs;
    for (const Sample& s : samples) add(s, programs);
    if (!enough(programs)) return;
    members_ = train(programs);
    history_ = members_;
    train_run();
  }

  void train_run() {
    if (!enough(run_)) return;
    members_ = train(run_);
    trained_on_ = run_.size();
  }

  // Beside whoever searches and measures. Until there are kMeanwhile times the programs the model answers as before,
  // however long that takes: what is proposed does not depend on how fast anything was.
  void train_meanwhile() {
    trained_on_ = run_.size();
    training_ = std::async(std::launch::async, [this, seen = run_] { return train(seen); }).share();
  }
  void take_trained() {
    if (!training_.valid()) return;
    members_ = training_.get();
    training_ = {};
  }

  std::vector<Member> train(const Programs& programs) const {
    const Matrix data(programs.values, kind_.encoder.width);
    std::vector<Member> out;
    for (size_t m = 0; m < kind_.members; ++m) {
      Lessons lessons{data, packs_of(programs), {}};
      Member member;
      Footing footing;
      if (!history_.empty()) {
        auto before = scores_of(lessons.packs, history_[m].predict(programs.values));
        for (double& score : before) score += double{history_[m].offset()};
        footing = stand_on(before, kind_.loss, lessons);
        member = history_[m].on(footing);
      }
      member.add(grow(how(m), lessons, shown_to(m, programs.size())),
                 static_cast<float>(footing.run));
      out.push_back(std::move(member));
    }
    return out;
  }

  std::vector<char> shown_to(size_t member, size_t programs) const {
    std::vector<char> counts(programs, 1);
    if (kind_.members == 1) return counts;
    const auto hidden = static_cast<size_t>((1 - kShown) * static_cast<double>(counts.size()));
    std::fill_n(counts.begin(), hidden, 0);
    Rng rng(seed_ + member);
    for (size_t i = counts.size(); i-- > 1;) {
      std::swap(counts[i], counts[static_cast<size_t>(rng.between(0, static_cast<int64_t>(i)))]);
    }
    return counts;
  }

  void score_some(std::span<const Row> candidates, std::span<float> scores) const {
    std::vector<float> values;
    size_t n = 0;
    for (const Row& r : candidates) n += r.values.size();
    values.reserve(n);
    for (const Row& r : candidates) values.insert(values.end(), r.values.begin(), r.values.end());
    if (values.empty()) return;
    std::vector<float> opinions(scores.size() * members_.size());  // candidates x members
    for (size_t m = 0; m < members_.size(); ++m) {
      const auto rows = members_[m].predict(values);
      size_t row = 0;
      for (size_t i = 0; i < scores.size(); ++i) {
        float sum = members_[m].offset();
        for (size_t r = 0; r < candidates[i].rows(); ++r) sum += rows[row++];
        opinions[i * members_.size() + m] = sum;
      }
    }
    for (size_t i = 0; i < scores.size(); ++i) {
      const auto own = std::span(opinions).subspan(i * members_.size(), members_.size());
      scores[i] = kind_.worth == nullptr ? own[0] : static_cast<float>(kind_.worth(own));
    }
  }

  const BoostedKind& kind_;
  uint64_t seed_;
  int threads_;
  uint64_t seen_ = 0;            // samples
  std::vector<Member> history_;  // none: no history
  Programs run_;
  size_t trained_on_ = 0;        // programs of this run at the last training
  std::vector<Member> members_;  // of the history and of this run; none: not trained
  std::shared_future<std::vector<Member>> training_;  // the next members; it uses the others
};

struct Spread {
  double mean = 0, deviation = 0;
};
Spread spread_of(std::span<const float> values) {
  Spread s;
  const auto n = static_cast<double>(values.size());
  for (const float v : values) s.mean += v / n;
  for (const float v : values) s.deviation += (v - s.mean) * (v - s.mean) / n;
  s.deviation = std::sqrt(s.deviation);
  return s;
}

constexpr double kBestLabel = 1;       // of each task
constexpr double kNoise = 0.05;        // of a label: members that agree are not certain
constexpr double kConfidence = 2.576;  // 99 % of a normal distribution

}  // namespace

double expected_improvement(std::span<const float> predicted) {
  const Spread s = spread_of(predicted);
  const double deviation = std::hypot(s.deviation, kNoise);
  const double gain = s.mean - kBestLabel, z = gain / deviation;
  const double below = 0.5 * std::erfc(-z / std::sqrt(2.0));
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * 3.14159265358979323846);
  return gain * below + deviation * density;
}

double upper_confidence(std::span<const float> predicted) {
  const Spread s = spread_of(predicted);
  return s.mean + kConfidence * s.deviation;
}

std::unique_ptr<CostModel> make_boosted_model(const BoostedKind& kind, uint64_t seed, int threads) {
  return std::make_unique<BoostedModel>(kind, seed, threads);
}

}  // namespace tenon::cost
