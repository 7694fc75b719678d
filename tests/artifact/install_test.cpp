// SPDX-License-Identifier: Apache-2.0
#include "artifact/install.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "artifact/model.h"
#include "artifact/programs.h"
#include "artifact/write.h"

namespace tenon::artifact {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) {
      names.push_back(fs::relative(entry.path(), folder));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

void write_as(const std::string& name, const fs::path& directory, const std::string& outputs) {
  WriteOptions options;
  options.directory = directory;
  options.outputs = parse_outputs(outputs);
  write(small_network(name, target::host_target()).program(), options);
}

const std::vector<std::string> kDefault = {"libnet.so", "net.h",    "net.hpp",
                                           "net.json",  "net.lock", "net.weights"};

TEST(Install, AnOlderArtifactIsReplacedAsAWhole) {
  const ScratchFolder folder;
  write_as("net", folder / "out", "so,h,asm");
  EXPECT_EQ(names_in(folder / "out").size(), 9U);
  const Model before = Model::load(folder / "out");
  Session still_running(before, 1);
  write_as("net", folder / "out", "so,h");
  EXPECT_EQ(names_in(folder / "out"), kDefault);
  EXPECT_EQ(names_in(folder.path()).size(), kDefault.size());  // nothing left beside it
  const Chain net = small_network("net", target::host_target());
  const auto inputs = net.random_inputs(1);
  EXPECT_EQ(difference(net.expected(inputs), still_running.run(inputs)), "");
  Session fresh(Model::load(folder / "out"), 1);
  EXPECT_EQ(difference(net.expected(inputs), fresh.run(inputs)), "");
}

TEST(Install, OnlyWhatTenonMadeAndLeftGoesAway) {
  const ScratchFolder folder;
  fs::path abandoned;
  {
    const Sibling killed(folder / "out");
    abandoned = killed.path().parent_path();
    std::ofstream(killed.path() / "net.h") << "half";
    fs::copy(abandoned, folder / "kept", fs::copy_options::recursive);
  }
  fs::rename(folder / "kept", abandoned);  // as it was when its process was killed
  for (const char* name : {".out-backup", ".out-older_than_it_looks", ".other-thing1"}) {
    fs::create_directories(folder / name);
    std::ofstream(folder / name / "net.h") << "mine";
    fs::last_write_time(folder / name, fs::file_time_type::clock::now() - std::chrono::hours(100));
  }
  const Sibling alive(folder / "out");  // somebody works on it, if slowly
  fs::last_write_time(alive.path(), fs::file_time_type::clock::now() - std::chrono::hours(1));
  write_as("net", folder / "out", "so,h");
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(alive.path()));
  for (const char* name : {".out-backup", ".out-older_than_it_looks", ".other-thing1"}) {
    EXPECT_TRUE(fs::exists(folder / name / "net.h")) << name << " was somebody's own";
  }
  EXPECT_EQ(names_in(folder / "out"), kDefault);
}

TEST(Install, OtherFilesAreLeftAlone) {
  const ScratchFolder folder;
  fs::create_directories(folder / "out/mine");
  std::ofstream(folder / "out/mine/notes.txt") << "keep";
  std::ofstream(folder / "out/net.h") << "old";
  for (int round = 0; round < 2; ++round) {
    write_as("net", folder / "out", "so,h");
    EXPECT_EQ(names_in(folder / "out").size(), kDefault.size() + 1);
    EXPECT_GT(fs::file_size(folder / "out/net.h"), 100U);
    EXPECT_TRUE(fs::exists(folder / "out/mine/notes.txt"));
    Session(Model::load(folder / "out"), 1);
  }
}

TEST(Install, TwoArtifactsInOneFolder) {
  const ScratchFolder folder;
  write_as("one", folder / "out", "so");
  write_as("two", folder / "out", "so");
  write_as("one", folder / "out", "so");
  EXPECT_EQ(names_in(folder / "out").size(), 8U);
  EXPECT_EQ(Model::load(folder / "out/one.json").name(), "one");
  EXPECT_EQ(Model::load(folder / "out/two.json").name(), "two");
  EXPECT_THROW(Model::load(folder / "out"), UserError);
}

TEST(Install, OddPlaces) {
  const ScratchFolder folder;
  write_as("net", folder / "a/b/c/", "so,h");
  EXPECT_EQ(names_in(folder / "a/b/c"), kDefault);
  fs::create_directories(folder / "real");
  fs::create_directory_symlink(folder / "real", folder / "link");
  write_as("net", folder / "link", "so,h");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(names_in(folder / "real"), kDefault);
  std::ofstream(folder / "file") << "x";
  EXPECT_THROW(write_as("net", folder / "file", "so,h"), UserError);
  EXPECT_THROW(write_as("net", folder / "file/under", "so,h"), UserError);
  EXPECT_EQ(fs::file_size(folder / "file"), 1U);
}

TEST(Install, OutputsAreParsed) {
  const Outputs o = parse_outputs("a,asm");
  EXPECT_TRUE(o.static_library && o.assembly);
  EXPECT_FALSE(o.shared_library || o.header || o.object || o.llvm_ir);
  EXPECT_THROW(parse_outputs("so,exe"), UserError);
}

}  // namespace
}  // namespace tenon::artifact
