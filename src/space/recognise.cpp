// SPDX-License-Identifier: Apache-2.0
#include "space/recognise.h"

#include <algorithm>
#include <map>
#include <set>

namespace tenon::space {
namespace {

using Guess = std::map<HoleId, int64_t>;
using Pinned = std::set<HoleId>;  // tried, not read

// Answers by what is pinned, by what the trace shows, by the guess, and by rule; keeps what was asked.
class Guesser : public Decider {
 public:
  Guesser(const Guess& guess, const Pinned& pinned, const schedule::Trace& trace)
      : guess_(guess), pinned_(pinned), trace_(trace) {}
  int64_t decide(const Hole& hole) override {
    domains.push_back(hole.domain);
    shown.push_back(false);
    if (hole.read && !pinned_.contains(hole.id)) {
      const auto value = hole.read(trace_);
      shown.back() = value && hole.domain.contains(*value);
      if (shown.back()) return *value;
    }
    const auto it = guess_.find(hole.id);
    return it != guess_.end() && hole.domain.contains(it->second) ? it->second : hole.rule;
  }
  std::vector<Domain> domains;  // by choice
  std::vector<bool> shown;      // by choice: the trace shows it

 private:
  const Guess& guess_;
  const Pinned& pinned_;
  const schedule::Trace& trace_;
};

struct Attempt {
  Choices choices;
  std::vector<Domain> domains;
  std::vector<bool> shown;
  std::vector<size_t> asked_at;
  std::vector<Place> places;
  size_t agreed = 0;  // leading steps that are equal
  size_t alike = 0;   // leading steps of the same shape
  bool whole = false;
};

class Recogniser {
 public:
  Recogniser(const Skeleton& skeleton, const schedule::State& initial, const schedule::Trace& trace)
      : skeleton_(skeleton), initial_(initial), trace_(trace) {}

  std::optional<Choices> run() {
    for (const bool try_all : {false, true}) {
      try_all_ = try_all;
      left_ = kMostAttempts;
      Guess guess;
      if (auto found = settle(guess, {}, read_numbers(guess, {}))) return found;
    }
    return std::nullopt;
  }

 private:
  static constexpr int kMostAttempts = 300;

  Attempt attempt(const Guess& guess, const Pinned& pinned) {
    --left_;
    Guesser guesser(guess, pinned, trace_);
    Builder b(initial_, guesser, true);
    skeleton_.write(b);
    Attempt out;
    const size_t most = std::min(trace_.size(), b.trace().size());
    while (out.agreed < most && b.trace()[out.agreed] == trace_[out.agreed]) ++out.agreed;
    out.alike = out.agreed;
    while (out.alike < most && schedule::same_but_numbers(b.trace()[out.alike], trace_[out.alike]))
      ++out.alike;
    out.whole = !b.refused() && out.agreed == trace_.size() && b.trace().size() == trace_.size();
    out.places = b.places();
    out.asked_at = b.asked_at();
    out.choices = b.take_choices();
    out.domains = std::move(guesser.domains);
    out.shown = std::move(guesser.shown);
    return out;
  }

  // Takes the numbers that stand in the trace for all choices but the pinned ones.
  Attempt read_numbers(Guess& guess, const Pinned& pinned) {
    Attempt now = attempt(guess, pinned);
    for (size_t n = 0; n <= now.choices.size() && !now.whole; ++n) {
      Guess read = guess;
      for (const Place& p : now.places) {
        const HoleId& hole = now.choices[p.choice].hole;
        if (p.step >= now.alike || pinned.contains(hole)) continue;
        read[hole] = schedule::numbers_of(trace_[p.step])[p.number];
      }
      if (read == guess) break;
      guess = std::move(read);
      now = attempt(guess, pinned);
    }
    return now;
  }

  struct Trial {
    Guess guess;
    Attempt attempt;
  };

  // A choice that the trace does not tell is tried, the first one in the order of asking; the values whose programs
  // agree with more of the trace are followed first. `now`: what the guess leads to.
  std::optional<Choices> settle(const Guess& guess, Pinned pinned, const Attempt& now) {
    if (now.whole) return now.choices;
    const auto open = first_open(now, pinned);
    if (!open || left_ < 0) return std::nullopt;
    pinned.insert(now.choices[*open].hole);
    std::vector<Trial> trials;
    for (size_t v = 0; v < now.domains[*open].size() && left_ >= 0; ++v) {
      Guess other = guess;
      other[now.choices[*open].hole] = now.domains[*open].at(v);
      Attempt next = read_numbers(other, pinned);
      if (next.whole) return next.choices;
      trials.push_back({std::move(other), std::move(next)});
    }
    std::sort(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) {
      return a.attempt.agreed != b.attempt.agreed ? a.attempt.agreed > b.attempt.agreed
                                                  : a.guess < b.guess;
    });
    for (const Trial& t : trials) {
      if (auto found = settle(t.guess, pinned, t.attempt)) return found;
    }
    return std::nullopt;
  }

  // Nothing: all are settled, or those that are have led to another trace already. What was written before a question
  // depends on the choices before it alone.
  std::optional<size_t> first_open(const Attempt& now, const Pinned& pinned) const {
    bool sure = true;  // all choices so far are settled
    for (size_t i = 0; i < now.choices.size(); ++i) {
      if (sure && now.agreed < std::min(now.asked_at[i], trace_.size() + 1)) return std::nullopt;
      if (pinned.contains(now.choices[i].hole)) continue;
      bool placed = false, read = now.shown[i];
      for (const Place& p : now.places) {
        placed |= p.choice == i;
        read |= p.choice == i && p.step < now.alike;
      }
      if (read) continue;
      if (!placed || try_all_) return i;
      sure = false;
    }
    return std::nullopt;
  }

  const Skeleton& skeleton_;
  const schedule::State& initial_;
  const schedule::Trace& trace_;
  bool try_all_ = false;  // values of choices that should stand in the trace, too
  int left_ = 0;          // attempts
};

}  // namespace

std::optional<Choices> recognise(const Skeleton& skeleton, const schedule::State& initial,
                                 const schedule::Trace& trace) {
  return Recogniser(skeleton, initial, trace).run();
}

}  // namespace tenon::space
