// SPDX-License-Identifier: Apache-2.0
#include "history/model_file.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "files/file.h"
#include "files/folder.h"
#include "support/check.h"
#include "support/hash.h"
#include "te/text.h"

namespace tenon::history {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kMark = "tenon history model 1 ";
constexpr std::string_view kAnyMark = "tenon history model ";
constexpr size_t kDigits = 16;
constexpr const char* kEnding = ".model";

std::string hash_text(std::string_view text) {
  return fmt::format("{:016x}", Hasher().add(text).value());
}

Json scores_json(const Scores& s) {
  return {{"top1", s.top1}, {"top5", s.top5}, {"pairwise", s.pairwise}, {"tasks", s.tasks}};
}

std::string card_line(const Card& c) {
  const Json j = {{"model", c.model},
                  {"target", c.target},
                  {"protocol", c.protocol},
                  {"triple", c.triple},
                  {"vector_bytes", c.vector_bytes},
                  {"features", c.features},
                  {"tenon", c.tenon},
                  {"rows", c.rows},
                  {"records", c.records},
                  {"tasks", c.tasks},
                  {"trained_at", c.trained_at},
                  {"scores", scores_json(c.scores)},
                  {"shipped", scores_json(c.shipped)}};
  return j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Scores scores_of(const Json& s) {
  return {s.at("top1"), s.at("top5"), s.at("pairwise"), s.at("tasks")};
}

// Files of earlier versions say nothing of a model that ships.
Card card_of(const std::string& line) {
  const Json j = Json::parse(line);
  return {j.at("model"),
          j.at("target"),
          j.at("protocol"),
          j.at("triple"),
          j.at("vector_bytes"),
          j.at("features"),
          j.at("tenon"),
          j.at("rows"),
          j.at("records"),
          j.at("tasks").get<std::vector<std::string>>(),
          j.at("trained_at"),
          scores_of(j.at("scores")),
          j.contains("shipped") ? scores_of(j.at("shipped")) : Scores{}};
}

}  // namespace

std::string trained_at_text(const Card& c) {
  if (c.trained_at <= 0) return "";
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(c.trained_at)));
}

std::string to_text(const ModelFile& m) {
  const std::string rest = card_line(m.card) + m.bytes;
  return fmt::format("{}{}\n{}", kMark, hash_text(rest), rest);
}

bool is_model_file(const std::string& text) { return text.starts_with(kAnyMark); }

ModelFile parse_model_file(const std::string& text) {
  if (!is_model_file(text)) throw UserError("it is no trained model");
  if (!text.starts_with(kMark)) throw UserError("the model was saved by another version");
  const size_t begin = kMark.size() + kDigits + 1;
  const std::string rest = text.size() > begin ? text.substr(begin) : "";
  if (text.substr(kMark.size(), kDigits + 1) != hash_text(rest) + "\n") {
    throw UserError("the model is damaged or was cut off");
  }
  const size_t end = rest.find('\n');
  try {
    return {card_of(rest.substr(0, end)), rest.substr(std::min(end, rest.size() - 1) + 1)};
  } catch (const nlohmann::json::exception& e) {
    throw UserError(fmt::format("the card of the model cannot be read: {}", e.what()));
  }
}

fs::path models_folder(const std::string& database) {
  std::error_code missing;
  const fs::path file = fs::weakly_canonical(database, missing);
  return (missing ? database : file.string()) + ".models";
}

fs::path model_path(const std::string& database, const Where& where, const std::string& model) {
  return models_folder(database) /
         fmt::format("{}.{}{}", hash_text(where.measured + "\n" + where.protocol), model, kEnding);
}

std::vector<fs::path> model_files(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code missing;
  for (const auto& e : fs::directory_iterator(folder, missing)) {
    std::error_code ignored;
    if (e.path().extension() == kEnding && e.is_regular_file(ignored)) out.push_back(e.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

FoundModel read_model(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  try {
    return {parse_model_file(files::read_file(path.string())), ""};
  } catch (const UserError& e) {
    return {std::nullopt, e.what()};
  }
}

void write_model(const fs::path& path, const ModelFile& m) {
  files::make_folder(path.parent_path());
  files::write_file(path.string(), to_text(m));
}

// Three digits of each number: another build's last bit is no other feature.
std::string encoding_of(const cost::CostModel& model) {
  constexpr const char* kProduct =
      "input A: f32[24, 40]\nconst B: f32[40, 56]\n"
      "C[i: 24, j: 56] = sum(k: 40) A[i, k] * B[k, j]\noutput C\n";
  const auto dag = std::make_shared<const te::ComputeDag>(te::parse(kProduct));
  const auto target = std::make_shared<const target::Target>(target::parse_target("x86-64-v3"));
  const task::Task t = task::make_task(dag, task::parse_edges("", *dag), target);
  const auto row = model.encode({t, {}});
  TENON_CHECK(row) << "a product without a schedule is refused";
  Hasher h;
  h.add(model.name()).add(uint64_t{row->width});
  for (const float v : row->values) h.add(fmt::format("{:.3g}", v));
  return fmt::format("{:016x}", h.value());
}

std::string model_bytes(const std::string& path) {
  std::string text = files::read_file(path);
  if (!is_model_file(text)) return text;
  try {
    return parse_model_file(text).bytes;
  } catch (const UserError& e) {
    throw UserError(files::display_name(path), 0, 0, e.what());
  }
}

}  // namespace tenon::history
