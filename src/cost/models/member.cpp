// SPDX-License-Identifier: Apache-2.0
#include "cost/models/member.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "cost/models/shared.h"
#include "support/check.h"

namespace tenon::cost {

namespace {

struct Line {
  float number = 0;
  size_t count = 0;
};

std::string to_text(const Line& line) {
  return fmt::format("{:.9g} {}\n", line.number, line.count);
}

Line take_line(std::string_view& bytes) {
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos) refuse_damaged_model();
  Line line;
  const char* last = bytes.data() + end;
  const auto number = std::from_chars(bytes.data(), last, line.number);
  if (number.ec != std::errc() || number.ptr == last || *number.ptr != ' ' ||
      !std::isfinite(line.number)) {
    refuse_damaged_model();
  }
  const auto count = std::from_chars(number.ptr + 1, last, line.count);
  if (count.ec != std::errc() || count.ptr != last) refuse_damaged_model();
  bytes.remove_prefix(end + 1);
  return line;
}

}  // namespace

void Member::add(Booster b, float weight) {
  b.settle();
  parts_.push_back({weight, std::make_shared<const Booster>(std::move(b))});
}

Member Member::on(const Footing& footing) const {
  Member m = *this;
  const auto weight = static_cast<float>(footing.history);
  m.offset_ = offset_ * weight + static_cast<float>(footing.offset);
  for (Part& p : m.parts_) p.weight *= weight;
  return m;
}

std::vector<float> Member::predict(std::span<const float> values) const {
  TENON_CHECK(!parts_.empty()) << "it has no trees";
  const size_t rows = values.size() / parts_.front().booster->width();
  std::vector<float> sum(rows, 0.0F), one(rows);
  for (const Part& p : parts_) {
    p.booster->predict(values, one);
    for (size_t i = 0; i < rows; ++i) sum[i] += p.weight * one[i];
  }
  return sum;
}

std::string to_text(const Member& m) {
  std::string out = to_text(Line{m.offset_, m.parts_.size()});
  for (const Member::Part& p : m.parts_) {
    const std::string trees = p.booster->trees();
    out += to_text(Line{p.weight, trees.size()}) + trees;
  }
  return out;
}

Member read_member(std::string_view& bytes, const Growing& growing) {
  Member m;
  const Line head = take_line(bytes);
  m.offset_ = head.number;
  if (head.count == 0) refuse_damaged_model();
  for (size_t i = 0; i < head.count; ++i) {
    const Line part = take_line(bytes);
    if (part.count == 0 || part.count > bytes.size()) refuse_damaged_model();
    m.add(Booster(growing, nullptr, std::string(bytes.substr(0, part.count))), part.number);
    bytes.remove_prefix(part.count);
  }
  return m;
}

}  // namespace tenon::cost
