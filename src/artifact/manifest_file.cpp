// SPDX-License-Identifier: Apache-2.0
#include "artifact/manifest_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/check.h"

namespace tenon::artifact {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kRemedy = "tenon compile MODEL -o DIR writes one";
constexpr uintmax_t kLargest = 256 << 20;  // bytes; manifests of the largest models have a tenth
constexpr int kDeepest = 16;               // lists within lists; manifests have 4

bool is_too_deep(const std::string& text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size() && depth <= kDeepest; ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      depth += c == '[' || c == '{' ? 1 : 0;
      depth -= c == ']' || c == '}' ? 1 : 0;
    }
  }
  return depth > kDeepest;
}

// A manifest, or null.
Json parse_manifest(const std::string& text) {
  if (is_too_deep(text)) {
    return {};
  }
  Json j = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool ours = j.is_object() && j.contains("schema") && j["schema"] == kManifestSchema;
  return ours ? j : Json();
}

// Names end up in messages and on terminals: without control characters. Throws Json::exception or UserError.
std::string name_in(const Json& object, const char* key) {
  const auto text = object.at(key).get<std::string>();
  if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 32 || c == 127; })) {
    throw UserError(fmt::format("manifest: \"{}\" has control characters", key));
  }
  return text;
}

// Throws Json::exception or UserError.
std::vector<FileEntry> parse_files(const Json& manifest) {
  std::vector<FileEntry> files;
  for (const Json& f : manifest.at("files")) {
    const bool whole = f.at("bytes").is_number_integer();
    files.push_back({name_in(f, "name"), whole ? f.at("bytes").get<int64_t>() : -1,
                     f.at("sha256").get<std::string>()});
  }
  return files;
}

std::string shortened(const Json& value) {
  constexpr size_t kShown = 60;
  const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

std::string first_difference(const Json& a, const Json& b, const std::string& where);

std::string first_difference_of_members(const Json& a, const Json& b, const std::string& where) {
  for (const auto& [key, value] : a.items()) {
    const std::string at = where + "/" + key;
    if (!b.contains(key)) {
      return fmt::format("{} is not in the manifest", at);
    }
    if (const std::string found = first_difference(value, b[key], at); !found.empty()) {
      return found;
    }
  }
  for (const auto& [key, value] : b.items()) {
    if (!a.contains(key)) {
      return fmt::format("{} is in the manifest only", shortened(where + "/" + key));
    }
  }
  return "";
}

std::string first_difference(const Json& a, const Json& b, const std::string& where) {
  if (a.is_object() && b.is_object()) {
    return first_difference_of_members(a, b, where);
  }
  if (a.is_array() && b.is_array() && a.size() == b.size()) {
    for (size_t i = 0; i < a.size(); ++i) {
      const std::string found = first_difference(a[i], b[i], fmt::format("{}/{}", where, i));
      if (!found.empty()) {
        return found;
      }
    }
    return "";
  }
  return a == b ? ""
                : fmt::format("{} is {} in the library and {} in the manifest", where, shortened(a),
                              shortened(b));
}

}  // namespace

std::string read_small_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kLargest || error) {
    return "";
  }
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const FileEntry* ManifestFile::find(const std::string& file) const {
  const auto it =
      std::find_if(files.begin(), files.end(), [&](const FileEntry& f) { return f.name == file; });
  return it != files.end() ? &*it : nullptr;
}

fs::path find_manifest(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw UserError(path.string() + ": there is no such file or folder", kRemedy);
  }
  if (!fs::is_directory(path, error)) {
    return path;
  }
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() == ".json" &&
        !parse_manifest(read_small_file(entry.path())).is_null()) {
      found.push_back(entry.path());
    }
  }
  if (found.size() != 1) {
    throw UserError(fmt::format("{} holds {} artifacts", path.string(),
                                found.empty() ? "no" : std::to_string(found.size())),
                    found.empty() ? kRemedy : "name the .json file of the one that is meant");
  }
  return found.front();
}

ManifestFile read_manifest(const fs::path& path) {
  ManifestFile file;
  file.path = fs::absolute(path);
  file.text = read_small_file(path);
  const Json j = parse_manifest(file.text);
  if (j.is_null()) {
    throw UserError(path.string() + " is not a manifest of an artifact", kRemedy);
  }
  try {
    file.name = name_in(j, "name");
    file.target = name_in(j.at("target"), "name");
    file.files = parse_files(j);
  } catch (const Json::exception& e) {
    throw UserError(fmt::format("{} is damaged: {}", path.string(), e.what()), kRemedy);
  }
  if (file.name != path.stem()) {
    throw UserError(
        fmt::format("{} is the manifest of {}, not of {}", path.string(), shortened(file.name),
                    (file.directory() / ("lib" + path.stem().string() + ".so")).string()),
        "put back the one that was written with the library");
  }
  return file;
}

std::string manifest_difference(const std::string& in_library, const std::string& on_disk) {
  const Json inside = Json::parse(in_library, nullptr, /*allow_exceptions=*/false);
  Json outside = parse_manifest(on_disk);
  if (!inside.is_object() || !outside.is_object()) {
    return "one of them is no manifest";
  }
  outside.erase("files");
  return first_difference(inside, outside, "");
}

std::string level_of(const std::string& manifest, const std::string& target) {
  const Json j = Json::parse(manifest, nullptr, /*allow_exceptions=*/false);
  if (!j.is_object() || !j.contains("levels") || !j["levels"].contains(target)) return manifest;
  return j["levels"][target].dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<FileEntry> listed_files(const fs::path& manifest) {
  const Json j = parse_manifest(read_small_file(manifest));
  try {
    return j.is_null() ? std::vector<FileEntry>() : parse_files(j);
  } catch (const Json::exception&) {
    return {};
  } catch (const UserError&) {
    return {};
  }
}

}  // namespace tenon::artifact
