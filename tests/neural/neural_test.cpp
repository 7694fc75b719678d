// SPDX-License-Identifier: Apache-2.0
// Networks that tenon compiles against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cost/models/shared.h"
#include "cost/models/treegru.h"
#include "cost/random_rows.h"
#include "cost/random_trees.h"
#include "neural/models.h"
#include "support/check.h"
#include "support/parallel.h"
#include "support/private_folder.h"

namespace tenon::neural {
namespace {

namespace fs = std::filesystem;
using cost::Keep;
using cost::Row;
using cost::TreeNetwork;

void expect_like_plain(const TreeNetwork& net, const cost::TreeScorer& scorer,
                       const std::vector<Row>& rows) {
  const auto right = cost::plain_tree_scorer(net, Keep::kForThisRun)->score(rows);
  const auto got = scorer.score(rows);
  ASSERT_EQ(got.size(), right.size());
  for (size_t i = 0; i < right.size(); ++i) EXPECT_NEAR(got[i], right[i], 1e-5) << i;
}

// Of 7 nodes under one of the last 3: 7 deep at most, 3 abreast.
TEST(Compiled, ScoresTreesAsPlainLoopsDo) {
  Rng rng(1);
  const TreeNetwork net = cost::random_tree_network({6, 16, 3}, rng);
  const auto make = compiled_tree_scorers(
      {.cache = {}, .threads = 1, .form = {.batch = 5, .depths = 7, .width = 3}});
  const auto scorer = make(net, Keep::kForThisRun);
  expect_like_plain(net, *scorer, cost::random_trees(6, 12, 7, 3, rng));
  EXPECT_TRUE(scorer->score({}).empty());
  EXPECT_THROW(scorer->score(std::vector<Row>{cost::random_tree(6, 8, 1, rng)}), InternalError);
}

void expect_like_plain(const cost::AttentionNetwork& net, const cost::RowsScorer& scorer,
                       const std::vector<Row>& sets) {
  for (uint32_t o = 0; o < net.sizes.outputs; ++o) {
    const auto right = cost::plain_rows_scorer(net, Keep::kForThisRun)->score(sets, o);
    const auto got = scorer.score(sets, o);
    ASSERT_EQ(got.size(), right.size());
    for (size_t i = 0; i < right.size(); ++i) {
      EXPECT_NEAR(got[i], right[i], 1e-5 * std::max(1.0F, std::abs(right[i]))) << i;
    }
  }
}

// Sets of 8 and 9 rows are longer than any padding.
TEST(CompiledRows, ScoreSetsAsPlainLoopsDo) {
  Rng rng(3);
  const auto make =
      compiled_rows_scorers({.cache = {}, .threads = 1, .rows = {.batch = 5, .paddings = {3, 7}}});
  for (const tenon_attention_sizes sizes :
       {tenon_attention_sizes{5, 12, 3, 2}, tenon_attention_sizes{3, 6, 1, 1}}) {
    const auto net = cost::random_attention_network(sizes, rng);
    const auto scorer = make(net, Keep::kForThisRun);
    expect_like_plain(net, *scorer, cost::random_sets(sizes.columns, 33, 9, rng));
    EXPECT_TRUE(scorer->score({}, 0).empty());
    EXPECT_THROW(scorer->score({}, sizes.outputs), InternalError);
  }
}

// With the form that cost models use, from several threads that all need a padding first.
TEST(CompiledRows, ScoreFromSeveralThreads) {
  Rng rng(4);
  const auto net = cost::random_attention_network({40, 64, 4, 1}, rng);
  const auto scorer = compiled_rows_scorers({.cache = {}, .threads = 2})(net, Keep::kForThisRun);
  const auto sets = cost::random_sets(40, 70, 20, rng);
  std::vector<std::vector<float>> answers(4);
  for_each_parallel(answers.size(), 4, [&](size_t i) { answers[i] = scorer->score(sets, 0); });
  expect_like_plain(net, *scorer, sets);
  for (const auto& a : answers) EXPECT_EQ(a, answers[0]);
}

TEST(CompiledRows, PaddingDoesNotChangeAScore) {
  Rng rng(5);
  const auto net = cost::random_attention_network({5, 12, 3, 1}, rng);
  const auto scorer =
      compiled_rows_scorers({.cache = {}, .threads = 1, .rows = {.batch = 3, .paddings = {2, 7}}})(
          net, Keep::kForThisRun);
  const Row small = cost::random_set(5, 2, rng), large = cost::random_set(5, 7, rng);
  const float alone = scorer->score(std::vector<Row>{small}, 0)[0];
  const float beside = scorer->score(std::vector<Row>{large, small}, 0)[1];
  EXPECT_NEAR(beside, alone, 1e-5 * std::max(1.0F, std::abs(alone)));
}

TEST(CompiledRows, AreKeptForOthers) {
  Rng rng(6);
  const auto net = cost::random_attention_network({5, 12, 3, 1}, rng);
  const PrivateFolder folder = PrivateFolder::temporary("test");
  const fs::path cache = folder.path() / "networks";
  const CompileNetworks how{.cache = cache, .threads = 1, .rows = {.batch = 3, .paddings = {2, 7}}};
  const auto sets = cost::random_sets(5, 3, 2, rng);
  const auto kept = [&] {
    return std::distance(fs::directory_iterator(cache), fs::directory_iterator());
  };
  const auto first = compiled_rows_scorers(how)(net, Keep::kForOthers)->score(sets, 0);
  EXPECT_EQ(kept(), 1);  // the other padding was not needed
  EXPECT_EQ(compiled_rows_scorers(how)(net, Keep::kForOthers)->score(sets, 0), first);
  EXPECT_EQ(kept(), 1);
  const auto other = cost::random_attention_network({5, 12, 3, 1}, rng);
  compiled_rows_scorers(how)(other, Keep::kForThisRun)->score(sets, 0);
  EXPECT_EQ(kept(), 1);
  compiled_rows_scorers(how)(other, Keep::kForOthers)->score(sets, 0);
  EXPECT_EQ(kept(), 2);
}

class CompiledTreeGru : public testing::Test {
 protected:
  std::string saved_model() const {
    const std::string columns =
        cost::body_of_saved("treegru", cost::make_model("treegru", 1, 1)->save());
    const auto* bytes = reinterpret_cast<const char*>(net_.weights.data());
    return cost::saved("treegru", columns + std::string(bytes, net_.weights.size() * 4));
  }
  std::vector<fs::path> kept() const {
    std::vector<fs::path> out;
    if (!fs::exists(cache_)) return out;
    for (const auto& e : fs::directory_iterator(cache_)) out.push_back(e.path());
    return out;
  }

  Rng rng_{2};
  TreeNetwork net_ = cost::random_tree_network(cost::kTreeGruSizes, rng_);
  std::vector<Row> rows_ = cost::random_trees(cost::kTreeColumns, 70, 21, 1, rng_);
  PrivateFolder folder_ = PrivateFolder::temporary("test");
  fs::path cache_ = folder_.path() / "networks";
};

TEST_F(CompiledTreeGru, ScoresAsPlainLoopsDoAndIsKeptBesideTheModel) {
  const CompileNetworks how{.cache = cache_, .threads = 2};
  const auto plain = cost::load_model(saved_model(), 1, 1)->score(rows_);
  const auto model = load_model(saved_model(), 1, how);
  const auto first = model->score(rows_);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(first[i], plain[i], 1e-5) << i;
  std::vector<std::vector<float>> answers(4);
  for_each_parallel(answers.size(), 4, [&](size_t i) { answers[i] = model->score(rows_); });
  for (const auto& a : answers) EXPECT_EQ(a, first);

  ASSERT_EQ(kept().size(), 1U);
  const auto made = fs::last_write_time(kept()[0]);
  EXPECT_EQ(load_model(saved_model(), 1, how)->score(rows_), first);
  EXPECT_EQ(fs::last_write_time(kept()[0]), made);
  // Damaged: it is compiled again.
  std::ofstream(kept()[0] / "treegru.json") << "{";
  EXPECT_EQ(load_model(saved_model(), 1, how)->score(rows_), first);
  EXPECT_EQ(kept().size(), 1U);
}

TEST_F(CompiledTreeGru, IsCompiledForThisRunWhereItCannotBeKept) {
  std::ofstream(cache_) << "a file";
  const auto make = compiled_tree_scorers({.cache = cache_, .threads = 1});
  expect_like_plain(net_, *make(net_, Keep::kForOthers), rows_);
}

TEST(NeuralModels, AreThoseOfTheTable) {
  for (const cost::ModelRow& r : cost::models()) {
    EXPECT_EQ(make_model(std::string(r.name), 1, {.cache = {}, .threads = 1})->name(), r.name);
  }
  EXPECT_THROW(make_model("nothing", 1, {.cache = {}, .threads = 1}), UserError);
}

}  // namespace
}  // namespace tenon::neural
