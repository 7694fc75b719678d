// SPDX-License-Identifier: Apache-2.0
#include "report/network/network_html.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "report/network/network_text.h"
#include "report/network/runs.h"
#include "report/page/markup.h"
#include "report/page/page.h"
#include "report/page/words.h"
#include "support/text.h"

namespace tenon::report {
namespace {

// Units of the picture are pixels: text keeps its size, and what does not fit is scrolled.
constexpr int kRow = 34, kBox = 26, kLane = 13, kMargin = 10, kHead = 26;
constexpr int kName = 16, kKind = 262, kLayout = 362, kShape = 560, kWidth = 1010;  // inside a box
constexpr size_t kColours = 9;  // of page.css; the last is for all others

std::string cut(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

class Colours {
 public:
  explicit Colours(const Network& n) {
    for (const LayoutUse& u : layouts_used(n)) {
      of_.emplace(u.layout, std::min(of_.size() + 1, kColours));
    }
  }
  // A class of page.css.
  std::string of(const std::string& layout) const {
    const auto it = of_.find(layout);
    return fmt::format("l{}", it == of_.end() ? kColours : it->second);
  }

 private:
  std::map<std::string, size_t> of_;
};

// Edges between rows of the picture, each once.
std::vector<std::pair<size_t, size_t>> edges_of(const Network& n, const PictureRows& rows) {
  std::vector<std::pair<size_t, size_t>> edges;
  for (size_t i = 0; i < n.nodes.size(); ++i) {
    for (const size_t from : n.nodes[i].reads) edges.emplace_back(rows.of[from], rows.of[i]);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::erase_if(edges, [](const auto& e) { return e.first == e.second; });
  return edges;
}

// Results that are read later than by the next row run in a lane beside the boxes.
struct Lanes {
  std::vector<int> of;  // per row; -1: none
  int count = 0;
};

Lanes assign_lanes(size_t rows, const std::vector<std::pair<size_t, size_t>>& edges) {
  std::vector<size_t> last(rows);
  for (const auto& [from, to] : edges) last[from] = std::max(last[from], to);
  Lanes lanes{std::vector<int>(rows, -1), 0};
  std::vector<size_t> busy_until;  // by lane
  for (size_t i = 0; i < rows; ++i) {
    if (last[i] <= i + 1) continue;
    const auto free = std::find_if(busy_until.begin(), busy_until.end(),
                                   [&](size_t until) { return until <= i; });
    lanes.of[i] = static_cast<int>(free - busy_until.begin());
    if (free == busy_until.end()) {
      busy_until.push_back(last[i]);
    } else {
      *free = last[i];
    }
  }
  lanes.count = static_cast<int>(busy_until.size());
  return lanes;
}

class Picture {
 public:
  explicit Picture(const Network& n)
      : n_(n),
        colours_(n),
        rows_(collapse_runs(n)),
        edges_(edges_of(n, rows_)),
        lanes_(assign_lanes(rows_.rows.size(), edges_)) {
    stem_ = kMargin + lanes_.count * kLane + 4;
    for (const NetworkNode& node : n.nodes) {
      longest_s_ = std::max(longest_s_, node.measured_s.value_or(0));
    }
  }

  std::string svg() const {
    std::string edges, boxes;
    for (const auto& [from, to] : edges_) edges += edge(from, to);
    for (size_t i = 0; i < rows_.rows.size(); ++i) {
      boxes += rows_.rows[i].times > 0 ? repetition(i) : box(i);
    }
    const int width = stem_ + kRow / 2 + kWidth + kMargin;
    const int height = 2 * kMargin + kHead + kRow * static_cast<int>(rows_.rows.size());
    return fmt::format(
        "<div class=\"flow-scroll\" tabindex=\"0\"><svg class=\"flow\" width=\"{0}\" "
        "height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
        "aria-label=\"{2}\">{3}{4}{5}</svg></div>",
        width, height,
        escape_html(fmt::format("The {} steps of {} from top to bottom; {}", n_.nodes.size(),
                                n_.name, conversions_text(n_, page_time))),
        headings(), edges, boxes);
  }

 private:
  int y(size_t row) const { return kMargin + kHead + kRow * static_cast<int>(row) + kRow / 2; }
  int left() const { return stem_ + kRow / 2; }
  const std::string& layout_of(const NetworkNode& n) const { return n.outputs.at(0).layout; }
  // What a row of repetitions hands on is what the last of its nodes writes.
  const NetworkNode& writer(size_t row) const {
    const PictureRow& r = rows_.rows[row];
    return n_.nodes[r.times > 0 ? r.node + r.steps * r.times - 1 : r.node];
  }

  std::string headings() const {
    const int line = kMargin + 14;
    const char* last = n_.measured() ? "bytes · time, with its bar" : "bytes";
    return "<g class=\"head\">" + text("soft", left() + kName, line, "step", 32) +
           text("soft", left() + kKind, line, "algorithm", 13) +
           text("soft", left() + kLayout, line, "layout of its output", 26) +
           text("soft", left() + kShape, line, "shape", 20) +
           text("cost", left() + kWidth - 10, line, last, 38) + "</g>";
  }

  // Straight down to the next one; to any other out into the lane and back.
  std::string edge(size_t from, size_t to) const {
    const int a = y(from);
    const int b = y(to);
    std::string d = fmt::format("M{} {}V{}", stem_, a, b);
    if (to > from + 1) {
      const int lane = stem_ - kLane * (lanes_.of[from] + 1);
      const int bend = kRow / 2;
      d = fmt::format("M{0} {1}C{2} {1} {2} {1} {2} {3}V{4}C{2} {5} {2} {5} {0} {5}", stem_, a,
                      lane, a + bend, b - bend, b);
    }
    return fmt::format("<path class=\"edge {}\" d=\"{}\"/>", colours_.of(layout_of(writer(from))),
                       d);
  }

  static std::string text(const char* kind, int x, int y, const std::string& words, size_t most) {
    if (words.empty()) return "";
    return fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>", kind, x, y,
                       escape_html(cut(words, most)));
  }

  static std::string tooltip(const NetworkNode& n) {
    std::string words = n.name;
    if (n.step) words += fmt::format("\nstep {}, task {}, {}", *n.step, n.task, n.origin);
    if (!n.algorithm.empty()) {
      words +=
          fmt::format("\n{}, error {:.1e} (direct {:.1e})", n.algorithm, n.error, n.direct_error);
    }
    for (const StoredTensor& t : n.outputs) {
      words += fmt::format("\n{} {} as {}{}", t.dtype, shape_text(t), t.layout,
                           t.steps.empty() ? "" : " = " + t.steps);
    }
    if (!n.model_nodes.empty()) words += fmt::format("\n{}", fmt::join(n.model_nodes, ", "));
    return fmt::format("<title>{}</title>", escape_html(words));
  }

  // The box of a row without what stands in it.
  std::string frame(size_t row, const char* kind, const std::string& title) const {
    return fmt::format(
        "<g class=\"node {} {}\">{}<path class=\"stub\" d=\"M{} {}H{}\"/><circle class=\"dot\" "
        "cx=\"{}\" cy=\"{}\" r=\"4\"/><rect class=\"box\" x=\"{}\" y=\"{}\" width=\"{}\" "
        "height=\"{}\" rx=\"5\"/><rect class=\"stripe\" x=\"{}\" y=\"{}\" width=\"6\" "
        "height=\"{}\" rx=\"2\"/>",
        kind, colours_.of(layout_of(writer(row))), title, stem_, y(row), left(), stem_, y(row),
        left(), y(row) - kBox / 2, kWidth, kBox, left(), y(row) - kBox / 2, kBox);
  }

  // How long a step takes beside the longest one.
  std::string time_bar(size_t row, const NetworkNode& n) const {
    if (!n.measured_s || longest_s_ <= 0) return "";
    return fmt::format("<rect class=\"time\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"3\"/>",
                       left() + 6, y(row) + kBox / 2 - 3,
                       (kWidth - 6) * *n.measured_s / longest_s_);
  }

  std::string box(size_t row) const {
    const NetworkNode& n = n_.nodes[rows_.rows[row].node];
    const bool conversion = n.kind == NodeKind::kConversion;
    const int line = y(row) + 4;
    const std::string kind = kind_text(n);
    std::string out = frame(row,
                            n.kind == NodeKind::kInput ? "input"
                            : conversion               ? "conversion"
                                                       : "kernel",
                            tooltip(n)) +
                      time_bar(row, n);
    out += text("name", left() + kName, line, n.name, 32);
    out += text(kind == "direct" || n.kind == NodeKind::kInput ? "soft" : "kind", left() + kKind,
                line, kind, 13);
    if (conversion) {
      out += text("layout", left() + kLayout, line, n.from + " → " + layout_of(n), 46);
    } else {
      out += text("layout", left() + kLayout, line, layout_of(n), 26);
      out += text("soft", left() + kShape, line, shape_text(n.outputs[0]), 20);
    }
    return out + text("cost", left() + kWidth - 10, line, cost(n), 38) + "</g>";
  }

  std::string repetition(size_t row) const {
    const PictureRow& r = rows_.rows[row];
    double seconds = 0;
    for (size_t i = r.node; i < r.node + r.steps * r.times; ++i) {
      seconds += n_.nodes[i].measured_s.value_or(0);
    }
    const std::string words = fmt::format("the same {} {} more {}",
                                          r.steps == 1 ? "step" : fmt::format("{} steps", r.steps),
                                          r.times, r.times == 1 ? "time" : "times");
    return frame(row, "repeated", "") + text("soft", left() + kName, y(row) + 4, words, 60) +
           text("cost", left() + kWidth - 10, y(row) + 4,
                seconds > 0 ? page_time(seconds) + " together" : "", 38) +
           "</g>";
  }

  static std::string cost(const NetworkNode& n) {
    std::string words = cost_text(n, page_time);
    if (n.kind != NodeKind::kConversion) {
      double bytes = 0;
      for (const StoredTensor& t : n.outputs) bytes += static_cast<double>(t.bytes);
      words = bytes_text(bytes) + (words.empty() ? "" : " · " + words);
    }
    if (!n.gives.empty()) words = fmt::format("gives {} · {}", fmt::join(n.gives, ", "), words);
    return words;
  }

  const Network& n_;
  Colours colours_;
  PictureRows rows_;
  std::vector<std::pair<size_t, size_t>> edges_;
  Lanes lanes_;
  int stem_ = 0;
  double longest_s_ = 0;
};

std::string legend(const Network& n) {
  const Colours colours(n);
  std::string items;
  for (const LayoutUse& u : layouts_used(n)) {
    items += fmt::format("<li class=\"{}\"><i></i><b>{}</b> {}, {}</li>", colours.of(u.layout),
                         escape_html(u.layout), counted(u.tensors, "tensor"),
                         bytes_text(static_cast<double>(u.bytes)));
  }
  return fmt::format("<ul class=\"flow-legend\">{}</ul>", items);
}

std::string conversion_row(const NetworkNode& n, double most) {
  const double share = most > 0 ? cost_s(n).value_or(0) / most : 0;
  return fmt::format(
      "<li><b>{} → {}</b><span>{} · {}</span><svg class=\"bar\" viewBox=\"0 0 1000 10\" "
      "preserveAspectRatio=\"none\" aria-hidden=\"true\"><path class=\"bad\" d=\"M0 "
      "0H{:.6g}V10H0z\"/></svg><em>{}</em></li>",
      escape_html(n.from), escape_html(n.outputs.at(0).layout),
      escape_html(n.model_nodes.empty() ? n.name : n.model_nodes[0]),
      bytes_text(static_cast<double>(n.moved_bytes)), 1000 * share, price_text(n, page_time));
}

std::string conversion_list(const Network& n) {
  double most = 0;
  for (const NetworkNode& node : n.nodes) {
    if (node.kind == NodeKind::kConversion) most = std::max(most, cost_s(node).value_or(0));
  }
  std::string rows;
  for (const NetworkNode& node : n.nodes) {
    if (node.kind == NodeKind::kConversion) rows += conversion_row(node, most);
  }
  return rows.empty() ? "" : fmt::format("<ul class=\"conversions\">{}</ul>", rows);
}

}  // namespace

std::string network_html(const Network& n) {
  return fmt::format("<p class=\"note\">{}; {}.</p>{}{}{}", escape_html(steps_text(n)),
                     escape_html(conversions_text(n, page_time)), conversion_list(n), legend(n),
                     Picture(n).svg());
}

std::string network_page(const Network& n) {
  return still_page(n.name,
                    fmt::format("<header><p class=\"eyebrow\">tenon · layouts</p><h1>{}</h1><p "
                                "class=\"ending closed\">{}</p></header>",
                                escape_html(n.name), escape_html(n.target)) +
                        section("network", "Layouts along the network",
                                "A box per step, coloured by the layout of what it writes; lines "
                                "are tensors, dashed boxes conversions.",
                                network_html(n)));
}

}  // namespace tenon::report
