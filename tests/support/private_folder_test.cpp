// SPDX-License-Identifier: Apache-2.0
#include "support/private_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "support/check.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

class Folders : public ::testing::Test {
 protected:
  Folders() : root_(fs::path(::testing::TempDir()) / ("folders" + std::to_string(getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~Folders() override { fs::remove_all(root_); }

  // As a process that is killed leaves it: the marker is there, and nobody holds it.
  fs::path abandoned() const {
    const fs::path kept = root_ / "kept";
    fs::path place;
    {
      const auto folder = PrivateFolder::beside(root_ / "out");
      place = folder.path();
      fs::copy(place, kept, fs::copy_options::recursive);
    }
    std::ofstream(kept / "net.h") << "half";
    fs::rename(kept, place);
    return place;
  }

  fs::path root_;
};

TEST_F(Folders, LivesAsLongAsItsOwner) {
  fs::path path;
  {
    auto f = PrivateFolder::beside(root_ / "out");
    path = f.path();
    EXPECT_EQ(path.parent_path(), root_);
    EXPECT_TRUE(path.filename().string().starts_with(".out-"));
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all) << "others can look inside";
    fs::create_directories(path / "a/b");
    const PrivateFolder moved = std::move(f);
    EXPECT_TRUE(fs::exists(path / "a/b"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Folders, WhatKilledProcessesLeftGoesAway) {
  const fs::path left = abandoned();
  ASSERT_TRUE(fs::exists(left / "net.h"));
  const auto alive = PrivateFolder::beside(root_ / "out");
  EXPECT_FALSE(fs::exists(left));
  const auto next = PrivateFolder::beside(root_ / "out");
  EXPECT_TRUE(fs::exists(alive.path())) << "its owner lives";
  EXPECT_FALSE(remove_if_abandoned(alive.path()));
}

TEST_F(Folders, WhatIsNotOursStays) {
  const fs::path left = abandoned();
  const std::string marker = ".tenon-folder";
  // Somebody's own copies, under names like ours.
  fs::copy(left, root_ / ".out-backup", fs::copy_options::recursive);
  fs::rename(left, root_ / ".out-second");
  fs::create_directories(root_ / ".out-plain1");
  std::ofstream(root_ / ".out-plain1/notes") << "keep";
  fs::create_directories(root_ / ".out-empty1");
  std::ofstream(root_ / ".out-afile1") << "keep";
  // A marker that leads elsewhere, and a folder that does.
  fs::create_directories(root_ / "precious");
  std::ofstream(root_ / "precious" / marker)
      << "tenon made the folder .out-linked and may remove it\n";
  std::ofstream(root_ / "precious/data") << "keep";
  fs::create_directory_symlink(root_ / "precious", root_ / ".out-linked");
  fs::create_directories(root_ / ".out-marked");
  std::ofstream(root_ / "text") << "tenon made the folder .out-marked and may remove it\n";
  fs::create_symlink(root_ / "text", root_ / ".out-marked" / marker);
  { const auto next = PrivateFolder::beside(root_ / "out"); }
  for (const char* kept :
       {".out-backup/net.h", ".out-second/net.h", ".out-plain1/notes", ".out-empty1", ".out-afile1",
        "precious/data", ".out-linked", ".out-marked"}) {
    EXPECT_TRUE(fs::exists(root_ / kept)) << kept;
  }
}

TEST_F(Folders, TemporaryOnesSayWhereTheyCannotBe) {
  const char* before = getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", (root_ / "missing").c_str(), 1);
  try {
    PrivateFolder::temporary("test");
    ADD_FAILURE() << "there is no such place";
  } catch (const UserError& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("TMPDIR"), std::string::npos) << what;
    EXPECT_NE(what.find((root_ / "missing").string()), std::string::npos) << what;
  }
  setenv("TMPDIR", root_.c_str(), 1);
  EXPECT_TRUE(
      PrivateFolder::temporary("test").path().filename().string().starts_with("tenon-test-"));
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
}

TEST_F(Folders, APlaceThatTakesNone) {
  try {
    PrivateFolder::beside(root_ / "missing/out");
    ADD_FAILURE() << "there is no such place";
  } catch (const UserError& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("missing/out: cannot be written: No such file"), std::string::npos) << what;
  }
}

TEST_F(Folders, LongNames) {
  const auto f = PrivateFolder::beside(root_ / std::string(255, 'n'));
  EXPECT_TRUE(fs::exists(f.path()));
}

}  // namespace
}  // namespace tenon
