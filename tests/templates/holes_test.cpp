// SPDX-License-Identifier: Apache-2.0
// The holes of every template: blind answers lead to programs whose choices can be read back from
// the trace, which they could not if two choices led to the same program.
#include <gtest/gtest.h>

#include "space/recognise.h"
#include "templates/case_tables.h"
#include "templates/edges.h"

namespace tenon::templates {
namespace {

class OneTemplate : public space::Skeleton {
 public:
  OneTemplate(const Template& t, const Request& request) : template_(t), request_(request) {}
  void write(space::Builder& b) const override {
    if (!template_.write(b, request_)) b.refuse({.code = IllegalCode::kBadFactor});
  }

 private:
  const Template& template_;
  const Request& request_;
};

// Free; or inside a network, in blocks of so many channels.
Request request_for(const te::ComputeDag& dag, int64_t block) {
  Request r;
  if (block == 0) return r;
  r.borders = false;
  const auto fix = [&](const te::Tensor& t) {
    const bool cut = t.rank() > 2 && t.shape()[1] >= block;
    r.fixed[t.name()] = blocked(t.shape(), cut ? block : 1);
  };
  for (const te::Input& in : dag.inputs) {
    if (!in.constant) fix(in.tensor);
  }
  for (const te::Tensor& t : dag.outputs) fix(t);
  return r;
}

class HolesTest : public ::testing::TestWithParam<Case> {
 protected:
  void expect_read_back(const Template& t, const schedule::State& initial, const Request& request) {
    const OneTemplate skeleton(t, request);
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      Rng rng(seed);
      space::Blindly decider(rng);
      space::Builder b(initial, decider, true);
      skeleton.write(b);
      if (b.refused() || b.choices().empty()) continue;
      const auto read = space::recognise(skeleton, initial, b.trace());
      ASSERT_TRUE(read) << t.name << " " << to_json(b.choices()) << "\n"
                        << schedule::to_text(b.trace(), initial);
      EXPECT_EQ(to_json(*read), to_json(b.choices())) << t.name << "\n"
                                                      << schedule::to_text(b.trace(), initial);
    }
  }
};

TEST_P(HolesTest, CanBeReadBack) {
  const auto dag = std::make_shared<const te::ComputeDag>(GetParam().make());
  for (const char* name : {"x86-64-v3 cores=2", "x86-64-v4 cores=16"}) {
    const schedule::State initial(
        dag, std::make_shared<const target::Target>(target::parse_target(name)));
    for (const int64_t block : {0, 1, 16, 32}) {
      const Request request = request_for(*dag, block);
      for (const Template& t : templates(initial.target())) expect_read_back(t, initial, request);
    }
  }
}

TEST_P(HolesTest, OfGpusCanBeReadBack) {
  const auto dag = std::make_shared<const te::ComputeDag>(GetParam().make());
  for (const char* name : {"cuda sm_90", "cuda simt"}) {
    const schedule::State initial(
        dag, std::make_shared<const target::Target>(target::parse_target(name)));
    for (const int64_t block : {0, 1}) {
      const Request request = request_for(*dag, block);
      for (const Template& t : templates(initial.target())) expect_read_back(t, initial, request);
    }
  }
}

TEST_P(HolesTest, OfEachAlgorithmCanBeReadBack) {
  const auto dag = std::make_shared<const te::ComputeDag>(GetParam().make());
  for (const char* name : {"x86-64-v4-bf16 cores=2", "cuda sm_90"}) {
    const schedule::State initial(
        dag, std::make_shared<const target::Target>(target::parse_target(name)));
    for (const schedule::AlgorithmRow& row : schedule::algorithms()) {
      Request request;
      request.algorithm = 1 + static_cast<int64_t>(row.algorithm);
      request.accuracy = Accuracy::kFast;
      for (const Template& t : templates(initial.target())) expect_read_back(t, initial, request);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, HolesTest, ::testing::ValuesIn(cases()),
                         [](const auto& i) { return i.param.name; });
INSTANTIATE_TEST_SUITE_P(Networks, HolesTest, ::testing::ValuesIn(network_cases()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace tenon::templates
