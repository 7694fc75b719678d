// SPDX-License-Identifier: Apache-2.0
#include "search/scoring.h"

#include "support/parallel.h"

namespace tenon::search {
namespace {

constexpr size_t kDrawsPerSample = 8;

}  // namespace

std::vector<std::optional<float>> score(const std::vector<Candidate>& candidates,
                                        const cost::CostModel& model, int threads) {
  std::vector<std::optional<cost::Features>> features(candidates.size());
  for_each_parallel(candidates.size(), threads, [&](size_t i) {
    const Candidate& c = candidates[i];
    if (c.bounds != nullptr) {
      features[i] = cost::extract(c.state, *c.bounds);
      return;
    }
    auto f = cost::extract(c.state);
    if (f) features[i] = std::move(f.value());
  });
  std::vector<cost::Features> known;
  std::vector<size_t> which;
  for (size_t i = 0; i < features.size(); ++i) {
    if (!features[i]) continue;
    known.push_back(std::move(*features[i]));
    which.push_back(i);
  }
  std::vector<std::optional<float>> out(candidates.size());
  const std::vector<float> predicted = model.predict(known);
  for (size_t i = 0; i < which.size(); ++i) out[which[i]] = predicted[i];
  return out;
}

std::vector<Candidate> sample_many(const Space& space, size_t n, Rng& rng, int threads) {
  std::vector<uint64_t> seeds(n);
  for (uint64_t& s : seeds) s = rng.next();
  std::vector<std::optional<Candidate>> drawn(n);
  for_each_parallel(n, threads, [&](size_t i) {
    Rng own(seeds[i]);
    for (size_t t = 0; t < kDrawsPerSample && !drawn[i]; ++t) {
      auto c = space.sample(own);
      if (c) drawn[i] = std::move(c.value());
    }
  });
  std::vector<Candidate> out;
  for (auto& c : drawn) {
    if (c) out.push_back(std::move(*c));
  }
  return out;
}

}  // namespace tenon::search
