// SPDX-License-Identifier: Apache-2.0
#include "history/program_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "support/text.h"

namespace tenon::history {
namespace {

constexpr std::string_view kHeader = "# tenon programs 1";
constexpr double kMostRelative = 1000;

std::string line_of(const KnownTask& t, const KnownProgram& p) {
  return fmt::format("{}\t{}\t{}\t{:.3f}\t{}\n", t.key, escaped(t.label), to_text(t.likeness),
                     p.relative, to_text(p.recipe));
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at <= line.size();) {
    const size_t end = std::min(line.find('\t', at), line.size());
    out.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::optional<double> parse_relative(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  const bool good = !copy.empty() && *end == '\0' && value >= 1 && value <= kMostRelative;
  return good ? std::optional(value) : std::nullopt;
}

bool is_key(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

// False: the line is damaged.
bool read_line(std::string_view line, std::vector<KnownTask>& tasks) {
  const auto fields = fields_of(line);
  if (fields.size() != 5 || !is_key(fields[0])) return false;
  auto likeness = parse_likeness(fields[2]);
  const auto relative = parse_relative(fields[3]);
  auto recipe = parse_recipe(fields[4]);
  if (!likeness || !relative || !recipe) return false;
  const bool same =
      !tasks.empty() && tasks.back().key == fields[0] && tasks.back().likeness == *likeness;
  if (!same) {
    tasks.push_back({std::string(fields[0]), std::string(fields[1]), *std::move(likeness), {}});
  }
  tasks.back().programs.push_back({*std::move(recipe), *relative});
  return true;
}

}  // namespace

std::string to_table(const std::vector<KnownTask>& tasks, size_t most_bytes) {
  std::vector<std::string> lines(tasks.size());  // of each task
  size_t bytes = kHeader.size() + 1;
  size_t longest = 0;
  for (const KnownTask& t : tasks) longest = std::max(longest, t.programs.size());
  for (size_t rank = 0; rank < longest; ++rank) {
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (rank >= tasks[i].programs.size()) continue;
      const std::string line = line_of(tasks[i], tasks[i].programs[rank]);
      if (bytes + line.size() > most_bytes) continue;
      bytes += line.size();
      lines[i] += line;
    }
  }
  return fmt::format("{}\n{}", kHeader, fmt::join(lines, ""));
}

Table read_table(std::string_view text) {
  Table out;
  bool known_version = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("#")) {
      known_version = known_version || line == kHeader;
    } else if (!line.empty() && !(known_version && read_line(line, out.tasks))) {
      ++out.left_out;
    }
  }
  return out;
}

std::string table_name(const target::Target& t) {
  if (!t.is_cpu()) return fmt::format("{}-{}", t.device, t.gpu().processor);
  const std::string arch = t.triple.substr(0, t.triple.find('-'));
  return fmt::format("{}-{}", arch, 8 * t.cpu().vector_bytes);
}

}  // namespace tenon::history
