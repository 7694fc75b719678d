// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cost/models/rows.h"
#include "support/check.h"

namespace tenon::cost {

namespace {

constexpr ModelRow kModels[] = {
    {"xgb", "gradient-boosted trees, trained on what was measured", make_xgb_model},
    {"random", "no model: a baseline", make_random_model},
};

std::string first_line(std::string_view model) {
  return fmt::format("tenon cost model 1 {} {:016x}\n", model, feature_hash());
}

}  // namespace

std::span<const ModelRow> models() { return kModels; }

std::unique_ptr<CostModel> make_model(const std::string& name, uint64_t seed, int threads) {
  std::string known;
  for (const ModelRow& r : kModels) {
    if (r.name == name) return r.make(seed, threads);
    known += (known.empty() ? "" : ", ") + std::string(r.name);
  }
  throw UserError("there is no cost model '" + name + "'", "known: " + known);
}

std::string saved(std::string_view model, const std::string& body) {
  return first_line(model) + body;
}

std::string body_of_saved(std::string_view model, const std::string& bytes) {
  const size_t end = bytes.find('\n');
  const std::string line = bytes.substr(0, end == std::string::npos ? 0 : end + 1);
  if (line == first_line(model)) return bytes.substr(end + 1);
  const std::string kind = fmt::format("tenon cost model 1 {} ", model);
  if (line.starts_with(kind)) {
    throw UserError("the cost model was trained on other features than this version computes",
                    "tune without it; a new one is trained from the records");
  }
  if (line.starts_with("tenon cost model ")) {
    throw UserError(fmt::format("the file holds a cost model of another kind than {}", model));
  }
  throw UserError("the file holds no cost model");
}

}  // namespace tenon::cost
