// SPDX-License-Identifier: Apache-2.0
#include "value/lessons.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include "search/space/spaces.h"
#include "support/hash.h"
#include "support/parallel.h"
#include "support/rng.h"
#include "value/function.h"
#include "value/rows.h"

namespace tenon::value {
namespace {

using space::Choices;

uint64_t hash_of(std::span<const space::Choice> choices) {
  Hasher h;
  for (const space::Choice& c : choices) {
    h.add(static_cast<int32_t>(c.hole.kind)).add(c.hole.stage).add(c.hole.number).add(c.value);
  }
  return h.value();
}

class TaskLessons {
 public:
  TaskLessons(const history::Known& known, uint32_t number, const LessonOptions& options)
      : known_(known), number_(number), options_(options), rng_(options.seed + number) {}

  std::vector<Lesson> run() {
    if (known_.entries.empty() || !std::isfinite(known_.entries[0].seconds)) return {};
    space_ = search::make_space(options_.space, known_.task);
    if (space_ == nullptr) return {};
    const auto by_rule = look_at(*space_, {});
    if (!by_rule) return {};
    maker_.emplace(known_.task, by_rule->program);
    rule_hash_ = by_rule->program.hash;
    rule_algorithm_ = algorithm_of(by_rule->decisions);
    for (const history::Entry& e : known_.entries) note(e);
    for (const history::Entry& e : known_.entries) teach(e);
    return std::move(out_);
  }

 private:
  float label_of(const history::Entry& e) const {
    return std::isfinite(e.seconds) ? static_cast<float>(known_.entries[0].seconds / e.seconds) : 0;
  }

  void note(const history::Entry& e) {
    for (size_t n = 0; n <= e.choices.size(); ++n) {
      float& best = best_[hash_of(std::span(e.choices).first(n))];
      best = std::max(best, label_of(e));
    }
  }

  void teach(const history::Entry& e) {
    if (e.choices.empty()) return;
    auto whole = look_at(*space_, e.choices);
    // Choices of another version of the space may lead elsewhere.
    if (!whole || !whole->complete() || whole->program.trace != e.trace) return;
    add(*whole, label_of(e));
    for (size_t i = 0; i < options_.beginnings; ++i) {
      const auto n = static_cast<size_t>(rng_.between(0, std::ssize(e.choices) - 1));
      const auto begins = std::span(e.choices).first(n);
      const uint64_t hash = hash_of(begins);
      if (!taught_.insert(hash).second) continue;
      const auto look = look_at(*space_, begins);
      if (look) add(*look, best_.at(hash));
    }
  }

  void add(const Look& look, float label) {
    Lesson l{.rows = maker_->rows(look),
             .judged = {},
             .label = label,
             .task = number_,
             .complete = look.complete(),
             .by_rule = look.complete() && look.program.hash == rule_hash_,
             .other_algorithm = algorithm_of(look.decisions) != rule_algorithm_};
    if (l.complete && options_.judge != nullptr) {
      auto row = options_.judge->encode(subject_of(known_.task, look.program));
      if (row) l.judged = std::move(row.value());
    }
    out_.push_back(std::move(l));
  }

  const history::Known& known_;
  const uint32_t number_;
  const LessonOptions& options_;
  Rng rng_;
  std::unique_ptr<space::Space> space_;
  std::optional<RowMaker> maker_;
  uint64_t rule_hash_ = 0;
  int64_t rule_algorithm_ = 0;
  std::unordered_map<uint64_t, float> best_;  // by beginning
  std::set<uint64_t> taught_;
  std::vector<Lesson> out_;
};

}  // namespace

std::vector<Lesson> lessons_of(const std::vector<history::Known>& tasks,
                               const LessonOptions& options) {
  std::vector<std::vector<Lesson>> parts(tasks.size());
  for_each_parallel(tasks.size(), options.threads, [&](size_t i) {
    parts[i] = TaskLessons(tasks[i], static_cast<uint32_t>(i), options).run();
  });
  std::vector<Lesson> all;
  for (auto& part : parts) std::move(part.begin(), part.end(), std::back_inserter(all));
  return all;
}

}  // namespace tenon::value
