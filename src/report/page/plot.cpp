// SPDX-License-Identifier: Apache-2.0
#include "report/page/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/page/markup.h"
#include "support/text.h"

namespace tenon::report {
namespace {

constexpr double kSide = 1000;  // of the viewBox

std::string number(double v) { return fmt::format("{:.6g}", std::round(v * 10) / 10); }
std::string px(const Axis& axis, double v) { return number(kSide * axis.place(v)); }
std::string py(const Axis& axis, double v) { return number(kSide * (1 - axis.place(v))); }

// 1, 2 or 5 times a power of ten, so that at most `most` steps fit.
double nice_step(double span, int most) {
  const double raw = span / most;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double f : {1.0, 2.0, 5.0, 10.0}) {
    if (f * power >= raw * (1 - 1e-9)) return f * power;
  }
  return 10 * power;
}

std::vector<double> linear_values(const Axis& axis, double step) {
  std::vector<double> out;
  for (auto i = static_cast<int64_t>(std::ceil(axis.low / step - 1e-9));; ++i) {
    const double v = static_cast<double>(i) * step;
    if (v > axis.high * (1 + 1e-9) || out.size() > 50) return out;
    out.push_back(v);
  }
}

// 1, 2, 5, 10, 20 ...; powers of ten alone where these would be many.
std::vector<double> log_values(const Axis& axis) {
  std::vector<double> all, powers;
  const double first = std::pow(10.0, std::floor(std::log10(axis.low)));
  for (double power = first; power <= axis.high; power *= 10) {
    for (const double f : {1.0, 2.0, 5.0}) {
      const double v = f * power;
      if (v < axis.low * (1 - 1e-9) || v > axis.high * (1 + 1e-9)) continue;
      all.push_back(v);
      if (f == 1.0) powers.push_back(v);
    }
  }
  return all.size() > 7 ? powers : all;
}

std::vector<double> tick_values(const Axis& axis, int most) {
  if (axis.log) {
    std::vector<double> values = log_values(axis);
    if (values.size() >= 3) return values;
  }
  return linear_values(axis, nice_step(axis.high - axis.low, most));
}

// Heights of such charts do not compare as the times do.
std::string axis_note(const Axis& y) {
  const char* note = y.log ? "logarithmic axis" : y.low > 0 ? "axis does not begin at 0" : "";
  return *note == '\0' ? "" : fmt::format("<span class=\"axis-note\">{}</span>", note);
}

std::string percent(double place) { return fmt::format("{:.2f}%", 100 * place); }

std::string grid(const Plot& p) {
  std::string d;
  for (const Tick& t : p.y_ticks) d += fmt::format("M0 {}H1000", number(kSide * (1 - t.place)));
  return d.empty() ? "" : fmt::format("<path class=\"grid\" d=\"{}\"/>", d);
}

std::string paths(const std::vector<Mark>& marks) {
  std::string out;
  for (const Mark& m : marks) {
    if (!m.path.empty()) out += fmt::format("<path class=\"{}\" d=\"{}\"/>", m.kind, m.path);
  }
  return out;
}

std::string readouts(const Plot& p) {
  std::string list;
  for (const Readout& r : p.readouts) {
    list += fmt::format("{}{},{},{}", list.empty() ? "" : "\n", number(kSide * r.x),
                        number(kSide * (1 - r.y)), r.text);
  }
  return list.empty() ? "" : fmt::format(" tabindex=\"0\" data-readouts=\"{}\"", escape_html(list));
}

}  // namespace

double Axis::place(double v) const {
  if (high <= low) return 0.5;
  const double at =
      log ? std::log(std::max(v, low) / low) / std::log(high / low) : (v - low) / (high - low);
  return std::clamp(at, 0.0, 1.0);
}

Axis latency_axis(double low, double high) {
  if (high > 6 * low) return {low * 0.85, high * 1.15, true};
  if (high > 1.4 * low) return {0, high * 1.1, false};
  const double room = std::max((high - low) * 0.3, high * 0.01);
  return {std::max(0.0, low - room), high + room, false};
}

std::vector<Tick> latency_ticks(const Axis& axis) {
  const bool micro = axis.high < 1e-3;
  const bool milli = !micro && axis.high < 1;
  const double unit = micro ? 1e-6 : milli ? 1e-3 : 1;
  const char* name = micro ? "µs" : milli ? "ms" : "s";
  std::vector<Tick> out;
  for (const double v : tick_values(axis, 5)) {
    out.push_back(
        {axis.place(v), fmt::format("{:.6g} {}", std::round(v / unit * 1e6) / 1e6, name)});
  }
  return out;
}

std::vector<Tick> clock_ticks(const Axis& axis) {
  std::vector<Tick> out;
  const bool brief = axis.high < 5;  // "0.2 s"
  const auto add = [&](double v) {
    out.push_back({axis.place(v), brief    ? fmt::format("{:.3g} s", v)
                                  : v < 10 ? fmt::format("0:{:02.0f}", v)
                                           : duration_text(v)});
  };
  constexpr double kSteps[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
                               600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400};
  if (axis.log) {
    for (const double v :
         {1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18000, 36000, 86400}) {
      if (v >= axis.low && v <= axis.high) add(v);
    }
    return out;
  }
  const double span = axis.high - axis.low;
  double step = brief ? nice_step(std::max(span, 1e-3), 5) : 86400;
  for (const double s : kSteps) {
    if (!brief && span / s <= 7) {
      step = s;
      break;
    }
  }
  if (span / step > 20) step = nice_step(span, 7);
  for (const double v : linear_values(axis, step)) add(v);
  return out;
}

std::vector<Tick> count_ticks(const Axis& axis) {
  std::vector<Tick> out;
  for (const double v : tick_values(axis, 7)) {
    if (v == std::floor(v)) out.push_back({axis.place(v), grouped(static_cast<int64_t>(v))});
  }
  return out;
}

std::string step_path(const Axis& x, const Axis& y, const Values& values, double until) {
  if (values.empty()) return "";
  std::string d = fmt::format("M{} {}", px(x, values[0].first), py(y, values[0].second));
  for (size_t i = 1; i < values.size(); ++i) {
    d += fmt::format("H{}V{}", px(x, values[i].first), py(y, values[i].second));
  }
  return d + "H" + px(x, std::max(until, values.back().first));
}

std::string line_path(const Axis& x, const Axis& y, const Values& values) {
  std::string d;
  for (const auto& [vx, vy] : values) {
    d += fmt::format("{}{} {}", d.empty() ? "M" : "L", px(x, vx), py(y, vy));
  }
  return values.size() == 1 ? d + "h0" : d;
}

std::string dots_path(const Axis& x, const Axis& y, const Values& values) {
  std::string d;
  for (const auto& [vx, vy] : values) d += fmt::format("M{} {}h0", px(x, vx), py(y, vy));
  return d;
}

std::string level_path(const Axis& y, double value) {
  return fmt::format("M0 {}H1000", py(y, value));
}

std::string area_path(const std::string& path) {
  const size_t space = path.find(' ');
  if (space == std::string::npos) return "";
  return path + "V1000H" + path.substr(1, space - 1) + "Z";
}

std::string to_html(const Plot& p) {
  std::string out = fmt::format(
      "<div class=\"plot {}\" role=\"img\" aria-label=\"{}\"{}>"
      "<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" aria-hidden=\"true\">{}{}</svg>",
      p.kind, escape_html(p.says), readouts(p), grid(p), paths(p.marks));
  for (const Tick& t : p.y_ticks) {
    out += fmt::format("<span class=\"y\" style=\"bottom:{}\">{}</span>", percent(t.place),
                       escape_html(t.text));
  }
  for (size_t i = 0; i < p.x_ticks.size(); ++i) {
    out += fmt::format("<span class=\"x{}\" style=\"left:{}\">{}</span>", i % 2 == 1 ? " odd" : "",
                       percent(p.x_ticks[i].place), escape_html(p.x_ticks[i].text));
  }
  for (const Label& l : p.labels) {
    out += fmt::format("<span class=\"label {}\" style=\"left:{};bottom:{}\">{}</span>", l.kind,
                       percent(l.x), percent(l.y), escape_html(l.text));
  }
  return out + axis_note(p.y) + "</div>";
}

std::string sparkline(const std::vector<Mark>& marks, const std::string& says) {
  return fmt::format(
      "<svg class=\"spark\" viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"{}\">{}</svg>",
      escape_html(says), paths(marks));
}

}  // namespace tenon::report
