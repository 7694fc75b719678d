// SPDX-License-Identifier: Apache-2.0
// Other machines' /sys and /proc, written into a temporary folder.
#include "target/topology.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <string>

namespace tenon::target {
namespace {

namespace fs = std::filesystem;

class Topology : public ::testing::Test {
 protected:
  Topology() {
    std::string name = (fs::temp_directory_path() / "tenon_topology_XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~Topology() override { fs::remove_all(root_); }
  void write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }
  void write_cache(int index, const std::string& level, const std::string& type,
                   const std::string& size) {
    const std::string folder = "cpu3/cache/index" + std::to_string(index) + "/";
    write(folder + "level", level);
    write(folder + "type", type);
    write(folder + "size", size);
    write(folder + "coherency_line_size", "128");
  }
  fs::path root_;
};

TEST(CpuList, Table) {
  const struct {
    const char* text;
    std::vector<int> expected;
  } rows[] = {
      {"0", {0}},
      {"0-3", {0, 1, 2, 3}},
      {"0,4-5,9", {0, 4, 5, 9}},
      {"", {}},
      {"a", {}},
      {"3-1", {}},
      {"1-", {}},
      {"-1", {}},
      {",", {}},
      {"0-99999999", {}},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(parse_cpu_list(row.text), row.expected) << row.text;
  }
}

TEST_F(Topology, HyperthreadsAreOneCore) {
  for (const int cpu : {0, 1, 2, 3}) {
    const int first = cpu % 2;
    write("cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
          std::to_string(first) + "," + std::to_string(first + 2));
  }
  EXPECT_EQ(count_cores(root_, {0, 1, 2, 3}), 2);
  EXPECT_EQ(count_cores(root_, {0, 2}), 1);
  EXPECT_EQ(count_cores(root_, {3}), 1);
}

TEST_F(Topology, WithoutSiblingsEveryProcessorIsACore) {
  EXPECT_EQ(count_cores(root_, {4, 5, 6}), 3);
  EXPECT_EQ(count_cores(root_, {}), 1);
}

TEST_F(Topology, ReadsDataCaches) {
  write_cache(0, "1", "Data", "48K");
  write_cache(1, "1", "Instruction", "32K");
  write_cache(2, "2", "Unified", "2M");
  write_cache(3, "3", "Unified", "36864K");
  const Caches caches = read_caches(root_, 3);
  EXPECT_EQ(caches.l1d_bytes, 48 << 10);
  EXPECT_EQ(caches.l2_bytes, 2 << 20);
  EXPECT_EQ(caches.l3_bytes, 36 << 20);
  EXPECT_EQ(caches.line_bytes, 128);
}

TEST_F(Topology, WhatIsMissingOrBrokenIsNotKnown) {
  EXPECT_FALSE(read_caches(root_, 3).l1d_bytes);
  write_cache(0, "1", "Data", "many");
  write_cache(1, "2", "Unified", "-5K");
  const Caches caches = read_caches(root_, 3);
  EXPECT_FALSE(caches.l1d_bytes);
  EXPECT_FALSE(caches.l2_bytes);
}

}  // namespace
}  // namespace tenon::target
