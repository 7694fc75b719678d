// SPDX-License-Identifier: Apache-2.0
#include "target/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <sstream>
#include <string_view>

#include "support/check.h"

namespace tenon::target {
namespace {

// `text` is what the user wrote as a whole: a message without it has no place.
[[noreturn]] void refuse(const std::string& text, const std::string& why, const std::string& hint) {
  throw UserError(fmt::format("target '{}': {}", text, why), hint);
}

Target named_target(const std::string& text, const std::string& name) {
  if (name == "host") {
    return host_target();
  }
  std::vector<std::string> names = {"host"};
  for (const Target& t : known_targets()) {
    if (t.name == name) {
      return t;
    }
    names.push_back(t.name);
  }
  refuse(text, name.empty() ? "no name given" : fmt::format("there is no target '{}'", name),
         fmt::format("known: {}", fmt::join(names, ", ")));
}

int64_t parse_number(const std::string& text, std::string_view key, std::string_view value,
                     int64_t low, int64_t high) {
  int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  const std::string_view suffix(rest, static_cast<size_t>(end - rest));
  const int64_t unit = suffix == "K" ? 1 << 10 : suffix == "M" ? 1 << 20 : 1;
  const bool sized = key != "cores" && key != "vector_bytes";
  const bool known_suffix = suffix.empty() || (sized && unit > 1);
  if (error != std::errc() || !known_suffix || number > high / unit || number * unit < low) {
    refuse(text, fmt::format("{}={} is not a number in {}..{}", key, value, low, high),
           sized ? "bytes, or with K or M at the end" : "");
  }
  return number * unit;
}

constexpr int64_t kMaxCacheBytes = int64_t{1} << 40;

void set_vector_bytes(const std::string& text, std::string_view value, Target& t) {
  const int64_t bytes = parse_number(text, "vector_bytes", value, 16, t.vector_bytes);
  if ((bytes & (bytes - 1)) != 0) {
    refuse(text, fmt::format("vector_bytes={} is not a power of two", value), "");
  }
  t.vector_bytes = static_cast<int>(bytes);
}

void set_field(const std::string& text, const std::string& word, Target& t) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos) {
    refuse(text, fmt::format("'{}' is not key=value", word), "for example cores=4");
  }
  const std::string key = word.substr(0, equals);
  const std::string value = word.substr(equals + 1);
  if (key == "cores") {
    t.cores = static_cast<int>(parse_number(text, key, value, 1, 4096));
  } else if (key == "l1d") {
    t.l1d_bytes = parse_number(text, key, value, 1024, kMaxCacheBytes);
  } else if (key == "l2") {
    t.l2_bytes = parse_number(text, key, value, 1024, kMaxCacheBytes);
  } else if (key == "l3") {
    t.l3_bytes = parse_number(text, key, value, 0, kMaxCacheBytes);
  } else if (key == "vector_bytes") {
    set_vector_bytes(text, value, t);
  } else {
    refuse(text, fmt::format("unknown key '{}'", key), "keys: cores, l1d, l2, l3, vector_bytes");
  }
}

}  // namespace

std::string Target::fingerprint() const {
  return fmt::format("{};{};{};{};vector={}x{};cores={};l1d={};l2={};l3={};line={}", triple, cpu,
                     features, machine, vector_bytes, vector_registers, cores, l1d_bytes, l2_bytes,
                     l3_bytes, line_bytes);
}

Target parse_target(const std::string& text) {
  std::istringstream words(text);
  std::string word;
  words >> word;
  Target t = named_target(text, word);
  while (words >> word) {
    set_field(text, word, t);
  }
  return t;
}

}  // namespace tenon::target
