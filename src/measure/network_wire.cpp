// SPDX-License-Identifier: Apache-2.0
#include "measure/network_wire.h"

#include <cstdlib>

namespace tenon::measure {
namespace {

constexpr const char* kCompare = "compare";
constexpr const char* kTimes = "times";
constexpr const char* kFailed = "failed";
constexpr size_t kJobFields = 5, kInputFields = 2, kTimesFields = 9;

double number(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

// "3x8x"; nothing for a scalar.
std::string shape_field(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t n : shape) text += std::to_string(n) + "x";
  return text;
}

bool parse_shape(const std::string& text, std::vector<int64_t>& shape) {
  const char* at = text.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    shape.push_back(std::strtoll(at, &end, 10));
    if (end == at || *end != 'x' || shape.back() < 0) return false;
    at = end + 1;
  }
  return true;
}

}  // namespace

Message encode(const NetworkJob& job) {
  Message m = {kCompare, job.a, job.b, std::to_string(job.threads), to_text(job.seconds)};
  for (const NetworkInput& in : job.inputs) {
    m.push_back(shape_field(in.shape));
    m.push_back(in.bytes);
  }
  return m;
}

bool decode(const Message& m, NetworkJob& job) {
  if (m.size() < kJobFields || m[0] != kCompare) return false;
  if ((m.size() - kJobFields) % kInputFields != 0) return false;
  job.a = m[1];
  job.b = m[2];
  job.threads = std::atoi(m[3].c_str());
  job.seconds = number(m[4]);
  for (size_t i = kJobFields; i < m.size(); i += kInputFields) {
    NetworkInput& in = job.inputs.emplace_back();
    if (!parse_shape(m[i], in.shape)) return false;
    in.bytes = m[i + 1];
  }
  return job.threads > 0;
}

Message encode(const NetworkTimes& t) {
  if (!t.error.empty()) return {kFailed, t.error};
  Message m = {kTimes,
               to_text(t.a_s),
               to_text(t.b_s),
               to_text(t.ratio),
               to_text(t.low),
               to_text(t.high),
               std::to_string(t.turns),
               to_text(t.difference),
               std::to_string(t.a_steps_s.size())};
  for (const auto* steps : {&t.a_steps_s, &t.b_steps_s}) {
    for (const double s : *steps) m.push_back(to_text(s));
  }
  return m;
}

bool decode(const Message& m, NetworkTimes& t) {
  if (m.size() == 2 && m[0] == kFailed) {
    t.error = m[1];
    return true;
  }
  if (m.size() < kTimesFields || m[0] != kTimes) return false;
  t.a_s = number(m[1]);
  t.b_s = number(m[2]);
  t.ratio = number(m[3]);
  t.low = number(m[4]);
  t.high = number(m[5]);
  t.turns = std::atoll(m[6].c_str());
  t.difference = number(m[7]);
  const auto first = static_cast<size_t>(std::strtoull(m[8].c_str(), nullptr, 10));
  if (first > m.size() - kTimesFields) return false;
  for (size_t i = kTimesFields; i < m.size(); ++i) {
    (i - kTimesFields < first ? t.a_steps_s : t.b_steps_s).push_back(number(m[i]));
  }
  return true;
}

}  // namespace tenon::measure
