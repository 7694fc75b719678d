// SPDX-License-Identifier: Apache-2.0
#include "files/file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tenon::files {
namespace {

namespace fs = std::filesystem;

class WholeFiles : public ::testing::Test {
 protected:
  WholeFiles() : root_(fs::path(::testing::TempDir()) / ("whole" + std::to_string(getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~WholeFiles() override { fs::remove_all(root_); }

  std::string path(const std::string& name) const { return (root_ / name).string(); }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name) << text;
  }
  size_t entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(root_), fs::directory_iterator()));
  }

  fs::path root_;
};

TEST_F(WholeFiles, ReplacesAndLeavesNothingBeside) {
  write_file(path("report.html"), "one");
  write_file(path("report.html"), "two");
  EXPECT_EQ(read_file(path("report.html")), "two");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(WholeFiles, LinksAreReplacedAndNotFollowed) {
  put("precious", "keep");
  fs::create_symlink(path("precious"), path("report.html"));
  // A name that could be guessed before.
  fs::create_symlink(path("precious"), path("report.html.tmp" + std::to_string(getpid())));
  write_file(path("report.html"), "page");
  EXPECT_EQ(read_file(path("precious")), "keep");
  EXPECT_FALSE(fs::is_symlink(path("report.html")));
  EXPECT_EQ(read_file(path("report.html")), "page");
  EXPECT_EQ(entries(), 3U);
}

TEST_F(WholeFiles, PermissionsStay) {
  put("secret", "old");
  fs::permissions(path("secret"), fs::perms::owner_read | fs::perms::owner_write);
  write_file(path("secret"), "new");
  EXPECT_EQ(fs::status(path("secret")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(WholeFiles, DevicesAreWrittenAsTheyAre) {
  write_file("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THROW(write_file("/dev/full", "x"), UserError);
}

TEST_F(WholeFiles, AFullDiskLeavesTheOldFile) {
  put("records", "old");
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {1000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string said;
  try {
    write_file(path("records"), std::string(5000, 'x'));
  } catch (const UserError& e) {
    said = e.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(said, path("records") + ": cannot be written: File too large");
  EXPECT_EQ(read_file(path("records")), "old");
  EXPECT_EQ(entries(), 1U) << "half a file was left";
}

TEST_F(WholeFiles, WhatOthersWriteIsMovedInWhole) {
  put("agent.bin", "old");
  EXPECT_THROW(replace_file(path("agent.bin"),
                            [&](const std::string& file) {
                              std::ofstream(file) << "half";
                              throw UserError("no more");
                            }),
               UserError);
  EXPECT_EQ(read_file(path("agent.bin")), "old");
  replace_file(path("agent.bin"), [](const std::string& file) {
    EXPECT_TRUE(file.ends_with(".bin"));
    std::ofstream(file) << "new";
  });
  EXPECT_EQ(read_file(path("agent.bin")), "new");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(WholeFiles, NewFilesHaveNamesThatNobodyGuesses) {
  const std::string a = write_new_file(path("report-XXXXXX.txt"), "a");
  const std::string b = write_new_file(path("report-XXXXXX.txt"), "b");
  EXPECT_NE(a, b);
  EXPECT_TRUE(a.ends_with(".txt")) << a;
  EXPECT_EQ(read_file(a), "a");
  EXPECT_THROW(write_new_file(path("missing/report-XXXXXX.txt"), "a"), UserError);
}

}  // namespace
}  // namespace tenon::files
