// SPDX-License-Identifier: Apache-2.0
// Programs of one task in another: right or refused, the same again, and what they were where they fit.
#include "history/transplant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

#include "history/alike_tasks.h"
#include "history/program_table.h"
#include "history/recorded.h"
#include "measure/measure.h"
#include "search/programs.h"
#include "search/space/spaces.h"
#include "search/space/structures.h"
#include "support/sanitized.h"
#include "te/text.h"

namespace tenon::history {
namespace {

using space::Choices;
using space::HoleKind;
using space::Program;

KnownTask known(const task::Task& t, const std::vector<Choices>& programs) {
  KnownTask k{t.key, t.label, likeness_of(t), {}};
  const Translator translator(t);
  for (const Choices& c : programs) {
    if (auto r = translator.recipe(c)) k.programs.push_back({*std::move(r), 1});
  }
  return k;
}

std::vector<Choices> draw(const space::Space& s, size_t n, Rng& rng) {
  std::vector<Choices> out;
  for (size_t tries = 0; out.size() < n && tries < 50 * n; ++tries) {
    const auto p = s.sample(rng);
    if (p) out.push_back(p->choices);
  }
  return out;
}

TEST(StructureNames, MeanTheSameWhateverFollows) {
  const auto alone = search::structure_names(conv({}), 0);
  for (const After after : {After::kRelu, After::kBiasRelu, After::kResidual}) {
    auto names = search::structure_names(conv({.after = after}), 0);
    EXPECT_NE(names, alone);
    EXPECT_TRUE(std::is_permutation(names.begin(), names.end(), alone.begin(), alone.end()));
  }
  EXPECT_EQ(alone[0], "template");
  EXPECT_EQ(std::set<std::string>(alone.begin(), alone.end()).size(), alone.size());
}

TEST(StageRoles, NameWhatStagesAreToTheWork) {
  const StageRoles long_one(*conv({.after = After::kBiasRelu}).dag);
  std::vector<std::string> words;  // X W B pad conv bias relu
  for (int i = 0; i < 7; ++i) words.push_back(long_one.role(i));
  EXPECT_EQ(words,
            (std::vector<std::string>{"x2", "w1", "in2", "x1", "anchor", "after1", "last+out"}));
  EXPECT_EQ(long_one.role(8), "made1");
  EXPECT_EQ(long_one.role(-1), "program");
  const StageRoles alone(*conv({.kernel = 1}).dag);  // X W conv
  EXPECT_EQ(alone.role(2), "anchor+last+out");
  EXPECT_EQ(alone.stages("last+out"), std::vector<schedule::StageId>{2});
  EXPECT_EQ(alone.stages("after1"), std::vector<schedule::StageId>{});
  EXPECT_EQ(alone.stages("made1"), std::vector<schedule::StageId>{4});
  EXPECT_EQ(long_one.stages("anchor+last+out"), (std::vector<schedule::StageId>{4, 6}));
}

// The same sizes: every choice is legal in the other, so that none is changed.
TEST(Transplant, KeepsFactorsBetweenEpilogues) {
  const After afters[] = {After::kNothing, After::kRelu, After::kBiasRelu};
  const auto factors = [](const Choices& c) {
    std::multiset<std::pair<int32_t, int64_t>> out;
    for (const space::Choice& x : c) {
      if (x.hole.kind == HoleKind::kFactor) out.insert({x.hole.number, x.value});
    }
    return out;
  };
  int kept = 0;
  for (const After a : afters) {
    const task::Task from = conv({.after = a});
    const auto from_space = search::make_space("sketch", from);
    Rng rng(5);
    for (const Choices& c : draw(*from_space, 12, rng)) {
      const Recipe recipe = *Translator(from).recipe(c);
      if (recipe.algorithm != 0 || !recipe.structure.starts_with("fuse")) continue;
      for (const After b : afters) {
        const task::Task to = conv({.after = b});
        const auto to_space = search::make_space("sketch", to);
        const auto got = transplants(*to_space, {known(from, {c})}, 1);
        if (got.empty()) continue;
        ++kept;
        EXPECT_EQ(factors(got[0].program.choices), factors(c)) << to_text(recipe);
        EXPECT_EQ(*Translator(to).recipe(got[0].program.choices)->structure.begin(), 'f');
      }
    }
  }
  EXPECT_GT(kept, 20);
}

TEST(Transplant, GivesBackTheProgramInItsOwnTask) {
  for (const auto& t : {conv({.after = After::kRelu}), matmul(12, 32, 24), depthwise(8, 7)}) {
    const auto space = search::make_space("joint", t);
    Rng rng(3);
    for (const Choices& c : draw(*space, 10, rng)) {
      const auto program = space->build({c});
      ASSERT_TRUE(program);
      const auto got = transplants(*space, {known(t, {c})}, 1);
      if (got.empty()) {  // it is a seed
        const auto seeds = space->first();
        EXPECT_TRUE(std::any_of(seeds.begin(), seeds.end(),
                                [&](const Program& s) { return s.hash == program->hash; }));
        continue;
      }
      EXPECT_EQ(got[0].program.choices, c);
      EXPECT_EQ(got[0].task, t.key);
    }
  }
}

// Each choice that the other task's program has, or the legal value that is nearest to it.
std::string fault_of_values(const space::Space& s, const Choices& wanted, const Choices& got) {
  space::Partial p;
  for (const space::Choice& c : got) {
    const auto hole = s.next(p);
    if (!hole || hole->id != c.hole) return "another hole";
    const auto it = std::find_if(wanted.begin(), wanted.end(),
                                 [&](const space::Choice& w) { return w.hole == c.hole; });
    const int64_t expected = it == wanted.end() ? hole->rule : hole->domain.nearest(it->value);
    if (c.value != expected) return std::string(hole->name) + " is another value";
    p.made.push_back(c);
  }
  return "";
}

TEST(Transplant, TakesTheNearestLegalValue) {
  const task::Task from = matmul(12, 32, 24), to = matmul(10, 21, 22, After::kRelu);
  const auto from_space = search::make_space("sketch", from);
  const auto to_space = search::make_space("sketch", to);
  Rng rng(2);
  size_t fitted = 0, changed = 0;
  for (const Choices& c : draw(*from_space, 20, rng)) {
    const auto wanted = Translator(to).choices(*Translator(from).recipe(c));
    ASSERT_TRUE(wanted);
    for (const Transplant& t : transplants(*to_space, {known(from, {c})}, 1)) {
      ++fitted;
      EXPECT_EQ(fault_of_values(*to_space, *wanted, t.program.choices), "");
      changed += Translator(to).recipe(t.program.choices) != Translator(from).recipe(c) ? 1 : 0;
    }
  }
  EXPECT_GT(fitted, 10u);
  EXPECT_GT(changed, 5u);
}

TEST(Transplant, PassesOverWhatTheTaskDoesNotHave) {
  const task::Task t = conv({.kernel = 1});
  const auto space = search::make_space("joint", t);
  KnownTask k{"1", "", likeness_of(t), {}};
  k.programs.push_back({{.algorithm = 1, .structure = "template", .choices = {}}, 1});  // winograd
  k.programs.push_back({{.algorithm = 0, .structure = "no such", .choices = {}}, 1});
  k.programs.push_back({{.algorithm = 99, .structure = "template", .choices = {}}, 1});
  EXPECT_TRUE(transplants(*space, {k}, 8).empty());
}

TEST(Transplant, TakesTurnsBetweenTasks) {
  const task::Task t = conv({.after = After::kRelu});
  const auto space = search::make_space("sketch", t);
  std::vector<KnownTask> nearest;
  Rng rng(9);
  for (const auto& other : {conv({}), conv({.size = 9}), conv({.out = 8})}) {
    nearest.push_back(known(other, draw(*search::make_space("sketch", other), 6, rng)));
  }
  const auto all = transplants(*space, nearest, 6);
  ASSERT_EQ(all.size(), 6u);
  std::set<uint64_t> hashes;
  for (const Transplant& one : all) hashes.insert(one.program.hash);
  EXPECT_EQ(hashes.size(), all.size());
  EXPECT_EQ(all[0].task, nearest[0].key);
  std::set<std::string> tasks;
  for (const Transplant& one : all) tasks.insert(one.task);
  EXPECT_GT(tasks.size(), 1u);
  const auto again = transplants(*space, nearest, 6);
  ASSERT_EQ(again.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(again[i].program.hash, all[i].program.hash);
}

double fastest(const task::Task& t, const std::vector<schedule::Trace>& traces) {
  measure::SimOptions sim;
  sim.noise = 0;
  double best = std::numeric_limits<double>::infinity();
  for (const task::Measurement& m :
       measure::measure(*measure::sim_measurer(sim), t, traces, 0, [] { return false; })) {
    if (has_time(m)) best = std::min(best, m.median_s);
  }
  return best;
}

std::vector<schedule::Trace> traces_of(const space::Space& s, const std::vector<Choices>& all) {
  std::vector<schedule::Trace> out;
  for (const Choices& c : all) out.push_back(s.build({c})->trace);
  return out;
}

// The best four of many draws for one task, in another: faster than the best of four draws for that, on the pretend
// device.
TEST(Transplant, IsBetterThanDrawing) {
  const size_t many = 120;
  const std::pair<task::Task, task::Task> pairs[] = {
      {conv({.in = 64, .out = 64, .size = 28}),
       conv({.in = 128, .out = 128, .size = 14, .after = After::kBiasRelu})},
      {conv({.in = 96, .out = 32, .size = 14, .kernel = 1, .after = After::kRelu}),
       conv({.in = 128, .out = 64, .size = 28, .kernel = 1})},
      {matmul(128, 256, 128, After::kRelu), matmul(96, 512, 256)},
  };
  double gain = 0;
  for (const auto& [from, to] : pairs) {
    const auto from_space = search::make_space("sketch", from);
    const auto to_space = search::make_space("sketch", to);
    Rng rng(11);
    std::vector<std::pair<double, Choices>> drawn;
    for (const Choices& c : draw(*from_space, many, rng)) {
      drawn.push_back({fastest(from, traces_of(*from_space, {c})), c});
    }
    std::sort(drawn.begin(), drawn.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Choices> best;
    for (size_t i = 0; i < 4; ++i) best.push_back(drawn[i].second);
    std::vector<schedule::Trace> moved;
    for (const Transplant& t : transplants(*to_space, {known(from, best)}, 4)) {
      moved.push_back(t.program.trace);
    }
    const double here = fastest(to, moved);
    const double blind = fastest(to, traces_of(*to_space, draw(*to_space, 4, rng)));
    std::printf("%s: %.2f times as fast as the best of as many draws\n", to.label.c_str(),
                blind / here);
    gain += std::log(blind / here) / static_cast<double>(std::size(pairs));
  }
  EXPECT_GT(std::exp(gain), 1.2);
}

// Whatever comes of a program of one task in another computes what the other's definition does.
void expect_right_or_refused(uint64_t seed, int pairs) {
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Rng rng(seed);
  const auto kinds = alike_tasks();
  int fitted = 0, drawn = 0;
  for (int i = 0; i < pairs; ++i) {
    const auto& kind = kinds[static_cast<size_t>(i) % kinds.size()];
    const auto &from = rng.pick(kind), &to = rng.pick(kind);
    const auto from_space = search::make_space("joint", from.task);
    const auto to_space = search::make_space("joint", to.task);
    const auto programs = draw(*from_space, 4, rng);
    drawn += static_cast<int>(programs.size());
    for (const Transplant& t : transplants(*to_space, {known(from.task, programs)}, 8)) {
      ++fitted;
      ASSERT_EQ(search::fault_of(to.task, t.program), "") << from.name << " in " << to.name;
    }
  }
  std::printf("%d of %d programs fitted\n", fitted, drawn);
  EXPECT_GT(fitted, drawn / 3);
}

TEST(Transplant, IsRightOrRefused) { expect_right_or_refused(20261, kSanitized ? 30 : 100); }
TEST(TransplantStatistics, IsRightOrRefused) {
  expect_right_or_refused(20262, kSanitized ? 30 : 300);
}

// ---- where programs come from ---------------------------------------------------------------------------------

void record(Recorded& r, const task::Task& t, const Program& p, double seconds) {
  task::Measurement m;
  m.task = t.key;
  m.target = kMachine;
  m.protocol = kHow;
  m.trace = schedule::to_json(p.trace);
  m.choices = space::to_json(p.choices);
  m.seconds = {seconds};
  m.best_s = m.median_s = m.low_s = m.high_s = seconds;
  r.db->record({m});
}

TEST(KnownPrograms, AreThoseOfTheNearestTasks) {
  Recorded r;
  const task::Task far = matmul(16, 8, 128), near = matmul(12, 32, 24), own = matmul(12, 32, 32);
  for (const task::Task& t : {far, near, own}) {
    r.add_row(t);
    const auto space = search::make_space("sketch", t);
    Rng rng(1);
    double seconds = 1e-3;
    for (const Choices& c : draw(*space, 3, rng)) {
      record(r, t, *space->build({c}), seconds);
      seconds *= 1.15;  // the third is no example any more
    }
  }
  r.db->add_task({"0123456789abcdef", "this is no text of a dag", "", "", 0});
  KnownPrograms known;
  known.add_records(*r.db, where(own));
  const auto nearest = known.nearest(own, 4);
  ASSERT_EQ(nearest.size(), 2u);
  EXPECT_EQ(nearest[0].key, near.key);
  EXPECT_EQ(nearest[1].key, far.key);
  ASSERT_EQ(nearest[0].programs.size(), 2u);
  EXPECT_EQ(nearest[0].programs[0].relative, 1);
  EXPECT_NEAR(nearest[0].programs[1].relative, 1.15, 1e-9);
  // What is recorded later is seen.
  const task::Task newer = matmul(12, 32, 40);
  r.add_row(newer);
  const auto space = search::make_space("sketch", newer);
  Rng rng(4);
  record(r, newer, *space->build({draw(*space, 1, rng).at(0)}), 1e-3);
  EXPECT_EQ(known.nearest(own, 1).at(0).key, newer.key);
}

// Finals measure the best again and do not say choices.
TEST(KnownPrograms, KeepChoicesOfWhatIsMeasuredAgain) {
  const task::Task t = matmul(12, 32, 24);
  const auto space = search::make_space("sketch", t);
  Rng rng(1);
  const Program p = *space->build({draw(*space, 1, rng).at(0)});
  task::Measurement m;
  m.task = t.key;
  m.trace = schedule::to_json(p.trace);
  m.choices = space::to_json(p.choices);
  m.seconds = {1e-3};
  m.best_s = m.median_s = 1e-3;
  task::Measurement again = m;
  again.choices.clear();
  EXPECT_EQ(best_programs({m, again}, Translator(t), 3).size(), 1u);
  EXPECT_TRUE(best_programs({again}, Translator(t), 3).empty());
}

std::vector<KnownTask> some_tasks() {
  std::vector<KnownTask> out;
  Rng rng(6);
  for (const auto& t : {conv({}), conv({.after = After::kRelu}), matmul(12, 32, 24)}) {
    out.push_back(known(t, draw(*search::make_space("joint", t), 3, rng)));
    for (size_t i = 0; i < out.back().programs.size(); ++i) {
      out.back().programs[i].relative = 1 + 0.125 * static_cast<double>(i);
    }
  }
  return out;
}

void expect_same(const std::vector<KnownTask>& a, const std::vector<KnownTask>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].key, b[i].key);
    EXPECT_EQ(a[i].label, b[i].label);
    EXPECT_EQ(a[i].likeness, b[i].likeness);
    ASSERT_EQ(a[i].programs.size(), b[i].programs.size());
    for (size_t p = 0; p < a[i].programs.size(); ++p) {
      EXPECT_EQ(a[i].programs[p].recipe, b[i].programs[p].recipe);
      EXPECT_EQ(a[i].programs[p].relative, b[i].programs[p].relative);
    }
  }
}

TEST(ProgramTable, IsReadBack) {
  const auto tasks = some_tasks();
  const std::string text = to_table(tasks);
  const Table table = read_table(text);
  EXPECT_EQ(table.left_out, 0u);
  expect_same(table.tasks, tasks);
  EXPECT_EQ(to_table(table.tasks), text);
}

TEST(ProgramTable, HasTheBestOfEachTaskWhereRoomIsScarce) {
  const auto tasks = some_tasks();
  const std::string all = to_table(tasks);
  const std::string text = to_table(tasks, all.size() / 2);
  EXPECT_LE(text.size(), all.size() / 2);
  const Table table = read_table(text);
  ASSERT_EQ(table.tasks.size(), tasks.size());
  for (const KnownTask& t : table.tasks) EXPECT_EQ(t.programs[0].relative, 1);
}

TEST(ProgramTable, LeavesOutDamagedLines) {
  const std::string text = to_table(some_tasks());
  const size_t second = text.find('\n', text.find('\n') + 1) + 1;
  const char* damaged[] = {
      "no tabs at all\n",
      "zz\tl\tconv2.f32 y0=3\t1.0\t0 tile\n",
      "1f\tl\tconv2.f32 y0=3\t0.5\t0 tile\n",
      "1f\tl\tconv2.f32 y0=3\tnan\t0 tile\n",
      "1f\tl\tconv2.f32 y0\t1.0\t0 tile\n",
      "1f\tl\tconv2.f32 y0=3\t1.0\t0\n",
      "1f\tl\tconv2.f32 y0=3\t1.0\t-1 tile\n",
      "1f\tl\tconv2.f32 y0=3\t1.0\t0 tile factor@out.1\n",
      "1f\tl\tconv2.f32 y0=3\t1.0\t0 tile oven@out.1=2\n",
      "1f\tl\tconv2.f32 y0=3\t1.0\t0 tile layout@program.1=2\n",
      "1f\tl\tconv2.f32 y0=3\t1.0\t0 tile factor@out.1=99999999999999999999\n",
  };
  for (const char* line : damaged) {
    const Table table = read_table(text.substr(0, second) + line + text.substr(second));
    EXPECT_EQ(table.left_out, 1u) << line;
    size_t programs = 0;
    for (const KnownTask& t : table.tasks) programs += t.programs.size();
    EXPECT_EQ(programs, 9u) << line;
  }
  EXPECT_TRUE(read_table("# tenon programs 2\n" + text.substr(text.find('\n') + 1)).tasks.empty());
  EXPECT_TRUE(read_table("").tasks.empty());
}

// Cut and changed at random: never more than what is left out.
TEST(ProgramTable, StandsDamage) {
  const uint64_t seed = 20262;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Rng rng(seed);
  const std::string text = to_table(some_tasks());
  const task::Task t = conv({.after = After::kBiasRelu});
  const auto space = search::make_space("template", t);
  for (int i = 0; i < 200; ++i) {
    std::string bad = text;
    for (int n = 0; n < 4; ++n) {
      bad[static_cast<size_t>(rng.between(0, std::ssize(bad) - 1))] =
          static_cast<char>(rng.between(1, 255));
    }
    bad.resize(static_cast<size_t>(rng.between(0, std::ssize(bad))));
    const Table table = read_table(bad);
    if (i % 20 == 0) transplants(*space, table.tasks, 4);
  }
}

}  // namespace
}  // namespace tenon::history
