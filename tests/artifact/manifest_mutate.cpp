// SPDX-License-Identifier: Apache-2.0
#include "artifact/manifest_mutate.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace tenon::artifact {
namespace {

using Json = nlohmann::ordered_json;

size_t below(size_t n, Rng& rng) {
  return static_cast<size_t>(rng.between(0, static_cast<int64_t>(n) - 1));
}

void collect(const Json& j, const Json::json_pointer& at, std::vector<Json::json_pointer>& all) {
  all.push_back(at);
  if (!j.is_structured()) {
    return;
  }
  for (const auto& [key, value] : j.items()) {
    collect(value, j.is_array() ? at / static_cast<size_t>(std::stoul(key)) : at / key, all);
  }
}

Json::json_pointer any_place(const Json& j, Rng& rng) {
  std::vector<Json::json_pointer> all;
  collect(j, Json::json_pointer(), all);
  return rng.pick(all);
}

std::string dump(const Json& j) { return j.dump(1, ' ', false, Json::error_handler_t::replace); }

const std::vector<Json>& odd_values() {
  static const std::vector<Json> values = {0,
                                           -1,
                                           1,
                                           1000000007,
                                           INT64_MAX,
                                           INT64_MIN,
                                           UINT64_MAX,
                                           1e300,
                                           -0.5,
                                           true,
                                           nullptr,
                                           "",
                                           "f64",
                                           "../../../tmp/x",
                                           "net\n\x1b[31m",
                                           "caf\xc3\xa9",
                                           Json::array(),
                                           Json::object(),
                                           Json::array({INT64_MAX, INT64_MAX, 2}),
                                           Json::array({-3, 17}),
                                           {{"name", "x"}}};
  return values;
}

Mutation flip_bytes(const std::string& text, Rng& rng) {
  Mutation m{text, "flipped"};
  for (int64_t n = rng.between(1, 4); n > 0; --n) {
    const size_t at = below(text.size(), rng);
    m.text[at] = static_cast<char>(m.text[at] ^ (1 << rng.between(0, 7)));
    m.what += fmt::format(" byte {}", at);
  }
  return m;
}

Mutation cut_off(const std::string& text, Rng& rng) {
  const size_t at = below(text.size(), rng);
  return {text.substr(0, at), fmt::format("cut off at {}", at)};
}

Mutation change_value(const std::string& text, Rng& rng) {
  Json j = Json::parse(text);
  const auto at = any_place(j, rng);
  const Json value = rng.pick(odd_values());
  j[at] = value;
  return {dump(j), fmt::format("{} = {}", at.to_string(), value.dump())};
}

// The numbers that decide about memory get more than their share.
Mutation change_tensor(const std::string& text, Rng& rng) {
  Json j = Json::parse(text);
  const char* list = rng.chance(0.5) ? "inputs" : "outputs";
  Json& tensor = j[list][0];
  const Json value = rng.pick(odd_values());
  switch (rng.between(0, 4)) {
    case 0:
      tensor["shape"][below(tensor["shape"].size(), rng)] = value;
      break;
    case 1:
      tensor["shape"] = value;
      break;
    case 2:
      tensor["dtype"] = value;
      break;
    case 3:
      tensor["bytes"] = value;
      break;
    default:
      j[list].push_back(tensor);
  }
  return {dump(j), fmt::format("{} with {}", list, value.dump())};
}

Mutation swap_values(const std::string& text, Rng& rng) {
  Json j = Json::parse(text);
  const auto a = any_place(j, rng);
  const auto b = any_place(j, rng);
  const Json first = j[a];
  const Json second = j[b];
  if (a.to_string().starts_with(b.to_string()) || b.to_string().starts_with(a.to_string())) {
    return change_value(text, rng);
  }
  j[a] = second;
  j[b] = first;
  return {dump(j), fmt::format("{} and {} exchanged", a.to_string(), b.to_string())};
}

Mutation remove_value(const std::string& text, Rng& rng) {
  Json j = Json::parse(text);
  auto at = any_place(j, rng);
  if (at.empty()) {
    return {"{}", "emptied"};
  }
  const std::string name = at.to_string();
  const std::string key = at.back();
  at.pop_back();
  if (j[at].is_array()) {
    j[at].erase(std::stoul(key));
  } else {
    j[at].erase(key);
  }
  return {dump(j), name + " removed"};
}

// Parsers take the last of two.
Mutation repeat_key(const std::string& text, Rng& rng) {
  const Json j = Json::parse(text);
  auto member = j.begin();
  std::advance(member, static_cast<int64_t>(below(j.size(), rng)));
  const Json value = rng.chance(0.3) ? member.value() : rng.pick(odd_values());
  const std::string twice = fmt::format("\"{}\": {},", member.key(), dump(value));
  const bool first = rng.chance(0.5);
  const size_t at = first ? text.find('{') + 1 : text.rfind('}');
  const std::string added = first ? twice : "," + twice.substr(0, twice.size() - 1);
  return {text.substr(0, at) + added + text.substr(at), fmt::format("{} twice", member.key())};
}

Mutation nest(const std::string& text, Rng& rng) {
  const auto depth = static_cast<size_t>(int64_t{1} << rng.between(1, 20));
  const bool closed = rng.chance(0.5);
  const std::string deep =
      std::string(depth, '[') + (closed ? std::string(depth, ']') : std::string());
  const size_t at = text.find('{') + 1;
  return {text.substr(0, at) + "\"deep\": " + deep + "," + text.substr(at),
          fmt::format("{} lists within lists", depth)};
}

Mutation splice(const std::string& text, Rng& rng) {
  const size_t from = below(text.size(), rng);
  const size_t length = below(200, rng);
  const size_t to = below(text.size(), rng);
  std::string changed = text;
  changed.insert(to, text.substr(from, length));
  return {changed, fmt::format("{} bytes of {} inserted at {}", length, from, to)};
}

using Mutate = Mutation (*)(const std::string& text, Rng& rng);
constexpr Mutate kMutations[] = {flip_bytes,   cut_off,    change_value, change_tensor, swap_values,
                                 remove_value, repeat_key, nest,         splice};

}  // namespace

Mutation mutate_manifest(const std::string& manifest, const std::vector<std::string>& others,
                         Rng& rng) {
  const size_t kinds = std::size(kMutations);
  const size_t kind = below(kinds + 1, rng);
  if (kind < kinds) {
    return kMutations[kind](manifest, rng);
  }
  const size_t i = below(others.size(), rng);
  return {others[i], fmt::format("manifest {} of another model", i)};
}

}  // namespace tenon::artifact
