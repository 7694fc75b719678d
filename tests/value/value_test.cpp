// SPDX-License-Identifier: Apache-2.0
// The value function's rows and file, and the search that it leads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "cost/draft.h"
#include "search/programs.h"
#include "search/space/spaces.h"
#include "search/tasks.h"
#include "support/sanitized.h"
#include "value/instant.h"
#include "value/pretend_value.h"

namespace tenon::value {
namespace {

using search::make_space;

// Those that have a space.
std::vector<task::Task> small_tasks() {
  std::vector<task::Task> out;
  for (const search::NamedTask& t : search::small_tasks()) {
    if (make_space("joint", t.task) != nullptr) out.push_back(t.task);
  }
  return out;
}

struct Setting {
  explicit Setting(const task::Task& t)
      : task(t),
        space(make_space("joint", t)),
        rule(look_at(*space, {}).value()),
        maker(t, rule.program) {}
  task::Task task;
  std::unique_ptr<space::Space> space;
  Look rule;
  RowMaker maker;
};

// By hash, but that the rules' program is the worst: else one program in so many is the best by chance.
std::function<float(const cost::Row&)> by_hash_but_the_rules(const Setting& s) {
  return [rules = s.maker.whole(s.rule).values](const cost::Row& r) {
    return r.values == rules ? -1 : by_hash(r);
  };
}

double drafted(const space::Program& p) { return cost::draft_seconds(p.state, *p.bounds); }

TEST(Look, HasTheChoicesThatWereMadeAndTheRulesBehindThem) {
  for (const task::Task& t : small_tasks()) {
    const Setting s(t);
    EXPECT_EQ(s.rule.made, 0U);
    ASSERT_EQ(s.rule.decisions.size(), s.rule.program.choices.size());
    Rng rng(1);
    const auto p = s.space->sample(rng);
    if (!p) continue;
    for (size_t n = 0; n <= p->choices.size(); ++n) {
      const auto look = look_at(*s.space, std::span(p->choices).first(n));
      if (!look) continue;  // the rules' completion does not fit
      EXPECT_EQ(look->made, n);
      for (size_t i = 0; i < n; ++i) EXPECT_EQ(look->decisions[i].value, p->choices[i].value);
      for (size_t i = n; i < look->decisions.size(); ++i) {
        EXPECT_EQ(look->decisions[i].value, look->decisions[i].rule);
      }
      if (n == p->choices.size()) EXPECT_EQ(look->program.trace, p->trace);
    }
  }
}

TEST(Look, RefusesChoicesOfAnotherSpace) {
  const Setting s(small_tasks()[0]);
  const space::Choices other{{{space::HoleKind::kFactor, 77, 5}, 3}};
  EXPECT_FALSE(look_at(*s.space, other));
}

TEST(Rows, OneOfFactsAFewOfLoopsAndOneOfEachDecision) {
  const Setting s(small_tasks()[1]);
  for (size_t n = 0; n <= s.rule.decisions.size(); ++n) {
    Look part = s.rule;
    part.made = n;
    const cost::Row row = s.maker.rows(part);
    EXPECT_EQ(row.width, row_columns());
    const size_t loops = s.maker.rows(s.rule).rows() - 1;
    EXPECT_LE(loops, 8U);
    EXPECT_EQ(row.rows(), 1 + loops + n);
    for (const float v : row.values) EXPECT_TRUE(std::isfinite(v) && std::abs(v) < 8) << v;
  }
}

// What differs only in how its values are called must not look alike.
TEST(Rows, TellProgramsOfOneTaskApart) {
  size_t programs = 0, alike = 0;
  for (const task::Task& t : small_tasks()) {
    const Setting s(t);
    std::set<std::vector<float>> seen;
    std::set<uint64_t> hashes;
    Rng rng(3);
    for (int i = 0; i < 300; ++i) {
      const auto p = s.space->sample(rng);
      if (!p || !hashes.insert(p->hash).second) continue;
      const auto look = look_at(*s.space, p->choices);
      ASSERT_TRUE(look);
      ++programs;
      if (!seen.insert(s.maker.rows(*look).values).second) ++alike;
    }
  }
  std::printf("%zu of %zu programs look like another\n", alike, programs);
  EXPECT_LE(alike * 50, programs);
}

TEST(ValueModel, ComesBackFromItsBytes) {
  ValueModel m;
  m.network = cost::fresh_attention_network({row_columns(), 16, 2, 1}, 5);
  m.margin = 0.25;
  m.algorithm_margin = 0.5;
  m.card = "what it was trained on";
  m.judge = std::string("any bytes\n\0 of a judge", 22);
  const std::string bytes = to_bytes(m);
  const ValueModel back = model_from_bytes(bytes);
  EXPECT_EQ(back.judge, m.judge);
  EXPECT_EQ(back.network.weights, m.network.weights);
  EXPECT_EQ(back.margin, m.margin);
  EXPECT_EQ(back.algorithm_margin, m.algorithm_margin);
  EXPECT_EQ(back.card, m.card);
  EXPECT_EQ(to_bytes(back), bytes);
}

TEST(ValueModel, RefusesWhatIsNoneInASentence) {
  ValueModel m;
  m.network = cost::fresh_attention_network({row_columns(), 16, 2, 1}, 5);
  const std::string good = to_bytes(m);
  std::string changed = good;
  changed[changed.size() / 2] ^= 1;
  std::string older = good;
  older.replace(older.find("columns ") + 8, 4, "0000");
  for (const std::string& bad : {std::string(), std::string("tenon"), good.substr(0, 40),
                                 good.substr(0, good.size() - 4), changed, older}) {
    EXPECT_THROW(model_from_bytes(bad), UserError);
  }
}

// What a row shows may change only together with the function that ships.
TEST(ValueModel, OfTheRepositoryCanBeUsed) {
  std::ifstream in(TENON_SHARE "/models/x86_64-512.value", std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  const ValueModel m = model_from_bytes(bytes.str());
  EXPECT_EQ(m.network.sizes.columns, row_columns());
  EXPECT_GE(m.margin, 0);
  EXPECT_FALSE(m.judge.empty());
  EXPECT_NO_THROW(cost::load_model(m.judge, 1, 1));
}

TEST(Instant, HasAMarginOfItsOwnForOtherAlgorithms) {
  ValueModel m;
  m.network = cost::fresh_attention_network({row_columns(), 16, 2, 1}, 5);
  m.margin = 0.1;
  m.algorithm_margin = 0.4;
  const Instant instant(ValueFunction(m, cost::plain_rows_scorer), {});
  size_t others = 0;
  for (const task::Task& t : small_tasks()) {
    const Setting s(t);
    const Found rules{s.rule, -0.5};
    EXPECT_NEAR(instant.gain({s.rule, -0.2}, rules), 0.2, 1e-9);
    for (const space::Program& p : s.space->first()) {
      const auto look = look_at(*s.space, p.choices);
      if (!look || algorithm_of(look->decisions) == algorithm_of(s.rule.decisions)) continue;
      EXPECT_NEAR(instant.gain({*look, -0.2}, rules), -0.1, 1e-9);
      ++others;
    }
  }
  EXPECT_GT(others, 0U) << "no task has two algorithms";
}

TEST(ValueFunction, RefusesAJudgeThatIsNone) {
  ValueModel m;
  m.network = cost::fresh_attention_network({row_columns(), 16, 2, 1}, 5);
  m.judge = "no saved model";
  EXPECT_THROW(ValueFunction(m, cost::plain_rows_scorer), UserError);
}

TEST(Values, HaveTheRuleTheEndsAndNoMoreThanAsked) {
  Decision d;
  d.domain = space::Domain::range(1, 100);
  d.rule = d.value = 37;
  const auto some = values_of(d, 8);
  EXPECT_LE(some.size(), 9U);
  EXPECT_EQ(some[0], 37);
  EXPECT_EQ(std::set<int64_t>(some.begin(), some.end()).size(), some.size());
  EXPECT_TRUE(std::count(some.begin(), some.end(), 1) == 1);
  EXPECT_TRUE(std::count(some.begin(), some.end(), 100) == 1);
  d.domain = space::Domain::of({2, 37, 64});
  EXPECT_EQ(values_of(d, 8), (std::vector<int64_t>{37, 2, 64}));
}

// With the exact worth of every partial program the greedy choice ends at the best program: here a space is gone
// through to its end, and a partial program is worth what the best is that begins so.
TEST(Beam, FindsTheBestWhereTheFunctionIsExact) {
  const task::Task t = search::make_task([](te::Builder& b) {
    const auto a = b.input("A", ir::kF32, {4, 4});
    const auto w = b.constant("W", ir::kF32, {4, 16});
    b.output(te::matmul(b, "C", a, w));
  });
  const auto space = make_space("template", t);
  const auto rule = look_at(*space, {});
  ASSERT_TRUE(rule);
  const RowMaker maker(t, rule->program);
  std::map<std::vector<float>, float> worth;  // by rows
  double best = -1e9;
  std::function<double(const space::Choices&)> visit = [&](const space::Choices& made) -> double {
    const auto look = look_at(*space, made);
    double w = -1e9;
    if (!look) return w;
    if (look->complete()) {
      w = -std::log(drafted(look->program));
      best = std::max(best, w);
    } else {
      const Decision& d = look->decisions[look->made];
      for (size_t i = 0; i < d.domain.size(); ++i) {
        space::Choices next = made;
        next.push_back({d.hole, d.domain.at(i)});
        w = std::max(w, visit(next));
      }
    }
    worth[maker.rows(*look).values] = static_cast<float>(w);
    return w;
  };
  visit({});
  const auto v = pretend_value([&](const cost::Row& r) { return worth.at(r.values); });
  const auto found = beam(*space, maker, v, {.width = 1, .values = 1000}, 1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FLOAT_EQ(static_cast<float>(found[0].worth), static_cast<float>(best));
}

TEST(Beam, GivesTheSameOnAnyNumberOfThreadsAndNoProgramTwice) {
  for (const task::Task& t : small_tasks()) {
    const Setting s(t);
    const auto v = pretend_value(by_hash);
    const auto one = beam(*s.space, s.maker, v, {.width = 3, .values = 4}, 10);
    const auto two = beam(*s.space, s.maker, v, {.width = 3, .values = 4, .threads = 3}, 10);
    ASSERT_EQ(one.size(), two.size());
    std::set<uint64_t> hashes;
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(one[i].look.program.hash, two[i].look.program.hash);
      EXPECT_TRUE(hashes.insert(one[i].look.program.hash).second);
      EXPECT_TRUE(one[i].look.complete());
      if (i > 0) EXPECT_GE(one[i - 1].worth, one[i].worth);
    }
  }
}

TEST(Beam, FindsOthersWithNoise) {
  const Setting s(small_tasks()[1]);
  const auto v = pretend_value(by_hash_but_the_rules(s));
  std::set<uint64_t> first;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const BeamOptions how{.width = 1, .values = 4, .noise = 1, .seed = seed};
    const auto found = beam(*s.space, s.maker, v, how, 1);
    ASSERT_FALSE(found.empty());
    first.insert(found[0].look.program.hash);
  }
  EXPECT_GT(first.size(), 1U);
}

// Whatever a function leads to computes what the definition does.
TEST(Instant, ProgramsAreRight) {
  const int functions = kSanitized ? 1 : 4;
  int other = 0;
  for (const task::Task& t : small_tasks()) {
    for (int i = 0; i < functions; ++i) {
      const auto salted = [i](const cost::Row& r) {
        return std::fmod(by_hash(r) * static_cast<float>(1 + 7 * i), 1.0F);
      };
      const Instant instant(pretend_value(salted), {}, {.beam = {.width = 2, .values = 4}});
      const auto chosen = instant.choose(t);
      ASSERT_TRUE(chosen);
      other += chosen->is_rule() ? 0 : 1;
      EXPECT_EQ(search::fault_of(t, chosen->taken.look.program), "") << t.label;
    }
  }
  EXPECT_GT(other, 0);
}

TEST(Instant, TakesTheRulesProgramUnlessTheMarginIsPassed) {
  const task::Task t = small_tasks()[1];
  const auto worth = by_hash_but_the_rules(Setting(t));
  const Instant free(pretend_value(worth), {}, {.beam = {.width = 2, .values = 4}});
  const auto chosen = free.choose(t);
  ASSERT_TRUE(chosen);
  EXPECT_FALSE(chosen->is_rule());
  EXPECT_GT(chosen->taken.worth, chosen->by_rule.worth);
  const Instant careful(pretend_value(worth, 10), {}, {.beam = {.width = 2, .values = 4}});
  EXPECT_TRUE(careful.choose(t)->is_rule());
}

TEST(Reasons, NameEachDecisionAndWhatElseThereWas) {
  const Setting s(small_tasks()[0]);
  const auto v = pretend_value(by_hash);
  Look whole = s.rule;
  whole.made = whole.decisions.size();
  const auto why = reasons(*s.space, s.maker, v, whole);
  ASSERT_EQ(why.size(), whole.decisions.size());
  for (const Reason& r : why) {
    EXPECT_LT(r.worth, 0);
    for (size_t i = 1; i < r.others.size(); ++i) {
      EXPECT_GE(r.others[i - 1].second, r.others[i].second);
      EXPECT_NE(r.others[i].first, r.decision.value);
    }
  }
}

}  // namespace
}  // namespace tenon::value
