// SPDX-License-Identifier: Apache-2.0
// Sketches for GPUs: which there are, and that programs of each of them, under every algorithm, are what
// they claim to be: by the interpreter, which finds races, and as kernels on SIMT.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "backend/backend.h"
#include "fuzz/random_dag.h"
#include "ir/print.h"
#include "lower/lower.h"
#include "search/gpu_tasks.h"
#include "search/programs.h"
#include "search/space/spaces.h"
#include "search/space/structures.h"
#include "search/strategy/mutation.h"
#include "simt/harness.h"
#include "support/sanitized.h"

namespace tenon::search {
namespace {

using space::Choices;
using space::HoleKind;
using space::Program;
using te::Builder;

// ---- which there are -----------------------------------------------------------------------------

struct Count {
  const char* name;
  std::vector<std::string> structures;
  Build build;
};
void PrintTo(const Count& c, std::ostream* out) { *out << c.name; }

std::vector<Count> counts() {
  const auto matmul = [](int64_t m, int64_t n, int64_t k) {
    return [=](Builder& b) {
      const auto a = b.input("A", ir::kF32, {m, k});
      b.output(te::matmul(b, "C", a, b.input("W", ir::kF32, {k, n})));
    };
  };
  return {
      {"matmul", {"tile", "split-tile", "gemm+tile", "gemm+split-tile"}, matmul(512, 512, 512)},
      {"large_matmul", {"tile", "gemm+tile"}, matmul(4096, 4096, 4096)},
      {"deep_matmul",
       {"share", "split-share", "tile", "split-tile", "gemm+share", "gemm+split-share", "gemm+tile",
        "gemm+split-tile"},
       matmul(8, 8, 1024)},
      {"softmax",
       {"rows+rows+rows", "share+share", "share", "share#2", "plain"},
       [](Builder& b) {
         b.output(te::softmax(b, "Y", b.input("X", ir::kF32, {1, 12, 128, 128})));
       }},
      {"row_min",
       {"share", "split-share", "plain"},
       [](Builder& b) {
         const auto x = b.input("X", ir::kF32, {10, 1024});
         b.output(te::reduce_dims(b, "Y", x, ir::BinaryOp::kMin, {1}, false));
       }},
      {"max_pool",
       {"plain"},
       [](Builder& b) {
         const auto x = b.input("X", ir::kF32, {1, 56, 56, 512});
         b.output(te::pool(b, "Y", x, te::Pool::kMax, {2, 2}, {{1, 1}, {1, 1}, {1, 1}, {}, 1}));
       }},
      {"winograd",
       {"transform+tile+transform", "transform+split-tile+transform",
        "gemm+transform+in-thread+tile+transform", "gemm+transform+in-thread+split-tile+transform"},
       [](Builder& b) { winograd(b, 64, 64, 64); }},
  };
}

class GpuSketchCounts : public testing::TestWithParam<Count> {};

TEST_P(GpuSketchCounts, AreThoseOfTheRules) {
  std::vector<std::string> names = structure_names(make_task(GetParam().build, "cuda sm_90"), 0);
  names.erase(names.begin());  // the template
  EXPECT_EQ(names, GetParam().structures);
}
INSTANTIATE_TEST_SUITE_P(Ops, GpuSketchCounts, testing::ValuesIn(counts()),
                         [](const auto& info) { return std::string(info.param.name); });

// A rule of a user's plans for its stage before the table's do.
TEST(GpuSketches, UserRulesComeFirst) {
  const SketchRule share{"share_all",
                         [](const Sketch& s, schedule::StageId id) {
                           const schedule::Stage& st = s.state.stage(id);
                           return !st.is_input() && st.op->is_reduction() ? Applies::kOnly
                                                                          : Applies::kNo;
                         },
                         [](const Sketch& s, schedule::StageId id) {
                           Sketch next = s;
                           next.plans.push_back({id, PlanKind::kShare});
                           const schedule::StageId before = stage_before(next.state, id);
                           return std::vector<Next>{{std::move(next), before}};
                         }};
  const task::Task t = make_task(
      [](Builder& b) {
        const auto a = b.input("A", ir::kF32, {6, 18});
        b.output(te::matmul(b, "C", a, b.input("W", ir::kF32, {18, 5})));
      },
      "cuda simt");
  ASSERT_EQ(make_sketches(t, std::span(&share, 1)).size(), 1u);
  const auto space = make_sketch_space(t, std::span(&share, 1));
  Rng rng(1);
  for (int i = 0; i < 5; ++i) {
    const auto p = space->sample(rng);
    ASSERT_TRUE(bool(p));
    EXPECT_EQ(fault_of(t, *p), "");
  }
}

// ---- that they are right -------------------------------------------------------------------------

struct Tally {
  int drawn = 0, refused = 0, checked = 0;
  std::map<std::string, int> why;

  void add(const Tally& t) {
    drawn += t.drawn;
    refused += t.refused;
    checked += t.checked;
    for (const auto& [name, n] : t.why) why[name] += n;
  }
};

std::string to_string(const std::map<std::string, int>& why) {
  std::string out;
  for (const auto& [name, n] : why) out += ", " + std::to_string(n) + " x " + name;
  return out;
}

// Programs of each structure of each algorithm of a task.
class Draws {
 public:
  Draws(const NamedTask& t, std::map<std::string, Tally>& tallies)
      : t_(t), space_(make_space("sketch", t.task)), tallies_(tallies) {}

  // So many programs of each, or as many as `draws` times as many draws give.
  template <class Fn>
  void each(int wanted, const Fn& check, uint64_t draws = 12) {
    draws_ = draws;
    if (space_ == nullptr) return;
    const auto algorithms = space_->next({});
    if (algorithms && algorithms->id.kind == HoleKind::kAlgorithm) {
      for (size_t i = 0; i < algorithms->domain.size(); ++i)
        each_structure({{algorithms->id, algorithms->domain.at(i)}}, wanted, check);
    } else {
      each_structure({}, wanted, check);
    }
  }

 private:
  template <class Fn>
  void each_structure(Choices prefix, int wanted, const Fn& check) {
    const int64_t algorithm = prefix.empty() ? 0 : prefix[0].value;
    const auto names = structure_names(t_.task, algorithm);
    const auto hole = space_->next({prefix});
    const bool many = hole && hole->id.kind == HoleKind::kStructure;
    for (size_t i = 0; i < (many ? hole->domain.size() : 1); ++i) {
      Choices c = prefix;
      if (many) c.push_back({hole->id, hole->domain.at(i)});
      const std::string name =
          (algorithm == 0 ? "" : "algorithm " + std::to_string(algorithm) + ", ") +
          names[many ? static_cast<size_t>(hole->domain.at(i)) : 1];
      draw(c, name, wanted, check);
    }
  }

  template <class Fn>
  void draw(const Choices& prefix, const std::string& name, int wanted, const Fn& check) {
    Tally& tally = tallies_[name];
    int found = 0;
    for (uint64_t seed = 0; seed < draws_ * static_cast<uint64_t>(wanted) && found < wanted;
         ++seed) {
      Rng rng(seed);
      space::Blindly blindly(rng);
      space::Follow follow(prefix, blindly);
      const auto p = space_->write(follow);
      ++tally.drawn;
      if (!p) {
        ++tally.refused;
        ++tally.why[std::string(illegal_name(p.illegal().code))];
        continue;
      }
      ++found;
      ++tally.checked;
      check(*space_, *p);
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(found, 0) << t_.name << ": no program of " << name << to_string(tally.why);
  }

  const NamedTask& t_;
  std::unique_ptr<space::Space> space_;
  std::map<std::string, Tally>& tallies_;
  uint64_t draws_ = 12;
};

void print(const std::string& name, const Tally& t) {
  std::printf("%-50s %5d drawn, %5d taken, %5d refused before code was made%s\n", name.c_str(),
              t.drawn, t.checked, t.refused, to_string(t.why).c_str());
}

Tally print(const std::map<std::string, Tally>& tallies) {
  Tally all;
  for (const auto& [name, t] : tallies) {
    print(name, t);
    all.add(t);
  }
  print("all of them", all);
  return all;
}

TEST(GpuSketches, ProgramsOfEachAreRight) {
  std::map<std::string, Tally> tallies;
  for (const NamedTask& t : gpu_tasks()) {
    SCOPED_TRACE(t.name);
    Rng rng(1);
    Draws(t, tallies).each(kSanitized ? 1 : 6, [&](const space::Space& s, const Program& p) {
      ASSERT_EQ(fault_of(t.task, p), "");
      const auto changed = mutated(s, p, rng);
      if (changed) ASSERT_EQ(fault_of(t.task, *changed), "");
    });
    if (HasFatalFailure()) break;
  }
  print(tallies);
}

// The same programs as kernels: SIMT gives the answer of the definition, and they become PTX.
TEST(GpuSketches, KernelsOfEachAreRight) {
  std::map<std::string, Tally> tallies;
  const auto ptx = backend::make_compiler(simt::gpu("sm_90"));
  for (const NamedTask& t : gpu_tasks()) {
    SCOPED_TRACE(t.name);
    Rng rng(1);
    const auto inputs = fuzz::random_inputs(*t.task.dag, rng);
    const auto expected = te::evaluate(*t.task.dag, inputs);
    Draws(t, tallies).each(1, [&](const space::Space&, const Program& p) {
      const auto f = lower::lower(p.state);
      ASSERT_TRUE(bool(f));
      std::vector<ir::Array> args = lower::pack_inputs(p.state, inputs);
      const auto first = static_cast<std::ptrdiff_t>(args.size());
      for (ir::Array& a : lower::make_outputs(p.state)) args.push_back(std::move(a));
      ASSERT_EQ(simt::run(*f, args), runtime::cuda::kSuccess) << ir::to_string(*f);
      const std::vector<ir::Array> outputs(args.begin() + first, args.end());
      const std::string why = fuzz::compare(expected, lower::unpack_outputs(p.state, outputs),
                                            *t.task.dag, p.state.error_factor());
      ASSERT_EQ(why, "") << schedule::to_text(p.trace, {t.task.dag, t.task.target});
      if (!kSanitized) EXPECT_FALSE(ptx->emit(*f, backend::Emit::kAssembly).bytes.empty());
    });
    if (HasFatalFailure()) break;
  }
  print(tallies);
}

std::vector<NamedTask> network_tasks() {
  std::vector<NamedTask> out;
  const auto add = [&](const char* name, const Build& build) {
    out.push_back({name, make_task(build, "cuda sm_90")});
  };
  const auto conv = [](int64_t in, int64_t filters, int64_t size, int64_t taps) {
    return [=](Builder& b) {
      const int64_t pad = taps / 2;
      const auto x = b.input("X", ir::kF32, {1, in, size, size});
      const auto w = b.constant("W", ir::kF32, {filters, in, taps, taps});
      b.output(te::relu(b, "R", te::conv(b, "Y", x, w, {{1, 1}, {pad, pad}, {pad, pad}, {}, 1})));
    };
  };
  add("conv 3x3 64@56", conv(64, 64, 56, 3));
  add("conv 3x3 512@7", conv(512, 512, 7, 3));
  add("conv 1x1 1024-256@14", conv(1024, 256, 14, 1));
  add("matmul 128x768x768", [](Builder& b) {
    const auto a = b.input("A", ir::kF32, {128, 768});
    b.output(te::matmul(b, "C", a, b.constant("W", ir::kF32, {768, 768})));
  });
  add("dense 2048-1000", [](Builder& b) {
    const auto a = b.input("A", ir::kF32, {1, 2048});
    b.output(te::matmul(b, "C", a, b.constant("W", ir::kF32, {2048, 1000})));
  });
  add("softmax 12x128x128", [](Builder& b) {
    b.output(te::softmax(b, "Y", b.input("X", ir::kF32, {12, 128, 128})));
  });
  return out;
}

// What is drawn for shapes of networks is mostly accepted, and what is accepted becomes code.
TEST(GpuSketches, OfNetworksBecomeCode) {
  std::map<std::string, Tally> tallies;
  const auto ptx = backend::make_compiler(simt::gpu("sm_90"));
  int64_t made = 0;
  for (const NamedTask& t : network_tasks()) {
    SCOPED_TRACE(t.name);
    int64_t n = 0;
    Draws(t, tallies).each(kSanitized ? 2 : 20, [&](const space::Space&, const Program& p) {
      if (n++ % (kSanitized ? 100 : 40) != 0) return;
      const auto f = lower::lower(p.state);
      ASSERT_TRUE(bool(f)) << schedule::to_text(p.trace, {t.task.dag, t.task.target});
      EXPECT_FALSE(ptx->emit(*f, backend::Emit::kAssembly).bytes.empty());
      ++made;
    });
  }
  const Tally all = print(tallies);
  std::printf("%d of them became PTX\n", static_cast<int>(made));
  EXPECT_LT(all.refused * 10, all.drawn * 6);
}

}  // namespace
}  // namespace tenon::search
