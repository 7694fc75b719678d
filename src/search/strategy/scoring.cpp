// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/scoring.h"

#include <algorithm>

#include "support/parallel.h"

namespace tenon::search {
namespace {

constexpr int kDrawsPerSample = 8;

// Better first; equal scores by hash, so that the order never depends on where a candidate stood.
bool better(const Member& a, const Member& b) {
  return *a.score != *b.score ? *a.score > *b.score : a.program->hash < b.program->hash;
}

// fn(i, rng) into slot i, for all i.
template <class T>
std::vector<std::optional<T>> draw_all(size_t n, Rng& rng, int threads,
                                       FunctionRef<std::optional<T>(size_t, Rng&)> fn) {
  std::vector<uint64_t> seeds(n);
  for (uint64_t& s : seeds) s = rng.next();
  std::vector<std::optional<T>> drawn(n);
  for_each_parallel(n, threads, [&](size_t i) {
    Rng own(seeds[i]);
    drawn[i] = fn(i, own);
  });
  return drawn;
}

template <class T>
std::vector<T> those_there(std::vector<std::optional<T>> all) {
  std::vector<T> out;
  out.reserve(all.size());
  for (auto& one : all) {
    if (one) out.push_back(std::move(*one));
  }
  return out;
}

}  // namespace

cost::Subject subject_of(const task::Task& t, const space::Program& p) {
  return {t, p.trace, &p.state, p.bounds.get(), &p.choices};
}

Member look_at(const task::Task& t, const cost::CostModel& model, space::Program p) {
  Member m;
  if (auto row = model.encode(subject_of(t, p))) m.row = std::move(row.value());
  p.bounds = nullptr;
  { const schedule::State gone = std::move(p.state); }
  m.program = std::make_shared<const space::Program>(std::move(p));
  return m;
}

std::vector<Member> make_members(size_t n, Rng& rng, int threads,
                                 FunctionRef<std::optional<Member>(size_t, Rng&)> fn) {
  return those_there(draw_all<Member>(n, rng, threads, fn));
}

void score(const cost::CostModel& model, std::vector<Member>& members) {
  std::vector<cost::Row> batch;
  std::vector<size_t> which;
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].score || members[i].row.rows() == 0) continue;
    batch.push_back(std::move(members[i].row));
    which.push_back(i);
    members[i].row = {};
  }
  const std::vector<float> predicted = model.score(batch);
  for (size_t i = 0; i < which.size(); ++i) members[which[i]].score = predicted[i];
}

bool keep_best(std::span<const Member> population, const Seen& proposed, size_t most,
               std::vector<Member>& best) {
  Seen seen;
  for (const Member& m : best) seen.insert(m.program->hash);
  const size_t before = best.size();
  const std::optional<Member> worst =
      before > 0 && before >= most ? std::optional(best.back()) : std::nullopt;
  for (const Member& m : population) {
    const uint64_t hash = m.program->hash;
    if (!m.score || proposed.contains(hash) || (worst && !better(m, *worst))) continue;
    if (seen.insert(hash).second) best.push_back({m.program, {}, m.score});
  }
  const bool changed = best.size() > before;
  std::sort(best.begin(), best.end(), better);
  if (best.size() > most) best.erase(best.begin() + static_cast<std::ptrdiff_t>(most), best.end());
  return changed;
}

std::optional<space::Program> sample_valid(const space::Space& space, Rng& rng) {
  for (int t = 0; t < kDrawsPerSample; ++t) {
    auto c = space.sample(rng);
    if (c) return std::move(c.value());
  }
  return std::nullopt;
}

std::vector<space::Program> sample_many(const space::Space& space, size_t n, Rng& rng,
                                        int threads) {
  return those_there(draw_all<space::Program>(
      n, rng, threads, [&](size_t, Rng& own) { return sample_valid(space, own); }));
}

}  // namespace tenon::search
