// SPDX-License-Identifier: Apache-2.0
#include "report/page/plot.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/rng.h"

namespace tenon::report {
namespace {

TEST(Plot, PlacesOnAxes) {
  const Axis linear{10, 20, false};
  EXPECT_DOUBLE_EQ(linear.place(10), 0);
  EXPECT_DOUBLE_EQ(linear.place(15), 0.5);
  EXPECT_DOUBLE_EQ(linear.place(99), 1);
  EXPECT_DOUBLE_EQ(linear.place(-1), 0);
  const Axis log{1, 100, true};
  EXPECT_DOUBLE_EQ(log.place(10), 0.5);
  EXPECT_DOUBLE_EQ(log.place(0), 0);
  EXPECT_DOUBLE_EQ((Axis{3, 3, false}).place(3), 0.5);
}

TEST(Plot, LatencyAxesFitTheirValues) {
  EXPECT_EQ(latency_axis(1e-3, 3e-3).low, 0);
  EXPECT_FALSE(latency_axis(1e-3, 3e-3).log);
  EXPECT_TRUE(latency_axis(1e-3, 30e-3).log);
  EXPECT_GT(latency_axis(1e-3, 1.01e-3).low, 0.9e-3);
}

// Nobody takes a line that falls by a tenth of the picture for one that falls to zero.
TEST(Plot, AnAxisThatDoesNotBeginAtZeroSaysSo) {
  Plot p;
  p.y = {0, 2, false};
  EXPECT_EQ(to_html(p).find("axis-note"), std::string::npos);
  p.y = {1, 2, false};
  EXPECT_NE(to_html(p).find("axis does not begin at 0"), std::string::npos);
  p.y = {1, 2, true};
  EXPECT_NE(to_html(p).find("logarithmic axis"), std::string::npos);
}

TEST(Plot, Paths) {
  const Axis unit{0, 1, false};
  EXPECT_EQ(step_path(unit, unit, {{0, 1}, {0.5, 0.25}}, 1), "M0 0H500V750H1000");
  EXPECT_EQ(area_path("M0 0H500V750H1000"), "M0 0H500V750H1000V1000H0Z");
  EXPECT_EQ(line_path(unit, unit, {{0, 0}, {1, 1}}), "M0 1000L1000 0");
  EXPECT_EQ(line_path(unit, unit, {{0.5, 0.5}}), "M500 500h0");
  EXPECT_EQ(dots_path(unit, unit, {{0.5, 0.5}}), "M500 500h0");
  EXPECT_EQ(step_path(unit, unit, {}, 1), "");
  EXPECT_EQ(area_path(""), "");
}

TEST(Plot, TextInPlotsIsEscaped) {
  Plot p;
  p.kind = "progress";
  p.says = "\"><script>";
  p.labels = {{"above", 0, 0, "<b>"}};
  p.readouts = {{0, 0, "a\"b"}};
  const std::string html = to_html(p);
  EXPECT_EQ(html.find("<script>"), std::string::npos);
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  EXPECT_NE(html.find("a&quot;b"), std::string::npos);
}

// Whatever the axis, there are some labels, not too many, inside of it, in order and each once.
void check_ticks(const std::vector<Tick>& ticks, size_t least, const std::string& what) {
  EXPECT_GE(ticks.size(), least) << what;
  EXPECT_LE(ticks.size(), 16u) << what;
  for (size_t i = 0; i < ticks.size(); ++i) {
    EXPECT_GE(ticks[i].place, 0) << what;
    EXPECT_LE(ticks[i].place, 1) << what;
    if (i > 0) {
      EXPECT_GT(ticks[i].place, ticks[i - 1].place) << what;
      EXPECT_NE(ticks[i].text, ticks[i - 1].text) << what;
    }
  }
}

TEST(Plot, TicksOfAnyAxis) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const std::string what = "seed " + std::to_string(seed);
    const double low = std::pow(10.0, -7 + 8 * rng.unit());
    check_ticks(latency_ticks(latency_axis(low, low * (1 + 20 * rng.unit()))), 2, what);
    const double end = std::pow(10.0, -2 + 8 * rng.unit());
    check_ticks(clock_ticks({0, end, false}), 2, what);
    check_ticks(clock_ticks({end / 1000, end, true}), 0, what);
    check_ticks(count_ticks({0, std::floor(1 + std::pow(10.0, 6 * rng.unit())), false}), 2, what);
  }
}

}  // namespace
}  // namespace tenon::report
