// SPDX-License-Identifier: Apache-2.0
// Every architecture of the zoo at its smallest size: optimised, fused, scheduled and written as a library, against
// every node by its definition, compiled without schedules.
#include <gtest/gtest.h>

#include <filesystem>

#include "artifact/model.h"
#include "artifact/write.h"
#include "compile/compile.h"
#include "graph/random_graph.h"
#include "onnx/import.h"
#include "zoo/zoo.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

using Arrays = std::vector<ir::Array>;

// It gives the outputs of the library, for each number of threads.
std::vector<Arrays> run(const artifact::Program& p, const Arrays& inputs,
                        const std::vector<int>& threads) {
  const fs::path folder =
      fs::temp_directory_path() / ("tenon-zoo-" + p.name + std::to_string(::getpid()));
  artifact::write(p, {folder, {}, 0});
  std::vector<Arrays> out;
  for (const int n : threads) {
    artifact::Session session(artifact::Model::load(folder), n);
    out.push_back(session.run(inputs));
  }
  fs::remove_all(folder);
  return out;
}

// Token ids for integer inputs, values around zero for the others.
ir::Array random_input(Rng& rng, const graph::Value& v) {
  if (v.dtype.is_float()) return graph::random_array(rng, v.dtype, v.shape);
  ir::Array a(v.dtype, v.shape);
  for (int64_t i = 0; i < a.elements(); ++i) a.set(i, {rng.between(0, 1), 0});
  return a;
}

class ZooModel : public testing::TestWithParam<std::string> {};

TEST_P(ZooModel, EqualsItsDefinition) {
  const zoo::Architecture& a = zoo::find(GetParam());
  zoo::Options size;
  // At the very smallest size the last stages normalise single pixels, which magnifies rounding.
  size.image = std::min(2 * a.image.least, a.image.most);
  size.tokens = a.tokens.least;
  const onnx::Imported m = onnx::import_bytes(zoo::model_bytes(a, size), ".");
  Rng rng(5);
  Arrays inputs;
  for (const graph::ValueId v : m.graph.inputs) {
    inputs.push_back(random_input(rng, m.graph.value(v)));
  }
  compile::Options plain;
  plain.target = target::host_target();
  // By definition takes a minute for the largest two: there every node has its own schedule instead.
  const bool large = GetParam() == "vgg16" || GetParam() == "vit_b_16";
  plain.optimize = plain.fuse = false;
  plain.schedule = large;
  const auto expected = run(compile::compile(m.graph, "plain_" + GetParam(), plain), inputs, {1});
  compile::Options full;
  full.target = target::host_target();
  const artifact::Program program = compile::compile(m.graph, GetParam(), full);
  const auto got = run(program, inputs, {1, 2});
  for (size_t i = 0; i < got.size(); ++i) {
    const graph::Difference d = graph::compare(expected[0], got[i]);
    EXPECT_LT(d.error, 1e-4) << i + 1 << " threads: " << d.where;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const zoo::Architecture& a : zoo::architectures()) out.emplace_back(a.name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, ZooModel, testing::ValuesIn(names()), [](const auto& info) {
  std::string name;
  for (const char c : info.param) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
}  // namespace tenon
