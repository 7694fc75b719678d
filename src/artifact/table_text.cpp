// SPDX-License-Identifier: Apache-2.0
#include "artifact/table_text.h"

#include <fmt/format.h>

namespace tenon::artifact {

void TableText::define_bytes(const std::string& name, const std::string& s) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  out_ += fmt::format("{} = private unnamed_addr constant [{} x i8] c\"", name, s.size() + 1);
  for (const char c : s) {
    if (c >= ' ' && c < 127 && c != '"' && c != '\\') {
      out_ += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out_ += {'\\', kDigits[byte / 16], kDigits[byte % 16]};
  }
  out_ += "\\00\"";
}

std::string TableText::string(const std::string& s) {
  const auto [it, fresh] = strings_.try_emplace(s, fmt::format("@s{}", strings_.size()));
  if (fresh) {
    define_bytes(it->second, s);
    out_ += "\n";
  }
  return it->second;
}

std::string TableText::bytes(const std::string& s) {
  if (s.empty()) {
    return "null";
  }
  const std::string name = fmt::format("@a{}", arrays_++);
  define_bytes(name, s);
  out_ += ", align 64\n";
  return name;
}

std::string TableText::array(const std::string& type, const std::vector<std::string>& items,
                             int alignment) {
  if (items.empty()) {
    return "null";
  }
  std::string contents =
      fmt::format("private unnamed_addr constant [{} x {}] [", items.size(), type);
  for (size_t i = 0; i < items.size(); ++i) {
    contents += fmt::format("{}{} {}", i == 0 ? "" : ", ", type, items[i]);
  }
  contents += alignment > 0 ? fmt::format("], align {}\n", alignment) : "]\n";
  const auto [it, fresh] = contents_.try_emplace(contents, "");
  if (fresh) {
    it->second = fmt::format("@a{}", arrays_++);
    out_ += fmt::format("{} = {}", it->second, contents);
  }
  return it->second;
}

std::string TableText::numbers(const std::vector<int32_t>& values) {
  std::vector<std::string> items;
  for (const int32_t v : values) {
    items.push_back(std::to_string(v));
  }
  return array("i32", items);
}

std::string TableText::wide_numbers(const std::vector<int64_t>& values) {
  std::vector<std::string> items;
  for (const int64_t v : values) {
    items.push_back(std::to_string(v));
  }
  return array("i64", items, 64);
}

}  // namespace tenon::artifact
