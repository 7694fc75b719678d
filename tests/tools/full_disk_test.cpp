// SPDX-License-Identifier: Apache-2.0
// Disks that take no more: every command that writes says so with the file's name, and what was there before stays.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "tools/tenon_command.h"
#include "tools/tune_run.h"

namespace tenon::testing {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files[fs::relative(entry.path(), folder).string()] = read(entry.path());
    }
  }
  return files;
}

struct Row {
  Args args;
  std::string output;    // as the command names it
  bool records = false;  // reads a database, which takes room of its own
};

// What they read lies in `f`, what they write in `to`.
std::vector<Row> writing_commands(const TuneFolder& f, const fs::path& to) {
  const std::string net = f.path("net.onnx").string();
  const std::string plain = f.path("plain").string();
  const std::string db = f.path("t.db").string();
  const auto file = [&](const char* name) { return (to / name).string(); };
  return {
      {{"compile", net, "-o", file("out")}, "out"},
      {{"zoo", "write", "squeezenet1_1", "-o", file("zoo.onnx")}, "zoo.onnx"},
      {{"run", plain, "--outputs", file("y.npz")}, "y.npz"},
      {{"run", plain, "--outputs", file("y.npy")}, "y.npy"},
      {{"explain", plain, "--show", "layouts", "--html", file("net.html")}, "net.html"},
      {{"profile", plain, "--runs", "1", "--trace", file("trace.json")}, "trace.json"},
      {{"report", "--db", db, "--html", file("run.html")}, "run.html", true},
      {{"report", "--db", db, "--md=" + file("run.md")}, "run.md", true},
      {{"db", "export", file("records.jsonl"), "--db", db}, "records.jsonl", true},
  };
}

// Each writes where there is room first, and then where there is none.
void expect_old_outputs(const std::vector<Row>& rows, const fs::path& to, const std::string& limits,
                        const std::string& reason, const std::function<void()>& fill) {
  for (const Row& row : rows) {
    const Outcome o = tenon(row.args);
    ASSERT_EQ(o.exit_code, 0) << row.output << o.err;
  }
  fill();
  const auto before = contents(to);
  for (const Row& row : rows) {
    std::string line = limits + "exec " TENON_BINARY;
    for (const std::string& arg : row.args) line += " '" + arg + "'";
    const Outcome o = run_command({"/bin/sh", "-c", line});
    EXPECT_EQ(o.exit_code, 2) << row.output << "\n" << o.err;
    EXPECT_TRUE(contains(o.err, "tenon: error: ")) << row.output << "\n" << o.err;
    EXPECT_TRUE(contains(o.err, row.output)) << row.output << "\n" << o.err;
    EXPECT_TRUE(contains(o.err, reason)) << row.output << "\n" << o.err;
    EXPECT_TRUE(contents(to) == before) << row.output << ": something changed";
  }
}

TEST(FullDisk, FilesThatMayNotGrow) {
  const TuneFolder f("file_limit");
  ASSERT_EQ(f.run({"--sim", "--trials", "8", "-q"}).exit_code, 0);
  fs::create_directories(f.path("to"));
  auto rows = writing_commands(f, f.path("to"));
  std::erase_if(rows, [](const Row& row) { return row.records; });
  // Even the smallest of the files is longer than a block of 512 bytes.
  expect_old_outputs(rows, f.path("to"), "trap '' XFSZ; ulimit -f 1; ", "File too large", [] {});
}

// A disk of its own, full but for a page.
class SmallDisk {
 public:
  explicit SmallDisk(const fs::path& place) : place_(place) {
    fs::create_directories(place_);
    mounted_ = mount("tmpfs", place_.c_str(), "tmpfs", 0, "size=8m") == 0;
    error_ = errno;
  }
  ~SmallDisk() {
    if (mounted_) umount2(place_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  std::string why() const { return std::strerror(error_); }

  void fill() const {
    std::ofstream rest(place_ / "rest", std::ios::binary);
    const std::string page(4096, 'x');
    while (rest << page << std::flush) {
    }
    rest.close();
    fs::resize_file(place_ / "rest", fs::file_size(place_ / "rest") - 4096);
  }

 private:
  fs::path place_;
  bool mounted_ = false;
  int error_ = 0;
};

TEST(FullDisk, ADiskWithoutRoom) {
  const TuneFolder f("small_disk");
  const SmallDisk disk(f.path("disk"));
  if (!disk.mounted()) GTEST_SKIP() << "no disk can be mounted here: " << disk.why();
  ASSERT_EQ(f.run({"--sim", "--trials", "8", "-q"}).exit_code, 0);
  expect_old_outputs(writing_commands(f, f.path("disk")), f.path("disk"), "",
                     "No space left on device", [&] { disk.fill(); });
  // A log that is full costs its lines and nothing else.
  const Outcome o = tenon({"version", "--log-file", "/dev/full"});
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_TRUE(contains(o.err, "/dev/full: lines are missing")) << o.err;
}

}  // namespace
}  // namespace tenon::testing
