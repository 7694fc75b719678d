// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cost/models/boosted.h"
#include "cost/models/shared.h"
#include "support/check.h"
#include "support/hash.h"

namespace tenon::cost {

// Defined in models/NAME.cpp.
MakeModel make_random_model, make_tlp_model, make_treegru_model;

namespace {

constexpr ModelRow kModels[] = {
    {"xgb", "gradient-boosted trees on Ansor's features and loss", make_boosted<kXgb>},
    {"xgb-rank", "AutoTVM's trees: context relations, rank objective", make_boosted<kXgbRank>},
    {"xgb-reg", "AutoTVM's trees: context relations, regression", make_boosted<kXgbReg>},
    {"xgb-itervar", "AutoTVM's trees: loop variables, rank objective", make_boosted<kXgbItervar>},
    {"xgb-knob", "AutoTVM's trees: the choices alone, rank objective", make_boosted<kXgbKnob>},
    {"xgb-ei", "six AutoTVM trees, expected improvement", make_boosted<kXgbEi>},
    {"xgb-ucb", "six AutoTVM trees, upper confidence bound", make_boosted<kXgbUcb>},
    {"treegru", "AutoTVM's network over loops; training needs the plug-in tenon-torch",
     make_treegru_model},
    {"tlp", "attention over the steps of a schedule; training needs the plug-in tenon-torch",
     make_tlp_model},
    {"random", "no model: a baseline", make_random_model},
};

constexpr std::string_view kMark = "tenon cost model 3 ";

// The name in the first line; empty: it is no such line.
std::string name_in(const std::string& bytes) {
  const size_t end = bytes.find('\n');
  if (!bytes.starts_with(kMark) || end == std::string::npos) return "";
  return bytes.substr(kMark.size(), end - kMark.size());
}

[[noreturn]] void refuse(const std::string& bytes) {
  if (!bytes.starts_with("tenon cost model ") || bytes.starts_with(kMark)) {
    throw UserError("the file holds no cost model");
  }
  throw UserError("the cost model was saved by another version",
                  "tune without it; a new one is trained from the records");
}

}  // namespace

std::span<const ModelRow> models() { return kModels; }

std::unique_ptr<CostModel> make_model(const std::string& name, uint64_t seed, int threads,
                                      std::span<const ModelRow> rows) {
  std::string known;
  for (const ModelRow& r : rows) {
    if (r.name == name) return r.make(seed, threads);
    known += (known.empty() ? "" : ", ") + std::string(r.name);
  }
  throw UserError("there is no cost model '" + name + "'", "known: " + known);
}

std::unique_ptr<CostModel> load_model(const std::string& bytes, uint64_t seed, int threads,
                                      std::span<const ModelRow> rows) {
  const std::string name = name_in(bytes);
  if (name.empty()) refuse(bytes);
  auto model = make_model(name, seed, threads, rows);
  model->load(bytes);
  return model;
}

std::string saved(std::string_view model, const std::string& body) {
  return fmt::format("{}{}\n{:016x}\n{}", kMark, model, Hasher().add(body).value(), body);
}

std::string body_of_saved(std::string_view model, const std::string& bytes) {
  const std::string name = name_in(bytes);
  if (name.empty()) refuse(bytes);
  if (name != model) {
    throw UserError(fmt::format("the file holds a cost model of another kind than {}", model));
  }
  constexpr size_t kDigits = 16;
  const std::string rest = bytes.substr(bytes.find('\n') + 1);
  const std::string body = rest.size() > kDigits ? rest.substr(kDigits + 1) : "";
  if (rest.substr(0, kDigits + 1) != fmt::format("{:016x}\n", Hasher().add(body).value())) {
    refuse_damaged_model();
  }
  return body;
}

void refuse_damaged_model() {
  throw UserError("the cost model is damaged", "tune without it; a new one is trained");
}

std::string body_behind(const std::string& columns, std::string_view model,
                        const std::string& bytes) {
  const std::string body = body_of_saved(model, bytes);
  if (!body.starts_with(columns)) {
    throw UserError("the cost model was trained on other features than this version computes",
                    "tune without it; a new one is trained from the records");
  }
  return body.substr(columns.size());
}

}  // namespace tenon::cost
