// SPDX-License-Identifier: Apache-2.0
#include "report/network/network_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "report/page/rails.h"
#include "report/page/words.h"
#include "support/text.h"
#include "task/task.h"

namespace tenon::report {
namespace {

constexpr size_t kColumns = 6;
using Cells = std::array<std::string, kColumns>;  // all but the last padded to one width

char mark(const NetworkNode& n) {
  switch (n.kind) {
    case NodeKind::kInput:
      return 'o';
    case NodeKind::kKernel:
      return '*';
    case NodeKind::kConversion:
      return 'x';
  }
  return '*';
}

std::string size_text(const NetworkNode& n) {
  int64_t bytes = 0;
  for (const StoredTensor& t : n.outputs) bytes += t.bytes;
  return bytes_text(static_cast<double>(bytes));
}

std::string joined(const NetworkNode& n, std::string (*of)(const StoredTensor&)) {
  std::vector<std::string> words;
  for (const StoredTensor& t : n.outputs) words.push_back(of(t));
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return fmt::format("{}", fmt::join(words, " | "));
}

std::string last_cell(const NetworkNode& n) {
  std::string text = cost_text(n);
  if (!n.gives.empty()) {
    text += fmt::format("{}gives {}", text.empty() ? "" : ", ", fmt::join(n.gives, ", "));
  }
  return text;
}

Cells cells_of(const NetworkNode& n) {
  std::string layout = joined(n, [](const StoredTensor& t) { return t.layout; });
  if (n.kind == NodeKind::kConversion) layout = n.from + " -> " + layout;
  return {n.name, kind_text(n), layout, joined(n, shape_text), size_text(n), last_cell(n)};
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string shape_text(const StoredTensor& t) {
  return t.shape.empty() ? "scalar" : fmt::format("{}", fmt::join(t.shape, "x"));
}

std::string kind_text(const NetworkNode& n) {
  switch (n.kind) {
    case NodeKind::kInput:
      return "input";
    case NodeKind::kKernel:
      return n.algorithm;
    case NodeKind::kConversion:
      return "conversion";
  }
  return "";
}

std::string cost_text(const NetworkNode& n, TimeText time) {
  if (n.kind != NodeKind::kConversion) return n.measured_s ? time(*n.measured_s) : "";
  return fmt::format("moves {}, {}", bytes_text(static_cast<double>(n.moved_bytes)),
                     price_text(n, time));
}

std::string price_text(const NetworkNode& conversion, TimeText time) {
  return (conversion.measured_s ? "" : "estimated ") + time(cost_s(conversion).value_or(0));
}

std::string steps_text(const Network& n) {
  const auto steps = std::count_if(n.nodes.begin(), n.nodes.end(),
                                   [](const NetworkNode& node) { return node.step.has_value(); });
  std::string text = counted(static_cast<size_t>(steps), "step");
  const char* between = ": ";
  for (const auto& [algorithm, count] : algorithms_used(n)) {
    text += fmt::format("{}{} {}", between, count, algorithm);
    between = ", ";
  }
  return text;
}

std::string conversions_text(const Network& n, TimeText time) {
  const Conversions c = conversions(n);
  if (c.count == 0) return "no conversions";
  const std::string head =
      fmt::format("{} {} {}: ", counted(c.count, "conversion"), c.count == 1 ? "moves" : "move",
                  bytes_text(static_cast<double>(c.bytes)));
  if (n.measured()) {
    return head + fmt::format("{} of {}, measured with {}", time(c.seconds), time(n.run_s),
                              counted(static_cast<size_t>(n.threads), "thread"));
  }
  const std::string estimate =
      fmt::format("estimated at {:.0f} GB/s", task::kConvertedBytesPerS * 1e-9);
  if (c.recorded == 0) return fmt::format("{}{}, {}", head, time(c.seconds), estimate);
  return fmt::format("{}{}, by the records of tuning{}", head, time(c.seconds),
                     c.estimated == 0 ? "" : fmt::format(", {} of them {}", c.estimated, estimate));
}

std::string to_text(const Network& n) {
  std::vector<RailNode> nodes;
  std::vector<Cells> cells;
  Cells heads = {"kernel", "algorithm", "layout of its output",
                 "shape",  "size",      n.measured() ? "time" : ""};
  std::array<size_t, kColumns> width{};
  for (size_t c = 0; c < kColumns; ++c) width[c] = heads[c].size();
  for (const NetworkNode& node : n.nodes) {
    nodes.push_back({node.reads, mark(node)});
    cells.push_back(cells_of(node));
    for (std::string& cell : cells.back()) cell = escaped(cell);
    for (size_t c = 0; c < kColumns; ++c) width[c] = std::max(width[c], cells.back()[c].size());
  }
  const std::vector<RailLine> lines = draw_rails(nodes);
  size_t rails = 0;
  for (const RailLine& l : lines) rails = std::max(rails, l.rails.size());
  const auto line = [&](const std::string& beside, const Cells& row) {
    std::string text = fmt::format("{:<{}}", beside, rails);
    for (size_t c = 0; c < kColumns; ++c) text += fmt::format("  {:<{}}", row[c], width[c]);
    return trimmed(text) + "\n";
  };
  std::string out = line("", heads);
  for (const RailLine& l : lines) {
    out += l.node ? line(l.rails, cells[*l.node]) : trimmed(l.rails) + "\n";
  }
  return out + fmt::format("{} for {}, {}; {}\n", escaped(n.name), escaped(n.target),
                           escaped(steps_text(n)), conversions_text(n));
}

}  // namespace tenon::report
