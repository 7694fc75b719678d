// SPDX-License-Identifier: Apache-2.0
// Models out of records: what they learn, how that is scored, and what a run begins with and leaves.
#include "history/train.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "files/file.h"
#include "history/recorded.h"
#include "history/renew.h"
#include "support/check.h"

namespace tenon::history {
namespace {

constexpr size_t kPrograms = 40;  // of each task

void add_tasks(Recorded& r, int64_t from = 1, int64_t to = 4) {
  for (int64_t i = from; i <= to; ++i) r.add(product(16 * i), kPrograms);
}

Where here() { return where(product(16)); }

Options options(const Recorded& r) {
  return {.database = r.path, .now = [] { return int64_t{1700000000}; }};
}

std::unique_ptr<cost::CostModel> fresh() { return cost::make_model("xgb", 7, 2); }

// ---- training ------------------------------------------------------------------------------------------------------

TEST(Train, LearnsFromAllTasksAndScoresOnHeldOutOnes) {
  Recorded r;
  add_tasks(r);
  const Trained t = train(*r.db, here(), {.now = 5});
  ASSERT_TRUE(t.file);
  const Card& c = t.file->card;
  EXPECT_EQ(c.model, "xgb");
  EXPECT_EQ(c.target, kMachine);
  EXPECT_EQ(c.rows, 4 * static_cast<int64_t>(kPrograms));
  EXPECT_EQ(c.tasks.size(), 4U);
  EXPECT_EQ(c.trained_at, 5);
  EXPECT_GE(c.scores.tasks, 1);
  EXPECT_LT(c.scores.tasks, 4);
  EXPECT_GT(c.scores.pairwise, 0.6);  // products of other sizes tell something of this one
  EXPECT_GE(c.scores.top5, c.scores.top1);
  const auto model = fresh();
  model->load(t.file->bytes);
  EXPECT_TRUE(model->trained());
  const auto known = read_records(*r.db, here()).tasks;
  EXPECT_GT(score(*model, encode(*model, known, 2)).pairwise, c.scores.pairwise - 0.05);
}

TEST(Train, TheSameRecordsGiveTheSameBytesOnAnyNumberOfThreads) {
  Recorded r;
  add_tasks(r, 1, 2);
  const Trained one = train(*r.db, here(), {.limits = {.threads = 1}});
  const Trained three = train(*r.db, here(), {.limits = {.threads = 3}});
  ASSERT_TRUE(one.file && three.file);
  EXPECT_EQ(to_text(*one.file), to_text(*three.file));
}

TEST(Train, TooFewRecordsOrAModelThatDoesNotLearnIsNoModel) {
  Recorded r;
  EXPECT_FALSE(train(*r.db, here(), {}).file);
  r.add(product(16), 4);
  EXPECT_FALSE(train(*r.db, here(), {}).file);
  add_tasks(r, 1, 2);
  EXPECT_FALSE(train(*r.db, here(), {.model = "random"}).file);
}

TEST(Train, OneTaskAloneHasNoScore) {
  Recorded r;
  r.add(product(16), kPrograms);
  const Trained t = train(*r.db, here(), {});
  ASSERT_TRUE(t.file);
  EXPECT_EQ(t.file->card.scores.tasks, 0);
}

TEST(Train, WhatCannotBeReadIsCounted) {
  Recorded r;
  add_tasks(r, 1, 2);
  r.add(product(16), "nonsense", 1e-3);
  const Trained t = train(*r.db, here(), {});
  ASSERT_TRUE(t.file);
  EXPECT_EQ(t.left_out, 1);
  EXPECT_NE(t.why, "");
}

TEST(Train, HoldingOutGoesByKeyAlone) {
  int held = 0;
  for (int i = 0; i < 1000; ++i) held += is_held_out(std::to_string(i)) ? 1 : 0;
  EXPECT_GT(held, 150);
  EXPECT_LT(held, 250);
}

// ---- what a run begins with ----------------------------------------------------------------------------------------

TEST(Begin, AnEmptyDatabaseTeachesNothingAndIsNoFault) {
  const Recorded r;
  const auto model = fresh();
  const Used used = begin(*r.db, here(), options(r), *model);
  EXPECT_EQ(used.from, "");
  EXPECT_TRUE(used.notes.empty());
  EXPECT_FALSE(model->trained());
}

TEST(Begin, TrainsOnceAndThenKeeps) {
  Recorded r;
  add_tasks(r, 1, 2);
  const auto first = fresh(), second = fresh();
  const Used trained = begin(*r.db, here(), options(r), *first);
  EXPECT_EQ(trained.from, "trained");
  EXPECT_TRUE(trained.notes.empty()) << trained.notes[0];
  const Used kept = begin(*r.db, here(), options(r), *second);
  EXPECT_EQ(kept.from, "kept");
  EXPECT_EQ(kept.card->records, trained.card->records);
  EXPECT_EQ(first->save(), second->save());
}

TEST(Begin, TrainsAgainWhenRecordsGrewByAFifth) {
  Recorded r;
  add_tasks(r, 1, 2);
  begin(*r.db, here(), options(r), *fresh());
  r.add(product(48), 15, 3);
  EXPECT_EQ(begin(*r.db, here(), options(r), *fresh()).from, "kept");
  r.add(product(64), 1, 4);
  const Used used = begin(*r.db, here(), options(r), *fresh());
  EXPECT_EQ(used.from, "trained");
  EXPECT_EQ(used.card->rows, 96);
}

// Another run measured what this one had not; or records were pruned: the model that knows more stays.
TEST(Begin, AModelThatKnowsMoreThanTheDatabaseStays) {
  Recorded r;
  add_tasks(r, 1, 2);
  begin(*r.db, here(), options(r), *fresh());
  r.db->prune({}, 3);
  EXPECT_EQ(begin(*r.db, here(), options(r), *fresh()).from, "kept");
}

TEST(Renew, LeavesWhatTheRunMeasuredToTheNext) {
  Recorded r;
  add_tasks(r, 1, 2);
  begin(*r.db, here(), options(r), *fresh());
  r.add(product(48), 2, 3);
  EXPECT_EQ(renew(*r.db, here(), options(r)), "");
  const Used used = begin(*r.db, here(), options(r), *fresh());
  EXPECT_EQ(used.from, "kept");
  EXPECT_EQ(used.card->rows, 82);
  EXPECT_EQ(used.card->tasks.size(), 3U);
}

TEST(Renew, AFolderThatCannotBeWrittenIsASentence) {
  Recorded r;
  add_tasks(r, 1, 1);
  files::write_file(models_folder(r.path).string(), "a file, not a folder");
  EXPECT_NE(renew(*r.db, here(), options(r)), "");
  const auto model = fresh();
  const Used used = begin(*r.db, here(), options(r), *model);
  EXPECT_EQ(used.from, "trained");  // it serves this run all the same
  ASSERT_EQ(used.notes.size(), 1U);
  EXPECT_NE(used.notes[0].find("cannot be kept"), std::string::npos) << used.notes[0];
}

// ---- files that cannot be used -------------------------------------------------------------------------------------

struct Harm {
  const char* name;
  void (*harm)(std::string& text);
  const char* said;
};

// Changes the card and hashes it anew, as another tenon would have written it.
template <class Change>
void rewrite(std::string& text, const Change& change) {
  ModelFile m = parse_model_file(text);
  change(m);
  text = to_text(m);
}

constexpr Harm kHarms[] = {
    {"empty", [](std::string& t) { t.clear(); }, "no trained model"},
    {"half", [](std::string& t) { t.resize(t.size() / 2); }, "damaged"},
    {"one byte short", [](std::string& t) { t.pop_back(); }, "damaged"},
    {"a flipped bit", [](std::string& t) { t[t.size() / 3] ^= 4; }, "damaged"},
    {"another file", [](std::string& t) { t = std::string(5000, 'x'); }, "no trained model"},
    {"another version", [](std::string& t) { t.replace(0, 22, "tenon history model 7 "); },
     "another version"},
    {"other features",
     [](std::string& t) { rewrite(t, [](ModelFile& m) { m.card.features = "f"; }); },
     "other features"},
    {"another target",
     [](std::string& t) { rewrite(t, [](ModelFile& m) { m.card.target = "there"; }); },
     "another target"},
    {"another protocol",
     [](std::string& t) { rewrite(t, [](ModelFile& m) { m.card.protocol = "v9"; }); },
     "another way"},
    {"another model",
     [](std::string& t) { rewrite(t, [](ModelFile& m) { m.card.model = "oracle"; }); },
     "another kind"},
};

TEST(Begin, AFileThatCannotBeUsedIsASentenceAndIsTrainedAgain) {
  Recorded r;
  add_tasks(r, 1, 2);
  const auto path = model_path(r.path, here(), "xgb");
  begin(*r.db, here(), options(r), *fresh());
  const std::string whole = files::read_file(path);
  const int64_t rows = count_rows(*r.db, here());
  for (const Harm& h : kHarms) {
    std::string text = whole;
    h.harm(text);
    files::write_file(path, text);
    const auto model = fresh();
    const Used used = begin(*r.db, here(), options(r), *model);
    EXPECT_EQ(used.from, "trained") << h.name;
    EXPECT_TRUE(model->trained()) << h.name;
    ASSERT_EQ(used.notes.size(), 1U) << h.name;
    EXPECT_NE(used.notes[0].find(h.said), std::string::npos) << h.name << ": " << used.notes[0];
    EXPECT_NE(used.notes[0].find(path), std::string::npos) << used.notes[0];
    EXPECT_EQ(files::read_file(path), whole) << h.name;  // from the same records, the same model
    EXPECT_EQ(count_rows(*r.db, here()), rows) << h.name;
  }
}

// The card is right and the hash is right, but the library does not take what is inside.
TEST(Begin, TreesThatCannotBeReadAreNoLossEither) {
  Recorded r;
  add_tasks(r, 1, 2);
  const auto path = model_path(r.path, here(), "xgb");
  begin(*r.db, here(), options(r), *fresh());
  std::string text = files::read_file(path);
  rewrite(text, [](ModelFile& m) { m.bytes = "tenon cost model 2 xgb\nnonsense"; });
  files::write_file(path, text);
  const auto model = fresh();
  const Used used = begin(*r.db, here(), options(r), *model);
  EXPECT_EQ(used.from, "trained");
  EXPECT_EQ(used.notes.size(), 1U);
  EXPECT_TRUE(model->trained());
}

// ---- models that ship ----------------------------------------------------------------------------------------------

TEST(Shipped, ServesAnEmptyDatabaseAndNoOther) {
  Recorded shop;
  add_tasks(shop, 1, 2);
  ModelFile m = *train(*shop.db, here(), {}).file;
  m.card.target = "the machine where it was trained";
  const Recorded r;
  Options o = options(r);
  o.shipped = shipped_places(r.folder.path() / "bin");
  EXPECT_EQ(begin(*r.db, here(), o, *fresh()).from, "");  // nothing ships: fine
  write_model(r.folder.path() / "share/tenon/models/x86.xgb.model", m);
  const auto model = fresh();
  const Used used = begin(*r.db, here(), o, *model);
  EXPECT_EQ(used.from, "shipped");
  EXPECT_TRUE(model->trained());
}

// A few programs of two tasks say less than a model that learned from many; one that knows the very tasks proves nothing.
TEST(Shipped, ServesADatabaseWhoseOwnModelKnowsLess) {
  Recorded shop;
  add_tasks(shop, 1, 8);
  ModelFile m = *train(*shop.db, here(), {}).file;
  m.card.target = "the machine where it was trained";
  Recorded r;
  Options o = options(r);
  o.shipped = {r.folder.path()};
  for (const int64_t side : {72, 88}) r.add(product(side), 12);
  const auto path = r.folder.path() / "x86.xgb.model";
  write_model(path, m);
  const Used used = begin(*r.db, here(), o, *fresh());
  EXPECT_EQ(used.from, "shipped");
  ASSERT_EQ(used.notes.size(), 1U);
  EXPECT_NE(used.notes[0].find("held out"), std::string::npos) << used.notes[0];
  const FoundModel kept = read_model(model_path(r.path, here(), "xgb"));
  ASSERT_TRUE(kept.file);
  EXPECT_GT(kept.file->card.shipped.pairwise, kept.file->card.scores.pairwise);
  EXPECT_EQ(begin(*r.db, here(), o, *fresh()).from, "shipped");  // as the kept file says

  // With all that the one that ships knows, and more, its own model is taken.
  Recorded rich;
  add_tasks(rich, 1, 8);
  Options alone = options(rich);
  alone.shipped = o.shipped;
  EXPECT_EQ(begin(*rich.db, here(), alone, *fresh()).from, "trained");
  EXPECT_EQ(begin(*rich.db, here(), alone, *fresh()).from, "kept");
}

TEST(Shipped, TheNearestMachineIsTaken) {
  const Recorded r;
  const auto place = r.folder.path() / "models";
  const auto add = [&](const char* name, int64_t vector_bytes, const char* triple, int64_t records,
                       const char* model) {
    Card c;
    c.model = model;
    c.target = name;
    c.triple = triple;
    c.vector_bytes = vector_bytes;
    c.records = records;
    write_model(place / (std::string(name) + ".model"), {c, ""});
  };
  const target::Target t = target::parse_target("x86-64-v3");
  EXPECT_FALSE(shipped_model({place}, t, "xgb").file);
  add("wide", 64, t.triple.c_str(), 9000, "xgb");
  add("arm", 32, "aarch64-unknown-linux-gnu", 9000, "xgb");
  add("other", 32, t.triple.c_str(), 9000, "tlp");
  EXPECT_EQ(shipped_model({place}, t, "xgb").file->card.target, "wide");
  add("few", 32, t.triple.c_str(), 10, "xgb");
  add("many", 32, t.triple.c_str(), 100, "xgb");
  EXPECT_EQ(shipped_model({place}, t, "xgb").file->card.target, "many");
}

}  // namespace
}  // namespace tenon::history
