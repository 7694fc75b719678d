// SPDX-License-Identifier: Apache-2.0
#include "target/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <sstream>
#include <string_view>
#include <vector>

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
  if (name == "cuda") {
    return card_target();
  }
  std::vector<std::string> names = {"host"};
  for (const std::vector<Target>* rows : {&known_targets(), &gpu_targets()}) {
    for (const Target& t : *rows) {
      if (t.name == name) {
        return t;
      }
      names.push_back(t.name);
    }
  }
  names.emplace_back("cuda");
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

void set_vector_bytes(const std::string& text, std::string_view value, Cpu& t) {
  const int64_t bytes = parse_number(text, "vector_bytes", value, 16, t.vector_bytes);
  if ((bytes & (bytes - 1)) != 0) {
    refuse(text, fmt::format("vector_bytes={} is not a power of two", value), "");
  }
  t.vector_bytes = static_cast<int>(bytes);
}

void set_field(const std::string& text, const std::string& word, Cpu& t) {
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

// The features that a fingerprint names. Only look-ups in tables of bytes use the one that is left out, and records of all
// other programs serve machines with and without it.
std::string named_features(const std::string& features) {
  constexpr const char* kLeftOut = "+avx512vbmi";
  std::istringstream in(features);
  std::string named;
  for (std::string feature; std::getline(in, feature, ',');) {
    if (feature != kLeftOut) named += (named.empty() ? "" : ",") + feature;
  }
  return named;
}

// Texts of a part in a fingerprint: records are found by them.
std::string describe(const Cpu& c, const std::string& machine) {
  return fmt::format("{};{};{};vector={}x{};cores={};l1d={};l2={};l3={};line={}", c.processor,
                     named_features(c.features), machine, c.vector_bytes, c.vector_registers,
                     c.cores, c.l1d_bytes, c.l2_bytes, c.l3_bytes, c.line_bytes);
}

std::string describe(const Gpu& g, const std::string& machine) {
  return fmt::format("{};{};multiprocessors={};threads={}x{};registers={}x{};shared={}x{};l2={}",
                     g.processor, machine, g.multiprocessors, g.threads_per_block,
                     g.threads_per_multiprocessor, g.registers_per_thread,
                     g.registers_per_multiprocessor, g.shared_bytes_per_block,
                     g.shared_bytes_per_multiprocessor, g.l2_bytes);
}

}  // namespace

const Cpu& Target::cpu() const {
  TENON_CHECK(is_cpu()) << name << " has no CPU part";
  return std::get<Cpu>(part);
}

Cpu& Target::cpu() {
  TENON_CHECK(is_cpu()) << name << " has no CPU part";
  return std::get<Cpu>(part);
}

const Gpu& Target::gpu() const {
  TENON_CHECK(!is_cpu()) << name << " has no GPU part";
  return std::get<Gpu>(part);
}

Gpu& Target::gpu() {
  TENON_CHECK(!is_cpu()) << name << " has no GPU part";
  return std::get<Gpu>(part);
}

std::string Target::fingerprint() const {
  return std::visit(
      [this](const auto& p) { return fmt::format("{};{}", triple, describe(p, machine)); }, part);
}

Target parse_target(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  std::string name = words.empty() ? "" : words[0];
  if (name == "native") name = "host";  // as compilers call it
  size_t at = 1;
  // A card is named by two words.
  if (name == "cuda" && words.size() > 1 && words[1].find('=') == std::string::npos) {
    name += " " + words[at++];
  }
  Target t = named_target(text, name);
  for (; at < words.size(); ++at) {
    if (!t.is_cpu()) refuse(text, fmt::format("a GPU has no settings, so no '{}'", words[at]), "");
    set_field(text, words[at], t.cpu());
  }
  return t;
}

}  // namespace tenon::target
