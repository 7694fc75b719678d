// SPDX-License-Identifier: Apache-2.0
// The baseline: knows nothing, however much is measured.
#include <bit>

#include "cost/models/shared.h"
#include "support/hash.h"
#include "support/rng.h"

namespace tenon::cost {

namespace {

class RandomModel : public CostModel {
 public:
  explicit RandomModel(uint64_t seed) : seed_(seed) {}
  std::string_view name() const override { return "random"; }
  // Tells programs apart, no more: sixteen bits of the trace's hash in each column.
  Result<Row> encode(const Subject& subject) const override {
    const uint64_t h = schedule::hash(subject.trace);
    Row row{.values = {}, .width = 4, .parent = {}};
    for (int bit = 0; bit < 64; bit += 16) {
      row.values.push_back(static_cast<float>(h >> bit & 0xffff));
    }
    return row;
  }
  void learn(std::span<const Sample> samples, Role) override { seen_ += samples.size(); }
  std::vector<float> score(std::span<const Row> rows) const override {
    std::vector<float> out;
    for (const Row& r : rows) out.push_back(random_score(seed_ + seen_, r));
    return out;
  }
  bool trained() const override { return false; }
  std::string save() const override { return saved(name(), ""); }
  void load(const std::string& bytes) override { body_of_saved(name(), bytes); }

 private:
  uint64_t seed_;
  uint64_t seen_ = 0;
};

}  // namespace

float random_score(uint64_t seed, const Row& candidate) {
  Hasher h;
  h.add(seed);
  for (const float v : candidate.values) h.add(uint64_t{std::bit_cast<uint32_t>(v)});
  return static_cast<float>(Rng(h.value()).next() >> 40) * 0x1.0p-24F;
}

std::unique_ptr<CostModel> make_random_model(uint64_t seed, int) {
  return std::make_unique<RandomModel>(seed);
}

}  // namespace tenon::cost
