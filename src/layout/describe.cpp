// SPDX-License-Identifier: Apache-2.0
#include "layout/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <memory>
#include <numeric>
#include <optional>

#include "support/check.h"

namespace tenon::layout {
namespace {

// Something that can be cut: a logical dimension, or what padding or fusing made of several.
struct Whole {
  std::string name;
  int64_t extent = 0;
};

// (index of the whole) / stride % extent. The modulo of an outer one never does anything.
struct Piece {
  std::shared_ptr<const Whole> of;
  int64_t extent = 0;
  int64_t stride = 1;
  bool outer = true;
};

using Pieces = std::vector<Piece>;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Unless it is a letter: 4 of "16c" must not read like 416.
std::string in_brackets(const std::string& name) {
  const bool letter = std::isalpha(static_cast<unsigned char>(name[0])) != 0 &&
                      name.find_first_of(" +/~") == std::string::npos;
  return letter ? name : "(" + name + ")";
}

std::string small(const std::string& name) {
  std::string out = in_brackets(name);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string name_of(const Piece& p) {
  if (p.outer && p.extent == ceil_div(p.of->extent, p.stride)) {
    return p.stride == 1 ? p.of->name : fmt::format("{}/{}", in_brackets(p.of->name), p.stride);
  }
  const std::string inner = fmt::format("{}{}", p.extent, small(p.of->name));
  return p.stride == 1 ? inner : fmt::format("{}/{}", inner, p.stride);
}

Piece whole(std::string name, int64_t extent) {
  return {std::make_shared<const Whole>(Whole{std::move(name), extent}), extent, 1, true};
}

// Neighbours that were cut apart and still lie one after the other are one piece.
void join(Pieces& p) {
  for (size_t i = 0; i + 1 < p.size();) {
    const Piece& a = p[i];
    const Piece& b = p[i + 1];
    const bool follows = a.of == b.of && !b.outer && a.stride == b.stride * b.extent;
    const bool exact = !a.outer || a.extent * b.extent == ceil_div(a.of->extent, b.stride);
    if (!follows || !exact) {
      ++i;
      continue;
    }
    p[i] = {a.of, a.extent * b.extent, b.stride, a.outer};
    p.erase(p.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

std::string names_of(Pieces p) {
  join(p);
  std::vector<std::string> names;
  for (const Piece& piece : p) names.push_back(name_of(piece));
  return fmt::format("{}", fmt::join(names, " "));
}

// False: there are no words for it.
bool cut(Pieces& p, size_t dim, const std::vector<int64_t>& factors) {
  const Piece was = p[dim];
  const int64_t all =
      std::accumulate(factors.begin(), factors.end(), int64_t{1}, std::multiplies<>());
  if (!was.outer && all != was.extent) return false;
  Pieces parts;
  int64_t stride = was.stride * all;
  for (size_t i = 0; i < factors.size(); ++i) {
    stride /= factors[i];
    parts.push_back({was.of, factors[i], stride, was.outer && i == 0});
  }
  p.erase(p.begin() + static_cast<std::ptrdiff_t>(dim));
  p.insert(p.begin() + static_cast<std::ptrdiff_t>(dim), parts.begin(), parts.end());
  return true;
}

void pad(Pieces& p, size_t dim, int64_t before, int64_t after) {
  if (before == 0 && after == 0) return;
  std::string name = name_of(p[dim]);
  if (name.find_first_of(" +") != std::string::npos) name = in_brackets(name);
  if (before > 0) name = fmt::format("{}+{}", before, name);
  if (after > 0) name += fmt::format("+{}", after);
  p[dim] = whole(name, p[dim].extent + before + after);
}

void fuse(Pieces& p, size_t dim, size_t count) {
  const auto first = p.begin() + static_cast<std::ptrdiff_t>(dim);
  Pieces parts(first, first + static_cast<std::ptrdiff_t>(count));
  int64_t extent = 1;
  for (const Piece& part : parts) extent *= part.extent;
  join(parts);
  const Piece one = parts.size() == 1 ? parts[0] : whole(names_of(parts), extent);
  p.erase(first, first + static_cast<std::ptrdiff_t>(count));
  p.insert(p.begin() + static_cast<std::ptrdiff_t>(dim), one);
}

void unfold(Pieces& p, size_t dim, int64_t size, int64_t stride, int64_t tiles) {
  const std::string name = name_of(p[dim]);
  const Piece tile = whole(fmt::format("{}~{}", in_brackets(name), stride), tiles);
  p[dim] = whole(fmt::format("{}{}~", size, small(name)), size);
  p.insert(p.begin() + static_cast<std::ptrdiff_t>(dim), tile);
}

bool apply(Pieces& p, const LayoutStep& step, const std::vector<int64_t>& after) {
  const auto dim = static_cast<size_t>(step.dim);
  switch (step.op) {
    case LayoutOp::kSplit:
      return cut(p, dim, step.args);
    case LayoutOp::kReorder: {
      Pieces moved;
      for (const int64_t from : step.args) moved.push_back(p[static_cast<size_t>(from)]);
      p = std::move(moved);
      return true;
    }
    case LayoutOp::kFuse:
      fuse(p, dim, static_cast<size_t>(step.args[0]));
      return true;
    case LayoutOp::kPad:
      pad(p, dim, step.args[0], step.args[1]);
      return true;
    case LayoutOp::kUnfold:
      if (step.args[0] == step.args[1]) return cut(p, dim, {after[dim], step.args[0]});
      unfold(p, dim, step.args[0], step.args[1], after[dim]);
      return true;
    case LayoutOp::kStoreAt:
    case LayoutOp::kSwizzle:
      return false;
  }
  return false;
}

}  // namespace

std::vector<std::string> dimension_letters(size_t rank, bool image) {
  if (image && rank >= 3 && rank <= 5) {
    std::vector<std::string> letters = {"N", "C", "D", "H", "W"};
    letters.erase(letters.begin() + 2, letters.end() - static_cast<std::ptrdiff_t>(rank - 2));
    return letters;
  }
  if (rank <= 3) {
    const std::vector<std::string> letters = {"B", "M", "N"};
    return {letters.end() - static_cast<std::ptrdiff_t>(rank), letters.end()};
  }
  std::vector<std::string> letters;
  for (size_t d = 0; d < rank; ++d) letters.push_back(fmt::format("d{}", d));
  return letters;
}

std::string describe(const Layout& l, const std::vector<std::string>& letters) {
  const std::vector<int64_t>& shape = l.logical_shape();
  TENON_CHECK(letters.size() == shape.size())
      << letters.size() << " letters for " << shape.size() << " dimensions";
  const std::string row_major =
      shape.empty() ? "scalar" : fmt::format("{}", fmt::join(letters, " "));
  if (l.is_identity() || (l.is_bijective() && same_storage(l, Layout(shape)))) return row_major;
  Pieces p;
  for (size_t d = 0; d < shape.size(); ++d) p.push_back(whole(letters[d], shape[d]));
  std::vector<std::vector<int64_t>> shapes = l.shapes();
  shapes.push_back(l.storage_shape());
  for (size_t i = 0; i < l.steps().size(); ++i) {
    if (!apply(p, l.steps()[i], shapes[i + 1])) return to_string(l);
  }
  return names_of(p);
}

}  // namespace tenon::layout
