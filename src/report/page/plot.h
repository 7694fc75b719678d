// SPDX-License-Identifier: Apache-2.0
// A chart as HTML: paths in an SVG that stretches with the page, and labels beside it that keep their size.
//
//   Plot p;
//   p.x = {0, 300, false};
//   p.marks.push_back({"best", step_path(p.x, p.y, points, 300)});
//   to_html(p)      // <div class="plot"> ... readable without script; page.js adds the readout under the pointer
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tenon::report {

struct Axis {
  double low = 0, high = 1;
  bool log = false;  // then low > 0

  // From 0 to 1; what lies outside is moved to the edge.
  double place(double v) const;
};

// For times of programs: from zero where the values differ much, around them where they do not, logarithmic where one
// is many times another. `low` and `high` are positive.
Axis latency_axis(double low, double high);

struct Tick {
  double place = 0;  // on its axis, 0 to 1
  std::string text;
};
std::vector<Tick> latency_ticks(const Axis& axis);  // "2 ms": one unit for all
std::vector<Tick> clock_ticks(const Axis& axis);    // "1:30"
std::vector<Tick> count_ticks(const Axis& axis);    // "1,000"

using Values = std::vector<std::pair<double, double>>;
// Each value holds until the next one, the last until `until`.
std::string step_path(const Axis& x, const Axis& y, const Values& values, double until);
std::string line_path(const Axis& x, const Axis& y, const Values& values);
std::string dots_path(const Axis& x, const Axis& y, const Values& values);
std::string level_path(const Axis& y, double value);
// The space between a path made by step_path and the axis of x.
std::string area_path(const std::string& path);

struct Mark {
  std::string kind;  // its class
  std::string path;
};
struct Label {
  std::string kind;
  double x = 0, y = 0;  // 0 to 1
  std::string text;
};
// What the page says when the pointer is near.
struct Readout {
  double x = 0, y = 0;  // 0 to 1
  std::string text;
};

struct Plot {
  std::string kind;  // its class: decides the height
  std::string says;  // one sentence for those who cannot see it
  Axis x, y;
  std::vector<Tick> x_ticks, y_ticks;
  std::vector<Mark> marks;
  std::vector<Label> labels;
  std::vector<Readout> readouts;
};

std::string to_html(const Plot& plot);
// Paths alone, for a cell of a table.
std::string sparkline(const std::vector<Mark>& marks, const std::string& says);

}  // namespace tenon::report
