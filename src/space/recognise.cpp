// SPDX-License-Identifier: Apache-2.0
#include "space/recognise.h"

#include <algorithm>
#include <map>

namespace tenon::space {
namespace {

using Guess = std::map<HoleId, int64_t>;

// Answers by the guess, by rule where there is none, and keeps the domains.
class Guesser : public Decider {
 public:
  explicit Guesser(const Guess& guess) : guess_(guess) {}
  int64_t decide(const Hole& hole) override {
    domains_.push_back(hole.domain);
    const auto it = guess_.find(hole.id);
    return it != guess_.end() && hole.domain.contains(it->second) ? it->second : hole.rule;
  }
  std::vector<Domain> take_domains() { return std::move(domains_); }

 private:
  const Guess& guess_;
  std::vector<Domain> domains_;  // by choice
};

struct Attempt {
  Choices choices;
  std::vector<Domain> domains;
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
      if (auto found = settle({}, 0)) return found;
    }
    return std::nullopt;
  }

 private:
  static constexpr int kMostAttempts = 1000;

  Attempt attempt(const Guess& guess) const {
    Guesser guesser(guess);
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
    out.domains = guesser.take_domains();
    return out;
  }

  // Takes the numbers that stand in the trace, of the choices from `first` on.
  Attempt read_numbers(Guess& guess, size_t first) const {
    Attempt now = attempt(guess);
    for (size_t n = 0; n <= now.choices.size() && !now.whole; ++n) {
      Guess read = guess;
      for (const Place& p : now.places) {
        if (p.step >= now.alike || p.choice < first) continue;
        read[now.choices[p.choice].hole] = schedule::numbers_of(trace_[p.step])[p.number];
      }
      if (read == guess) break;
      guess = std::move(read);
      now = attempt(guess);
    }
    return now;
  }

  // The choices before number `first` are settled; settles the others, one after the other.
  std::optional<Choices> settle(Guess guess, size_t first) {
    if (--left_ < 0) return std::nullopt;
    const Attempt now = read_numbers(guess, first);
    if (now.whole) return now.choices;
    if (first >= now.choices.size()) return std::nullopt;
    // What was written before this choice was asked for depends on those before it alone.
    if (now.agreed < std::min(now.asked_at[first], trace_.size() + 1)) return std::nullopt;
    const Choice& c = now.choices[first];
    guess[c.hole] = c.value;
    if (auto found = settle(guess, first + 1)) return found;
    if (!try_all_ && is_placed(now, first)) return std::nullopt;
    for (size_t v = 0; v < now.domains[first].size(); ++v) {
      guess[c.hole] = now.domains[first].at(v);
      if (guess[c.hole] == c.value) continue;
      if (auto found = settle(guess, first + 1)) return found;
    }
    return std::nullopt;
  }

  static bool is_placed(const Attempt& a, size_t choice) {
    return std::any_of(a.places.begin(), a.places.end(),
                       [&](const Place& p) { return p.choice == choice; });
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
