// SPDX-License-Identifier: Apache-2.0
// The model of docs/adding/cost-model.md: a program is worth what the program with the most similar
// steps was worth. It sees the trace alone.
#include <algorithm>
#include <limits>

#include "cost/losses.h"
#include "cost/models/shared.h"

namespace tenon::cost {
namespace {

class Nearest : public CostModel {
 public:
  std::string_view name() const override { return "nearest"; }

  // How many steps of each kind.
  Result<Row> encode(const Subject& subject) const override {
    constexpr size_t kKinds = std::variant_size_v<schedule::AnyPrimitive>;
    Row row{std::vector<float>(kKinds), kKinds, {}};
    for (const schedule::Step& s : subject.trace) row.values[s.index()] += 1;
    return row;
  }

  void learn(std::span<const Sample> samples, Role) override {
    known_.insert(known_.end(), samples.begin(), samples.end());
    labels_ = labels_of(known_);
  }

  std::vector<float> score(std::span<const Row> rows) const override {
    std::vector<float> out;
    for (const Row& r : rows) out.push_back(trained() ? label_near(r) : random_score(1, r));
    return out;
  }

  bool trained() const override { return !known_.empty(); }
  std::string save() const override { return saved(name(), ""); }  // it forgets
  void load(const std::string& bytes) override { body_of_saved(name(), bytes); }

 private:
  float label_near(const Row& r) const {
    float least = std::numeric_limits<float>::infinity(), label = 0;
    for (size_t i = 0; i < known_.size(); ++i) {
      float distance = 0;
      for (size_t c = 0; c < r.values.size(); ++c) {
        const float d = r.values[c] - known_[i].row.values[c];
        distance += d * d;
      }
      if (distance < least) label = labels_[i];
      least = std::min(least, distance);
    }
    return label;
  }

  std::vector<Sample> known_;
  std::vector<float> labels_;
};

}  // namespace

std::unique_ptr<CostModel> make_nearest_model(uint64_t, int) { return std::make_unique<Nearest>(); }

}  // namespace tenon::cost
