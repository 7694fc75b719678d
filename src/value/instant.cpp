// SPDX-License-Identifier: Apache-2.0
#include "value/instant.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "history/transplant.h"
#include "search/space/spaces.h"

namespace tenon::value {
namespace {

constexpr size_t kMostTransplants = 8;
constexpr size_t kMostTasks = 6;
constexpr size_t kMostFound = 16;
constexpr size_t kValues = 24;  // of a decision that reasons look at

Found rated(const ValueFunction& v, const RowMaker& maker, Look look) {
  const cost::Row rows = maker.rows(look);
  const double worth = v.score(std::span(&rows, 1))[0];
  return {std::move(look), worth};
}

Look whole(Look look) {
  look.made = look.decisions.size();
  return look;
}

}  // namespace

Instant::Instant(ValueFunction v, std::vector<history::KnownTask> known, InstantOptions options)
    : v_(std::move(v)), known_(std::move(known)), options_(std::move(options)) {}

void Instant::add_transplants(const space::Space& space, std::vector<Look>& to) const {
  history::KnownPrograms known(known_);
  const auto nearest = known.nearest(space.task(), kMostTasks);
  for (const auto& t : history::transplants(space, nearest, kMostTransplants)) {
    auto look = look_at(space, t.program.choices);
    if (look && look->complete()) to.push_back(std::move(look.value()));
  }
}

std::vector<Found> Instant::candidates(const space::Space& space, const RowMaker& maker) const {
  std::vector<Found> all = beam(space, maker, v_, options_.beam, kMostFound);
  std::vector<Look> more;
  add_transplants(space, more);
  std::set<uint64_t> known;
  for (const Found& f : all) known.insert(f.look.program.hash);
  for (Look& l : more) {
    if (known.insert(l.program.hash).second) all.push_back(rated(v_, maker, std::move(l)));
  }
  for (Found& f : all) f.worth = v_.settled(f.worth, space.task(), f.look.program);
  std::sort(all.begin(), all.end(), [](const Found& a, const Found& b) {
    return std::tie(b.worth, a.look.program.hash) < std::tie(a.worth, b.look.program.hash);
  });
  return all;
}

double Instant::gain(const Found& f, const Found& by_rule) const {
  const bool same = algorithm_of(f.look.decisions) == algorithm_of(by_rule.look.decisions);
  const double margin = same ? v_.model().margin : v_.model().algorithm_margin;
  return f.worth - by_rule.worth - margin;
}

std::optional<Chosen> Instant::choose(const task::Task& t) const {
  const auto space = search::make_space(options_.space, t);
  if (space == nullptr) return std::nullopt;
  auto by_rule = look_at(*space, {});
  if (!by_rule) return std::nullopt;
  const RowMaker maker(t, by_rule->program);
  const std::vector<Found> all = candidates(*space, maker);
  Found rules = rated(v_, maker, whole(std::move(by_rule.value())));
  rules.worth = v_.settled(rules.worth, t, rules.look.program);
  Chosen out{rules, rules, {}};
  double best = 0;
  for (const Found& f : all) {
    if (gain(f, rules) <= best) continue;
    out.taken = f;
    best = gain(f, rules);
  }
  for (const Found& f : all) {
    if (out.others.size() == options_.others) break;
    if (f.look.program.hash != out.taken.look.program.hash) out.others.push_back(f);
  }
  return out;
}

std::vector<Reason> reasons(const space::Space& space, const RowMaker& maker,
                            const ValueFunction& v, const Look& program) {
  std::vector<Reason> out;
  for (size_t n = 0; n < program.decisions.size(); ++n) {
    const Decision& d = program.decisions[n];
    space::Choices made(program.program.choices.begin(),
                        program.program.choices.begin() + static_cast<std::ptrdiff_t>(n));
    made.push_back({d.hole, d.value});
    Reason r{.decision = d, .worth = 0, .others = {}};
    std::vector<int64_t> values = values_of(d, kValues);
    if (std::find(values.begin(), values.end(), d.value) == values.end()) values.push_back(d.value);
    for (const int64_t value : values) {
      made.back().value = value;
      auto look = look_at(space, made);
      if (!look) continue;
      const double worth = rated(v, maker, std::move(look.value())).worth;
      if (value == d.value) {
        r.worth = worth;
      } else {
        r.others.emplace_back(value, worth);
      }
    }
    std::sort(r.others.begin(), r.others.end(), [](const auto& a, const auto& b) {
      return std::tie(b.second, a.first) < std::tie(a.second, b.first);
    });
    out.push_back(std::move(r));
  }
  return out;
}

}  // namespace tenon::value
