// SPDX-License-Identifier: Apache-2.0
// Random computations of all types through the whole way: written, loaded, run.
#include <gtest/gtest.h>

#include "artifact/model.h"
#include "artifact/programs.h"
#include "artifact/write.h"
#include "fuzz/random_dag.h"
#include "te/text.h"

namespace tenon::artifact {
namespace {

constexpr uint64_t kFirstSeed = 1;
constexpr uint64_t kRuns = 40;

TEST(Fuzz, RandomDags) {
  const ScratchFolder folder;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + kRuns; ++seed) {
    Rng rng(seed);
    const te::ComputeDag dag = fuzz::random_dag(rng);
    const std::vector<ir::Array> values = fuzz::random_inputs(dag, rng);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + te::to_text(dag));
    Chain c("random_" + std::to_string(seed), target::host_target());
    std::vector<std::string> reads;
    std::vector<ir::Array> inputs;
    for (size_t i = 0; i < dag.inputs.size(); ++i) {
      const te::Tensor& t = dag.inputs[i].tensor;
      if (!dag.inputs[i].constant) {
        c.input(t.name(), t.dtype(), t->shape);
        reads.push_back(t.name());
        inputs.push_back(values[i]);
      }
    }
    std::vector<std::string> writes;
    for (const te::Tensor& t : dag.outputs) {
      c.output(t.name(), t.dtype(), t->shape);
      writes.push_back(t.name());
    }
    c.step(dag, reads, writes, &values);
    write(c.program(), {.directory = folder / c.program().name});
    Session session(Model::load(folder / c.program().name), 1 + static_cast<int>(seed % 2));
    const auto expected = te::evaluate(dag, values);
    ASSERT_EQ(fuzz::compare(expected, session.run(inputs), dag), "");
  }
}

}  // namespace
}  // namespace tenon::artifact
