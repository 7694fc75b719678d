// SPDX-License-Identifier: Apache-2.0
// Control groups of other machines, written into a temporary folder.
#include "runtime/quota.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tenon::runtime {
namespace {

namespace fs = std::filesystem;

class Quota : public ::testing::Test {
 protected:
  Quota() {
    std::string name = (fs::temp_directory_path() / "tenon_quota_XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~Quota() override { fs::remove_all(root_); }
  void write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }
  void write_v1(const std::string& folder, const std::string& quota) {
    write(folder + "/cpu.cfs_quota_us", quota);
    write(folder + "/cpu.cfs_period_us", "100000");
  }
  int granted() const { return granted_cpus(root_.c_str()); }
  fs::path root_;
};

TEST_F(Quota, NoGroupMeansNoLimit) { EXPECT_EQ(granted(), 0); }

TEST_F(Quota, ThisMachineCanBeAsked) { EXPECT_GE(granted_cpus(""), 0); }

TEST_F(Quota, TheTightestGroupOfVersionTwoHolds) {
  write("proc/self/cgroup", "0::/a/b");
  write("sys/fs/cgroup/cpu.max", "max 100000");
  EXPECT_EQ(granted(), 0);
  write("sys/fs/cgroup/a/cpu.max", "250000 100000");
  EXPECT_EQ(granted(), 2);
  write("sys/fs/cgroup/a/b/cpu.max", "400000 100000");
  EXPECT_EQ(granted(), 2);
  write("sys/fs/cgroup/a/b/cpu.max", "50000 100000");
  EXPECT_EQ(granted(), 1);
  write("sys/fs/cgroup/a/b/cpu.max", "max 100000");
  write("sys/fs/cgroup/a/cpu.max", "max 100000");
  write("sys/fs/cgroup/cpu.max", "700000 100000");
  EXPECT_EQ(granted(), 7);
}

TEST_F(Quota, VersionOneWithoutMounts) {
  write_v1("sys/fs/cgroup/cpu", "-1");
  EXPECT_EQ(granted(), 0);
  write_v1("sys/fs/cgroup/cpu", "300000");
  EXPECT_EQ(granted(), 3);
}

// As systemd mounts it: cpu and cpuacct together, among others.
TEST_F(Quota, TheTightestGroupOfVersionOneHolds) {
  write("proc/self/cgroup",
        "12:memory:/slice/job\n4:cpu,cpuacct:/slice/job\n3:cpuset:/x\n1:name=systemd:/y\n0::/z");
  write("proc/self/mountinfo",
        "30 24 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
        "32 30 0:28 / /groups/cpuset rw - cgroup cgroup rw,cpuset\n"
        "33 30 0:29 / /groups/cpu,cpuacct rw,nosuid shared:9 master:1 - cgroup cgroup "
        "rw,cpu,cpuacct");
  write_v1("groups/cpu,cpuacct", "-1");
  EXPECT_EQ(granted(), 0);
  write_v1("groups/cpu,cpuacct/slice/job", "400000");
  EXPECT_EQ(granted(), 4);
  write_v1("groups/cpu,cpuacct/slice", "200000");
  EXPECT_EQ(granted(), 2);
  write_v1("groups/cpuset/x", "100000");  // of another hierarchy
  EXPECT_EQ(granted(), 2);
}

// Groups have the host's names, and what is mounted begins with the container's own.
TEST_F(Quota, AContainerSeesItsOwnGroupAsTheMount) {
  write("proc/self/cgroup", "4:cpu:/docker/abc/inner");
  write("proc/self/mountinfo",
        "33 30 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu");
  write_v1("sys/fs/cgroup/cpu", "300000");
  EXPECT_EQ(granted(), 3);
  write_v1("sys/fs/cgroup/cpu/inner", "150000");
  EXPECT_EQ(granted(), 1);
}

TEST_F(Quota, WhereNamesDoNotFitTheMountItselfCounts) {
  for (const char* group : {"/docker/other", "/../../outside", "/docker/abcd"}) {
    write("proc/self/cgroup", std::string("4:cpu:") + group);
    write("proc/self/mountinfo",
          "33 30 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu");
    write_v1("sys/fs/cgroup/cpu", "200000");
    EXPECT_EQ(granted(), 2) << group;
  }
}

// Both versions at once: controllers in version 1, names in version 2.
TEST_F(Quota, TheTighterVersionHolds) {
  write("proc/self/cgroup", "1:cpu:/\n0::/");
  write("proc/self/mountinfo",
        "33 30 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw");
  write("sys/fs/cgroup/unified/cpu.max", "500000 100000");
  EXPECT_EQ(granted(), 5);
  write_v1("sys/fs/cgroup/cpu", "600000");
  EXPECT_EQ(granted(), 5);
  write_v1("sys/fs/cgroup/cpu", "400000");
  EXPECT_EQ(granted(), 4);
}

TEST_F(Quota, ManyAndLongMountsBeforeTheRightOne) {
  std::string mounts;
  for (int i = 0; i < 300; ++i) {
    mounts += "50 24 0:50 / /layer" + std::to_string(i) + " rw - overlay overlay rw,lowerdir=";
    mounts += std::string(i % 50 == 0 ? 20000 : 200, 'x') + "\n";
  }
  write("proc/self/cgroup", "0::/");
  write("proc/self/mountinfo", mounts + "41 31 0:38 / /two rw - cgroup2 cgroup2 rw");
  write("two/cpu.max", "300000 100000");
  EXPECT_EQ(granted(), 3);
}

TEST_F(Quota, BrokenFilesAreNoLimit) {
  for (const char* text : {"", "x", "100000", "100000 0", "0 100000", "-5 100000", " 1 1", "max"}) {
    write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(granted(), 0) << text;
  }
  write("sys/fs/cgroup/cpu.max", "99999999999999999999999999 1");
  EXPECT_EQ(granted(), 1 << 20);
  for (const char* text : {"", ":", "::", "4:cpu", "0:", "0::", "4:cpu:x"}) {
    write("proc/self/cgroup", text);
    EXPECT_EQ(granted(), 1 << 20) << text;
  }
  for (const char* text :
       {"", "-", " - ", "1 2 3 4 5 6 7", "1 2 3 / /two rw - cgroup2", "- - - - -"}) {
    write("proc/self/mountinfo", text);
    EXPECT_GE(granted(), 0) << text;
  }
}

}  // namespace
}  // namespace tenon::runtime
