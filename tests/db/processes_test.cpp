// SPDX-License-Identifier: Apache-2.0
// Several processes and one database: who waits for whom, and whose run it is.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "db/db.h"
#include "db/statement.h"

namespace tenon::db {
namespace {

namespace fs = std::filesystem;

// Another process that does something, says so, and stays until it is ended.
class Other {
 public:
  explicit Other(const std::function<void()>& act, useconds_t stays_us = 60'000'000) {
    int fds[2];
    EXPECT_EQ(::pipe(fds), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      act();
      if (::write(fds[1], "x", 1) != 1) ::_exit(1);
      ::usleep(stays_us);
      ::_exit(0);
    }
    ::close(fds[1]);
    char said = 0;
    EXPECT_EQ(::read(fds[0], &said, 1), 1);
    ::close(fds[0]);
  }
  ~Other() { end(); }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;
  pid_t pid() const { return pid_; }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

class Processes : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tenon-db-processes-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    Database::open(path());
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path() const { return (folder_ / "t.db").string(); }

  // What a process does that writes and takes its time.
  std::function<void()> begin_writing() const {
    return [file = path()] {
      auto* c = new Connection(file, Connection::Mode::kReadWrite);  // stays with the process
      c->run("BEGIN IMMEDIATE");
    };
  }

  fs::path folder_;
};

TEST_F(Processes, AWriterWaitsForAsLongAsItIsToldTo) {
  const Other writer(begin_writing(), 1'500'000);
  double waited = 0;
  std::string who;
  const auto db = Database::open(path(), [&](double s) {
    waited = s;
    if (who.empty()) who = writer_of(path());
    return true;
  });
  db->begin_run("c", "m");
  EXPECT_GT(waited, 0.2);
  EXPECT_NE(who.find("process " + std::to_string(writer.pid())), std::string::npos) << who;
  EXPECT_EQ(writer_of(path()), "");
  EXPECT_EQ(db->runs().size(), 1U);
}

TEST_F(Processes, AWriterThatGivesUpSaysSo) {
  const Other writer(begin_writing());
  const auto db = Database::open(path(), [](double s) { return s < 0.2; });
  EXPECT_THROW(db->begin_run("c", "m"), Busy);
  EXPECT_TRUE(db->runs().empty());
}

TEST_F(Processes, ReadersDoNotWait) {
  const Other writer(begin_writing());
  const auto db = Database::open_read_only(path(), [](double) {
    ADD_FAILURE() << "a reader waits";
    return false;
  });
  EXPECT_TRUE(db->runs().empty());
}

TEST_F(Processes, ARunHasOneOwner) {
  const auto db = Database::open(path());
  Other owner([file = path()] {
    const auto own = Database::open(file);
    (void)own->claim_runs("c", "m").release();  // until the process ends
  });
  try {
    db->claim_runs("c", "m");
    FAIL() << "it has two owners";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find(std::to_string(owner.pid())), std::string::npos)
        << e.what();
    EXPECT_NE(std::string(e.what()).find("--seed"), std::string::npos) << e.what();
  }
  const auto other_command = db->claim_runs("c --seed 2", "m");
  const auto other_model = db->claim_runs("c", "n");
  owner.end();
  const auto claim = db->claim_runs("c", "m");
  EXPECT_THROW(db->claim_runs("c", "m"), UserError) << "the same process, twice";
}

TEST_F(Processes, AClaimLeavesNothingBehind) {
  const auto db = Database::open(path());
  const auto files = [&] {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  };
  const auto before = files();
  auto claim = db->claim_runs("c", "m");
  EXPECT_EQ(files(), before + 1);
  claim.reset();
  EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace tenon::db
