// SPDX-License-Identifier: Apache-2.0
#include "value/beam.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "support/check.h"
#include "support/parallel.h"
#include "support/rng.h"

namespace tenon::value {
namespace {

constexpr size_t kScoredAtOnce = 64;

double normal(Rng& rng) {
  const double u = std::max(rng.unit(), 1e-12);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * rng.unit());
}

class Beam {
 public:
  Beam(const space::Space& space, const RowMaker& maker, const ValueFunction& v,
       const BeamOptions& options)
      : space_(space), maker_(maker), v_(v), options_(options), rng_(options.seed) {}

  std::vector<Found> run(size_t most) {
    auto first = look_at(space_, {});
    if (!first) return {};
    seen_.try_emplace(first->program.hash, Seen{first->program.choices, maker_.whole(*first)});
    if (!first->complete()) frontier_.push_back(std::move(first.value()));
    while (!frontier_.empty()) step();
    return best(most);
  }

 private:
  struct Child {
    size_t parent;
    int64_t value;
    std::optional<Look> look;
    cost::Row rows, whole;  // of the look, and of the program that it is completed to
    double worth = 0;
  };
  // Of a program that was looked at; its state is made again if it is among the best.
  struct Seen {
    space::Choices choices;
    cost::Row rows;
  };

  void step() {
    std::vector<Child> children;
    for (size_t i = 0; i < frontier_.size(); ++i) {
      const Look& p = frontier_[i];
      for (const int64_t value : values_of(p.decisions[p.made], options_.values)) {
        children.push_back({i, value, std::nullopt, {}, {}});
      }
    }
    for_each_parallel(children.size(), options_.threads, [&](size_t i) { write(children[i]); });
    std::erase_if(children, [](const Child& c) { return !c.look; });
    rate(children);
    keep(children);
  }

  void write(Child& c) const {
    const Look& parent = frontier_[c.parent];
    const Decision& open = parent.decisions[parent.made];
    if (c.value == open.value) {  // the rule's value leads to the parent's own program
      c.look = parent;
      ++c.look->made;
    } else {
      const auto& all = parent.program.choices;
      space::Choices choices(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(parent.made));
      choices.push_back({open.hole, c.value});
      auto look = look_at(space_, choices);
      if (!look) return;
      c.look = std::move(look.value());
    }
    c.rows = maker_.rows(*c.look);
    if (c.value != open.value) c.whole = maker_.whole(*c.look);
  }

  void rate(std::vector<Child>& children) {
    std::vector<cost::Row> rows;
    for (Child& c : children) rows.push_back(std::move(c.rows));
    const auto worth = score_rows(v_, rows, options_.threads);
    for (size_t i = 0; i < children.size(); ++i) {
      children[i].worth = worth[i] + (options_.noise > 0 ? options_.noise * normal(rng_) : 0);
    }
  }

  void keep(std::vector<Child>& children) {
    std::sort(children.begin(), children.end(), [](const Child& a, const Child& b) {
      return std::tie(b.worth, a.parent, a.value) < std::tie(a.worth, b.parent, b.value);
    });
    std::vector<Look> next;
    for (Child& c : children) {
      if (!c.whole.values.empty()) {
        seen_.try_emplace(c.look->program.hash, Seen{c.look->program.choices, std::move(c.whole)});
      }
      if (next.size() < options_.width && !c.look->complete()) next.push_back(*std::move(c.look));
    }
    frontier_ = std::move(next);
  }

  std::vector<Found> best(size_t most) {
    std::vector<cost::Row> rows;
    std::vector<const Seen*> all;
    for (auto& [hash, seen] : seen_) {
      all.push_back(&seen);
      rows.push_back(std::move(seen.rows));
    }
    const auto worth = score_rows(v_, rows, options_.threads);
    std::vector<size_t> order(all.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return std::tie(worth[b], a) < std::tie(worth[a], b); });
    std::vector<Found> found;
    for (size_t i = 0; i < std::min(most, order.size()); ++i) {
      auto look = look_at(space_, all[order[i]]->choices);
      TENON_CHECK(look && look->complete()) << "a program that is not the same again";
      found.push_back({std::move(look.value()), worth[order[i]]});
    }
    return found;
  }

  const space::Space& space_;
  const RowMaker& maker_;
  const ValueFunction& v_;
  const BeamOptions& options_;
  Rng rng_;
  std::vector<Look> frontier_;
  std::map<uint64_t, Seen> seen_;  // by hash of the program
};

}  // namespace

std::vector<Found> beam(const space::Space& space, const RowMaker& maker, const ValueFunction& v,
                        const BeamOptions& options, size_t most) {
  return Beam(space, maker, v, options).run(most);
}

std::vector<int64_t> values_of(const Decision& d, size_t most) {
  const size_t n = d.domain.size();
  std::vector<int64_t> out{d.rule};
  const size_t taken = std::min(n, most);
  for (size_t i = 0; i < taken; ++i) {
    const size_t at = taken == n ? i : i * (n - 1) / (taken - 1);
    if (d.domain.at(at) != d.rule) out.push_back(d.domain.at(at));
  }
  return out;
}

std::vector<float> score_rows(const ValueFunction& v, std::span<const cost::Row> rows,
                              int threads) {
  std::vector<float> out(rows.size());
  for_each_parallel((rows.size() + kScoredAtOnce - 1) / kScoredAtOnce, threads, [&](size_t c) {
    const size_t first = c * kScoredAtOnce, n = std::min(kScoredAtOnce, rows.size() - first);
    const auto some = v.score(rows.subspan(first, n));
    std::copy(some.begin(), some.end(), out.begin() + static_cast<std::ptrdiff_t>(first));
  });
  return out;
}

}  // namespace tenon::value
