// SPDX-License-Identifier: Apache-2.0
#include "artifact/verify.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>

#include "artifact/manifest_file.h"
#include "artifact/programs.h"
#include "artifact/write.h"
#include "support/check.h"

namespace tenon::artifact {
namespace {

namespace fs = std::filesystem;

class Verify : public ::testing::Test {
 protected:
  void SetUp() override { restore(); }
  void restore() {
    fs::remove_all(out_);
    write(net_.program(), {.directory = out_});
  }
  fs::path file(const std::string& name) const { return out_ / name; }
  void spoil(const std::string& name, std::streamoff at) const {
    std::fstream f(file(name), std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(at);
    f.put('!');
  }
  // "net.weights: is not there" for each problem, in order of files.
  std::vector<std::string> problems() const {
    std::vector<std::string> list;
    for (const FileState& f : verify(out_).files) {
      if (!f.problem.empty()) {
        list.push_back(f.name + ": " + f.problem);
      }
    }
    return list;
  }
  void expect_one(const std::string& what) const {
    const auto found = problems();
    ASSERT_EQ(found.size(), 1U) << what;
    EXPECT_NE(found[0].find(what), std::string::npos) << found[0];
  }
  // Lets the manifest agree with the files as they are now.
  void list_again() const {
    std::vector<FileEntry> files;
    for (const FileEntry& f : listed_files(file("net.json"))) {
      files.push_back(describe_file(out_, f.name));
    }
    list(files);
  }
  void list(const std::vector<FileEntry>& files) const {
    const std::string text = with_files(read_small_file(file("net.json")), files);
    std::ofstream(file("net.json")) << text;
  }

  const ScratchFolder folder_;
  const fs::path out_ = folder_ / "net";
  const Chain net_ = small_network("net", target::host_target());
};

TEST_F(Verify, WhatWasWrittenIsWhole) {
  const Verified v = verify(out_);
  EXPECT_EQ(v.name, "net");
  EXPECT_EQ(v.problems(), 0U);
  EXPECT_EQ(v.not_loaded, "");
  ASSERT_EQ(v.files.size(), 5U);
  EXPECT_EQ(v.files[4].name, "net.weights");
  EXPECT_EQ(v.files[4].bytes, static_cast<int64_t>(fs::file_size(file("net.weights"))));
}

TEST_F(Verify, EveryFileIsReadToItsEnd) {
  for (const char* name : {"libnet.so", "net.h", "net.hpp", "net.lock", "net.weights"}) {
    for (const double part : {0.0, 0.5, 1.0}) {
      const auto size = static_cast<double>(fs::file_size(file(name)) - 1);
      spoil(name, static_cast<std::streamoff>(part * size));
      expect_one(std::string(name) + ": has another SHA-256 than its manifest says");
      restore();
    }
    fs::resize_file(file(name), fs::file_size(file(name)) / 2);
    expect_one("as its manifest says");
    fs::remove(file(name));
    expect_one(std::string(name) + ": is not there");
    ASSERT_EQ(mkfifo(file(name).c_str(), 0600), 0);
    expect_one(std::string(name) + ": is not there");
    restore();
  }
}

// Hashes in the list can be made to fit; what the library carries cannot.
TEST_F(Verify, TheLibraryHasTheLastWord) {
  spoil("net.weights", 200);
  list_again();
  expect_one("net.weights: has other weights than the library was written with");
  restore();

  std::string manifest = read_small_file(file("net.json"));
  manifest.replace(manifest.find("f32"), 3, "f64");
  std::ofstream(file("net.json")) << manifest;
  expect_one("/inputs/0/dtype is \"f32\" in the library");
  restore();

  std::string lock = read_small_file(file("net.lock"));
  const size_t task = lock.find("\"task\": \"") + 9;
  lock.replace(task, 4, "0000");
  std::ofstream(file("net.lock")) << lock;
  list_again();
  expect_one("net.lock: has schedules of other tasks than the library computes");
  std::ofstream(file("net.lock")) << "[]";
  list_again();
  expect_one("net.lock: is no lock file");
}

TEST_F(Verify, FilesThatAreNotListedAreMissed) {
  for (const char* name : {"net.lock", "net.weights"}) {
    std::vector<FileEntry> files;
    for (const FileEntry& f : listed_files(file("net.json"))) {
      if (f.name != name) {
        files.push_back(f);
      }
    }
    list(files);
    expect_one(std::string(name) + ": is not listed in the manifest");
    restore();
  }
}

TEST_F(Verify, NoNameLeadsOutOfTheFolder) {
  for (const char* name : {"../secret", "/etc/hostname", "a/../../b", ""}) {
    std::vector<FileEntry> files = listed_files(file("net.json"));
    files.push_back({name, 1, "00"});
    list(files);
    expect_one("does not lie in the folder of the manifest");
    restore();
  }
}

TEST_F(Verify, WithoutALibraryForThisMachineTheFilesAreCompared) {
  const target::Target arm = target::parse_target("aarch64");
  write(small_network("arm", arm).program(), {.directory = folder_ / "arm"});
  const Verified v = verify(folder_ / "arm");
  if (target::host_target().arch != arm.arch) {
    EXPECT_EQ(v.problems(), 0U);
    EXPECT_EQ(v.not_loaded, "libarm.so was compiled for aarch64");
  }
  WriteOptions options{.directory = folder_ / "static"};
  options.outputs = parse_outputs("a,h");
  write(net_.program(), options);
  EXPECT_EQ(verify(folder_ / "static").not_loaded, "no shared library was emitted");
  EXPECT_THROW(verify(folder_ / "nowhere"), UserError);
}

}  // namespace
}  // namespace tenon::artifact
