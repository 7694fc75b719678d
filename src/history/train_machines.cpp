// SPDX-License-Identifier: Apache-2.0
#include "history/train_machines.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "cost/models/tlp.h"
#include "support/parallel.h"

namespace tenon::history {
namespace {

constexpr uint64_t kSeed = 1;  // of weights: who trains makes no difference

int64_t vector_bytes(const target::Target& t) { return t.is_cpu() ? t.cpu().vector_bytes : 0; }

class Teacher {
 public:
  Teacher(Joined joined, std::span<const Where> machines, int threads)
      : joined_(std::move(joined)), machines_(machines), threads_(threads) {
    const cost::Tokens tokens;
    rows_.resize(joined_.programs.size());
    for_each_parallel(rows_.size(), threads_, [&](size_t i) {
      const JoinedProgram& p = joined_.programs[i];
      if (auto row = tokens.encode(joined_.tasks[p.task], p.trace))
        rows_[i] = std::move(row.value());
    });
    for (const JoinedProgram& p : joined_.programs) whole_.push_back(p.seconds[0]);
  }

  void keep_share_of_first(double share, uint64_t seed) {
    if (share < 1) keep_share(joined_, 0, share, seed);
  }

  // From all tasks, or from those that are not held out.
  std::unique_ptr<cost::CostModel> teach(bool hold_out) const {
    cost::TlpLessons lessons;
    for (const Where& w : machines_) {
      lessons.machines.push_back({w.measured, w.protocol, vector_bytes(*w.target)});
    }
    for (size_t i = 0; i < rows_.size(); ++i) {
      const JoinedProgram& p = joined_.programs[i];
      if (rows_[i].rows() == 0 || (hold_out && is_held(p))) continue;
      lessons.rows.push_back(rows_[i]);
      lessons.tasks.push_back(joined_.computations[p.task]);
      lessons.seconds.insert(lessons.seconds.end(), p.seconds.begin(), p.seconds.end());
    }
    if (lessons.rows.empty()) return nullptr;
    return cost::learned_tlp(lessons, kSeed, threads_);
  }

  // On all times of the first machine.
  Scores score_held_out(const cost::CostModel& model) const {
    std::vector<cost::Sample> asked;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const JoinedProgram& p = joined_.programs[i];
      if (rows_[i].rows() == 0 || !is_held(p) || std::isnan(whole_[i])) continue;
      asked.push_back({rows_[i], joined_.computations[p.task], whole_[i]});
    }
    return score(model, asked);
  }

  bool holds_out() const {
    return std::any_of(joined_.programs.begin(), joined_.programs.end(),
                       [&](const JoinedProgram& p) { return is_held(p); });
  }
  int64_t learned() const {
    return std::count_if(joined_.programs.begin(), joined_.programs.end(),
                         [](const JoinedProgram& p) { return !std::isnan(p.seconds[0]); });
  }
  const Joined& joined() const { return joined_; }

 private:
  bool is_held(const JoinedProgram& p) const { return is_held_out(joined_.computations[p.task]); }

  Joined joined_;
  std::span<const Where> machines_;
  int threads_;
  std::vector<cost::Row> rows_;
  std::vector<double> whole_;  // times of the first machine, before a share was kept
};

}  // namespace

Trained train_machines(const db::Database& db, std::span<const Where> machines,
                       const TrainMachinesOptions& o) {
  const int threads = o.limits.threads > 0
                          ? o.limits.threads
                          : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  Teacher teacher(join_machines(db, machines, o.limits), machines, threads);
  const Joined& joined = teacher.joined();
  Trained out{std::nullopt, joined.rows, joined.left_out, joined.why};
  teacher.keep_share_of_first(o.labels, o.seed);
  const auto model = teacher.teach(false);
  if (model == nullptr || !model->trained()) return out;
  Card card = card_of(machines[0], *model, joined.computations, joined.rows);
  card.records = teacher.learned();
  card.trained_at = o.now;
  if (teacher.holds_out()) {
    const auto judged = teacher.teach(true);
    if (judged != nullptr) card.scores = teacher.score_held_out(*judged);
  }
  out.file = ModelFile{std::move(card), model->save()};
  return out;
}

}  // namespace tenon::history
