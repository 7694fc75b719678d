// SPDX-License-Identifier: Apache-2.0
#include "report/run/html_layouts.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/network/network_html.h"
#include "report/page/markup.h"
#include "report/page/page.h"
#include "report/page/words.h"
#include "support/text.h"

namespace tenon::report {
namespace {

std::string ratio_html(const LayoutSearch& o, const LayoutTry& t) {
  const auto ratio = gain(o, t);
  if (!ratio) return "–";
  const char* kind = *ratio < 1.005 ? "flat" : *ratio < 1.2 ? "some" : "much";
  return fmt::format("<span class=\"gain {}\">{}</span>", kind, ratio_text(*ratio));
}

std::string taken_html(const RunStory& run, const LayoutSearch& o, const LayoutTry& t) {
  if (const std::string why = why_not_taken(run, o, t); !why.empty()) {
    return fmt::format(" <span class=\"why\">{}</span>", escape_html(why));
  }
  if (!run.layouts_decided || t.calls <= 0) return "";
  return fmt::format(" <mark>taken by {}</mark>", counted(static_cast<size_t>(t.calls), "call"));
}

std::string try_row(const RunStory& run, const LayoutSearch& o, const LayoutTry& t,
                    double longest) {
  return fmt::format(
      "<tr class=\"{}\"><th scope=\"row\">{}{}<small>{}</small></th><td class=\"wide\"><svg "
      "class=\"bar\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" "
      "aria-hidden=\"true\"><path "
      "class=\"{}\" d=\"M0 0H{:.6g}V10H0z\"/></svg></td><td>{}</td><td>{}</td></tr>",
      t.calls > 0 && run.layouts_decided ? "taken" : "left", escape_html(t.point),
      taken_html(run, o, t), escape_html(t.words), t.calls > 0 ? "now" : "before",
      1000 * t.s.value_or(0) / longest, t.s ? time_or_dash(t.s) : "failed", ratio_html(o, t));
}

std::string try_table(const RunStory& run, const LayoutSearch& o) {
  double longest = 1e-12;
  for (const LayoutTry& t : o.tries) longest = std::max(longest, t.s.value_or(0));
  std::string rows;
  for (const LayoutTry& t : by_time(o)) rows += try_row(run, o, t, longest);
  return "<table class=\"tries\"><thead><tr><th scope=\"col\">layout</th><th scope=\"col\" "
         "class=\"wide\">best of its loops</th><th scope=\"col\">time</th><th "
         "scope=\"col\">ratio</th></tr></thead><tbody>" +
         rows + "</tbody></table>";
}

std::string operator_fold(const RunStory& run, const LayoutSearch& o, bool open) {
  return fmt::format(
      "<details class=\"operator\"{}><summary><span class=\"name\">{} "
      "<small>{}</small></span><span "
      "class=\"times\">{}, {} → {}</span></summary>{}</details>",
      open ? " open" : "", escape_html(o.label), escape_html(o.shape),
      counted(o.tries.size(), "layout"), time_or_dash(o.default_s), time_or_dash(o.best_s()),
      try_table(run, o));
}

std::string pictures(const RunStory& run) {
  std::string out;
  for (const ModelStory& m : run.models) {
    if (!m.picture) continue;
    out += fmt::format("<h3>{}, as it is in {}</h3>{}", escape_html(m.name),
                       escape_html(m.directory), network_html(*m.picture));
  }
  return out;
}

}  // namespace

std::string pairs_section(const RunStory& run) {
  if (run.pairs.empty()) return "";
  std::string rows;
  for (const PairTry& p : run.pairs) {
    rows += fmt::format("<tr><th scope=\"row\">{}{}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
                        escape_html(p.label), p.taken ? " <mark>taken</mark>" : "", p.calls,
                        time_or_dash(p.s), time_or_dash(p.apart_s));
  }
  return section("pairs", "Pairs", escape_html(pairs_text(run)),
                 "<table class=\"tries\"><thead><tr><th scope=\"col\">pair</th><th "
                 "scope=\"col\">calls</th><th scope=\"col\">one task</th><th "
                 "scope=\"col\">two</th></tr></thead><tbody>" +
                     rows + "</tbody></table>");
}

std::string layouts_section(const RunStory& run) {
  std::string body;
  for (size_t i = 0; i < run.layouts.size(); ++i) {
    body += operator_fold(run, run.layouts[i], i == 0);
  }
  body += pictures(run);
  if (body.empty()) return "";
  return section("layouts", "Layouts", escape_html(layouts_text(run)), body);
}

}  // namespace tenon::report
