// SPDX-License-Identifier: Apache-2.0
// Trained models on disk: whole or not at all.
#include "history/model_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "files/file.h"
#include "history/recorded.h"
#include "support/check.h"

namespace tenon::history {
namespace {

ModelFile example(const std::string& bytes = "tenon cost model 2 xgb\nsome bytes\n\0more") {
  return {{.model = "xgb",
           .target = "here",
           .protocol = kHow,
           .triple = "x86_64-unknown-linux-gnu",
           .vector_bytes = 32,
           .features = "0123456789abcdef",
           .tenon = "0.1.0",
           .rows = 120,
           .records = 100,
           .tasks = {"a", "b"},
           .trained_at = 1700000000,
           .scores = {0.5, 0.75, 0.625, 1}},
          bytes};
}

std::string complaint(const std::string& text) {
  try {
    parse_model_file(text);
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

TEST(ModelFile, ComesBackAsItWas) {
  const ModelFile m = example(), back = parse_model_file(to_text(m));
  EXPECT_EQ(to_text(back), to_text(m));
  EXPECT_EQ(back.bytes, m.bytes);
  EXPECT_EQ(back.card.tasks, m.card.tasks);
  EXPECT_EQ(back.card.scores.top5, 0.75);
  EXPECT_EQ(trained_at_text(back.card), "2023-11-14T22:13:20Z");
}

TEST(ModelFile, HalfWrittenItIsASentenceAtEveryLength) {
  const std::string whole = to_text(example());
  for (size_t n = 0; n < whole.size(); ++n) {
    EXPECT_NE(complaint(whole.substr(0, n)), "") << n;
  }
}

TEST(ModelFile, AChangedByteIsASentenceAtEveryPlace) {
  const std::string whole = to_text(example());
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_NE(complaint(changed), "") << i;
  }
}

TEST(ModelFile, WhatIsNoneOrOfAnotherVersionIsSaid) {
  EXPECT_EQ(complaint("hello"), "it is no trained model");
  EXPECT_EQ(complaint("tenon history model 9 0\n"), "the model was saved by another version");
}

TEST(ModelFile, LiesBesideTheDatabaseByTargetProtocolAndModel) {
  const Recorded r;
  const Where here{nullptr, "here", kHow}, there{nullptr, "there", kHow},
      otherwise{nullptr, "here", "v1 threads=2 cold"};
  EXPECT_EQ(model_path(r.path, here, "xgb").parent_path(), models_folder(r.path));
  EXPECT_NE(model_path(r.path, here, "xgb"), model_path(r.path, there, "xgb"));
  EXPECT_NE(model_path(r.path, here, "xgb"), model_path(r.path, otherwise, "xgb"));
  EXPECT_NE(model_path(r.path, here, "xgb"), model_path(r.path, here, "other"));
  const auto link = r.folder.path() / "link.db";
  std::filesystem::create_symlink(r.path, link);
  EXPECT_EQ(models_folder(link), models_folder(r.path));
}

TEST(ModelFile, NoneIsNeitherAModelNorAComplaint) {
  const FoundModel none = read_model("/nowhere/at.all.model");
  EXPECT_FALSE(none.file);
  EXPECT_EQ(none.why, "");
}

// Whenever the writer dies, there is a whole file.
TEST(ModelFile, AWriterThatIsKilledLeavesAWholeFile) {
  const Recorded r;
  const auto path = model_path(r.path, {nullptr, kMachine, kHow}, "xgb");
  write_model(path, example());
  for (int pause_us = 0; pause_us < 4000; pause_us += 400) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int i = 0;; ++i) write_model(path, example(std::string(20000, static_cast<char>(i))));
    }
    usleep(static_cast<useconds_t>(pause_us));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const FoundModel found = read_model(path);
    ASSERT_TRUE(found.file) << found.why;
  }
  EXPECT_EQ(model_files(models_folder(r.path)).size(), 1U);
}

TEST(ModelFile, ForCostModelWithACardOrWithout) {
  const Recorded r;
  const std::string with = r.folder.path() / "with.model", without = r.folder.path() / "plain";
  files::write_file(with, to_text(example()));
  files::write_file(without, example().bytes);
  EXPECT_EQ(model_bytes(with), example().bytes);
  EXPECT_EQ(model_bytes(without), example().bytes);
  files::write_file(with, to_text(example()).substr(0, 60));
  try {
    model_bytes(with);
    FAIL() << "a damaged file was taken";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find(with), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tenon::history
