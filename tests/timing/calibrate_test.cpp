// SPDX-License-Identifier: Apache-2.0
#include "timing/calibrate.h"

#include <gtest/gtest.h>

namespace tenon::timing {
namespace {

Calibration example() {
  return {.machine = target::host_target().fingerprint(),
          .flops_per_s = 120e9,
          .cached_bytes_per_s = 60e9,
          .memory = {{1, 12e9}, {2, 24e9}, {4, 45e9}, {8, 59e9}, {16, 60e9}}};
}

TEST(Calibration, GivesRatios) {
  const target::Rates r = rates_of(example());
  EXPECT_DOUBLE_EQ(r.flops_per_byte, 10);
  EXPECT_DOUBLE_EQ(r.flops_per_cached_byte, 2);
  EXPECT_EQ(r.bandwidth_cores, 8);  // 59 is within 5 % of 60
  EXPECT_DOUBLE_EQ(r.bandwidth_per_core, (59.0 / 12 - 1) / 7);
}

TEST(Calibration, OneCoreSaysNothingOfOthers) {
  Calibration c = example();
  c.memory.resize(1);
  const target::Rates r = rates_of(c);
  EXPECT_EQ(r.bandwidth_cores, target::Rates().bandwidth_cores);
  EXPECT_EQ(r.bandwidth_per_core, target::Rates().bandwidth_per_core);
}

TEST(Calibration, CoresThatAddNothingCountAsOne) {
  Calibration c = example();
  c.memory = {{1, 12e9}, {2, 11e9}};
  const target::Rates r = rates_of(c);
  EXPECT_EQ(r.bandwidth_cores, 1);
  EXPECT_EQ(r.bandwidth_per_core, 0);
}

TEST(Calibration, TextComesBack) {
  const target::Target host = target::host_target();
  const auto back = read_calibration(to_text(example()), host);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(to_text(*back), to_text(example()));
  EXPECT_EQ(rates_of(*back), rates_of(example()));
}

TEST(Calibration, RefusesWhatIsNone) {
  const target::Target host = target::host_target();
  const std::string text = to_text(example());
  EXPECT_FALSE(read_calibration("", host));
  EXPECT_FALSE(read_calibration("tenon.calibration/9" + text.substr(19), host));
  EXPECT_FALSE(read_calibration(text.substr(0, text.rfind("16 ")) + "16 fast\n", host));
  EXPECT_FALSE(read_calibration(text + "32 -1\n", host));
  EXPECT_FALSE(read_calibration(text.substr(0, text.find("1 12")), host));
  EXPECT_FALSE(read_calibration(text, target::parse_target("x86-64-v3")));
}

TEST(Calibration, MeasuresThisMachine) {
  const Calibration c = calibrate();
  EXPECT_EQ(c.machine, target::host_target().fingerprint());
  ASSERT_FALSE(c.memory.empty());
  EXPECT_EQ(c.memory.front().cores, 1);
  EXPECT_EQ(c.memory.back().cores, target::host_target().cpu().cores);
  const target::Rates r = rates_of(c);
  EXPECT_GT(r.flops_per_byte, 0);
  EXPECT_GT(r.flops_per_cached_byte, 0);
  EXPECT_GE(r.bandwidth_per_core, 0);
}

}  // namespace
}  // namespace tenon::timing
