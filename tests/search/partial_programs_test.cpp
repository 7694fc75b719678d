// SPDX-License-Identifier: Apache-2.0
// Random partial programs of all families: every prefix of a program offers a value or is complete, a trace tells the
// choices that made it, and whatever a prefix is completed to computes what the definition does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "search/gpu_tasks.h"
#include "search/layout/layout_skeleton.h"
#include "search/programs.h"
#include "search/space/spaces.h"
#include "search/tasks.h"
#include "support/sanitized.h"

namespace tenon::search {
namespace {

using space::Choices;
using space::Partial;
using space::Program;

constexpr int kPrograms = kSanitized ? 1000 : 10000;  // sanitizers take twenty times as long
constexpr int kGpuPrograms = kSanitized ? 150 : 1500;
constexpr int kPerSpace = 40;     // programs drawn from one space before the next
constexpr int kInterpreted = 16;  // one of so many is compared with the interpreter

std::string text(const task::Task& t, const Program& p) {
  return schedule::to_text(p.trace, {t.dag, t.target}) + to_json(p.choices);
}

// The first `n` choices, and what is open after them.
std::string fault_of_prefix(const space::Space& s, const Program& p, size_t n) {
  const Partial prefix{
      Choices(p.choices.begin(), p.choices.begin() + static_cast<std::ptrdiff_t>(n))};
  const auto hole = s.next(prefix);
  if (n == p.choices.size()) return hole ? "a complete program has an open hole" : "";
  if (!hole) return "a prefix is complete";
  if (hole->id != p.choices[n].hole) return "another hole is open";
  if (hole->domain.size() < 2) return "a hole without a choice";
  if (!hole->domain.contains(p.choices[n].value)) return "the value that was taken is not offered";
  if (!hole->domain.contains(hole->rule)) return "the rule takes what is not offered";
  const auto chosen = s.choose(prefix, p.choices[n].value);
  return chosen && chosen->made.size() == n + 1 ? "" : "the value that was taken is refused";
}

struct Counts {
  int programs = 0, refused = 0, interpreted = 0;
};

class Checker {
 public:
  Checker(const task::Task& t, const space::Space& s, Counts& counts)
      : task_(t), space_(s), counts_(counts) {}

  void check(uint64_t seed) {
    Rng rng(seed);
    auto p = space_.sample(rng);
    if (!p) {
      ++counts_.refused;
      return;
    }
    ++counts_.programs;
    const auto n = static_cast<size_t>(rng.between(0, std::ssize(p->choices)));
    ASSERT_EQ(fault_of_prefix(space_, *p, n), "") << n << "\n" << text(task_, *p);
    const auto known = space_.recognise(p->trace);
    ASSERT_TRUE(known.has_value()) << text(task_, *p);
    check_known(*p, *known);
    check_completion(
        Choices(p->choices.begin(), p->choices.begin() + static_cast<std::ptrdiff_t>(n)), rng);
  }

 private:
  // Where two structures lead to the same steps (a sum without any), the first of them is found.
  void check_known(const Program& p, const Partial& known) {
    const auto structure = [](const Choices& c) {
      const auto it = std::find_if(c.begin(), c.end(), [](const space::Choice& x) {
        return x.hole.kind == space::HoleKind::kStructure;
      });
      return it == c.end() ? int64_t{-1} : it->value;
    };
    if (structure(known.made) == structure(p.choices)) {
      ASSERT_EQ(known.made, p.choices) << text(task_, p) << "\n" << to_json(known.made);
    } else {
      ASSERT_LT(structure(known.made), structure(p.choices));
      ASSERT_EQ(space_.build(known)->trace, p.trace) << to_json(known.made);
    }
  }

  // The prefix, and the rest blindly: it builds, or is refused with a reason.
  void check_completion(const Choices& prefix, Rng& rng) {
    space::Blindly blindly(rng);
    space::Follow follow(prefix, blindly);
    const auto p = space_.write(follow);
    if (!p) {
      ASSERT_NE(illegal_name(p.illegal().code), "");
      return;
    }
    for (size_t i = 0; i < prefix.size(); ++i) ASSERT_EQ(p->choices[i], prefix[i]);
    const auto again = space_.build({p->choices});
    ASSERT_TRUE(bool(again));
    ASSERT_EQ(again->hash, p->hash);
    if (counts_.programs % kInterpreted != 0) return;
    ++counts_.interpreted;
    ASSERT_EQ(fault_of(task_, *p), "");
  }

  const task::Task& task_;
  const space::Space& space_;
  Counts& counts_;
};

void check_all(const std::vector<NamedTask>& tasks, int wanted) {
  Counts counts;
  std::vector<std::unique_ptr<space::Space>> spaces;
  for (const NamedTask& t : tasks) spaces.push_back(make_space("joint", t.task));
  for (uint64_t round = 0; counts.programs < wanted; ++round) {
    for (size_t i = 0; i < tasks.size(); ++i) {
      Checker checker(tasks[i].task, *spaces[i], counts);
      for (uint64_t k = 0; k < kPerSpace; ++k) {
        checker.check(round * kPerSpace + k);
        if (testing::Test::HasFatalFailure()) {
          FAIL() << tasks[i].name << " seed " << round * kPerSpace + k;
        }
      }
    }
  }
  std::printf("%d programs, %d draws refused, %d interpreted\n", counts.programs, counts.refused,
              counts.interpreted);
  EXPECT_LT(counts.refused, counts.programs / 2);
}

TEST(PartialPrograms, AreLegalRecognisedAndRight) { check_all(small_tasks(), kPrograms); }

TEST(PartialPrograms, OfGpusAreLegalRecognisedAndRight) { check_all(gpu_tasks(), kGpuPrograms); }

// Layouts are the first decisions of the same chain; a sketch or a template of any algorithm follows.
TEST(PartialPrograms, BeginWithTheLayoutsOfTheEdges) {
  int layouts = 0, complete = 0;
  for (const NamedTask& t : small_tasks()) {
    const auto points = make_layout_space(*t.task.dag, *t.task.target);
    if (!points) continue;
    const auto s = make_operator_space(t.task, *points, "joint");
    ++layouts;
    Rng rng(4);
    for (int i = 0; i < 12; ++i) {
      const auto p = s->sample(rng);
      if (!p) continue;
      ++complete;
      ASSERT_EQ(p->choices.front().hole.kind, space::HoleKind::kLayout) << t.name;
      const auto edges = points->edges(point_of(p->choices, *points));
      ASSERT_TRUE(bool(edges)) << t.name;
      ASSERT_EQ(fault_of(task::make_task(t.task.dag, *edges, t.task.target), *p), "") << t.name;
    }
  }
  EXPECT_GE(layouts, 5);
  EXPECT_GE(complete, 30);
}

}  // namespace
}  // namespace tenon::search
