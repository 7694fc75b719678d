// SPDX-License-Identifier: Apache-2.0
// Random branches and loops: what is compiled computes what a walk over the tree does, and so does the reference. Run i
// follows from seed + i alone: --seed=THAT --runs=1 repeats it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "artifact/model.h"
#include "artifact/write.h"
#include "compile/compile.h"
#include "compile/run.h"
#include "compile/sizes.h"
#include "graph/define.h"
#include "onnx/control_program.h"
#include "onnx/import.h"
#include "onnx/text_model.h"
#include "support/private_folder.h"
#include "target/target.h"

namespace tenon::onnx {
namespace {

uint64_t first_seed = 1;
int64_t runs = 60;

std::string shape_text(const ir::Array& a) {
  std::string text;
  for (const int64_t e : a.shape()) text += fmt::format("[{}]", e);
  return text;
}

std::string difference(const std::vector<ir::Array>& got, const std::vector<ir::Array>& want) {
  if (got.size() != want.size()) return "another number of outputs";
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].shape() != want[i].shape()) {
      return fmt::format("output {} is {}, not {}", i, shape_text(got[i]), shape_text(want[i]));
    }
    for (int64_t k = 0; k < want[i].elements(); ++k) {
      if (got[i].get_double(k) == want[i].get_double(k)) continue;
      return fmt::format("output {} element {}: {}, not {}", i, k, got[i].get_double(k),
                         want[i].get_double(k));
    }
  }
  return "";
}

std::vector<ir::Array> run_library(const artifact::Program& p, const std::vector<ir::Array>& in) {
  const auto folder = PrivateFolder::temporary("control");
  const std::filesystem::path where = folder.path() / "m";
  artifact::write(p, {.directory = where, .outputs = {}, .threads = 1});
  artifact::Session session(artifact::Model::load(where), 1);
  EXPECT_EQ(difference(session.run(in), session.run(in)), "") << "a second run differs";
  return session.run(in);
}

TEST(ControlFuzz, ComputesWhatTheProgramSays) {
  int64_t with_flow = 0;
  for (int64_t i = 0; i < runs; ++i) {
    const uint64_t seed = first_seed + static_cast<uint64_t>(i);
    SCOPED_TRACE(fmt::format("--seed={} --runs=1", seed));
    Rng rng(seed);
    const testing::Program drawn = testing::draw_program(rng);
    const std::vector<ir::Array> want = drawn.run();
    graph::Graph g = import_bytes(drawn.model(), "").graph;
    g.verify();
    with_flow += g.flow.empty() ? 0 : 1;
    std::vector<ir::Array> in;
    for (const graph::ValueId v : g.inputs) in.push_back(drawn.inputs.at(g.value(v).name));
    EXPECT_EQ(difference(graph::evaluate(g, in), want), "") << "reference";
    compile::Options options;
    options.target = target::host_target();
    options.threads = 1;
    options.optimize = !rng.chance(0.1);
    options.fuse = !rng.chance(0.1);
    options.schedule = !rng.chance(0.1);
    const artifact::Program p = compile::compile(std::move(g), "control", options);
    p.check();
    EXPECT_EQ(difference(compile::run(p, in), want), "") << "compiled";
    if (i % 4 == 0) EXPECT_EQ(difference(run_library(p, in), want), "") << "library";
    if (HasFailure()) break;
  }
  EXPECT_GT(with_flow, runs / 3);
}

// s + x, n times, or until its largest element reaches 40; then less x, if that is positive.
std::string loop_of_any_batch() {
  using testing::node;
  using testing::value;
  const std::string no_dims = "attribute { name: \"keepdims\" type: INT i: 0 }";
  const std::string body =
      "attribute { name: \"body\" type: GRAPH g { name: \"b\"\n" + value("input", "i", "", 7) +
      value("input", "go", "", 9) + value("input", "s", "batch 3") + node("Add", "s x", "next") +
      node("ReduceMax", "next", "most", no_dims) + node("Less", "most limit", "more") +
      value("output", "more", "", 9) + value("output", "next", "batch 3") + "} }";
  const auto branch = [&](const std::string& name, const std::string& op) {
    return "attribute { name: \"" + name + "\" type: GRAPH g { name: \"b\"\n" +
           node(op, "last x", name + "_y") + value("output", name + "_y", "batch 3") + "} }";
  };
  return testing::model_bytes(
      "graph { name: \"g\"\n" + value("input", "x", "batch 3") + value("input", "n", "", 7) +
      "initializer { name: \"limit\" data_type: 1 float_data: 40 }\n" +
      "initializer { name: \"zero\" data_type: 1 float_data: 0 }\n" +
      node("Loop", "n - x", "last", body) + node("ReduceMax", "last", "top", no_dims) +
      node("Less", "zero top", "c") +
      node("If", "c", "y", branch("then_branch", "Sub") + branch("else_branch", "Max")) +
      value("output", "y", "batch 3") + "}");
}

TEST(ControlSizes, LoopsAndBranchesServeSeveralSizes) {
  const std::string bytes = loop_of_any_batch();
  const compile::OpenModel model{
      {{"batch", {1, 2, 5}}}, {{0, -1}, {}}, [&](const std::vector<int64_t>& sizes) {
        return import_bytes(bytes, "", {.dims = {{"batch", sizes[0]}}, .shapes = {}, .bound = {}})
            .graph;
      }};
  compile::Options options;
  options.target = target::host_target();
  const auto folder = PrivateFolder::temporary("control");
  const std::filesystem::path where = folder.path() / "m";
  artifact::write(compile::compile_sizes(model, "net", options),
                  {.directory = where, .outputs = {}, .threads = 1});
  artifact::Session session(artifact::Model::load(where), 2);
  Rng rng(5);
  for (int64_t run = 0; run < 30; ++run) {
    const int64_t batch = rng.pick(model.dims[0].sizes);
    ir::Array x(ir::kF32, {batch, 3}), n(ir::kI64, {});
    for (int64_t i = 0; i < x.elements(); ++i) {
      x.set_double(i, static_cast<double>(rng.between(-9, 9)));
    }
    n.set(0, {rng.between(0, 7), 0});
    SCOPED_TRACE(fmt::format("batch {} turns {}", batch, n.get(0).i));
    EXPECT_EQ(difference(session.run({x, n}), graph::evaluate(model.at({batch}), {x, n})), "");
  }
}

}  // namespace
}  // namespace tenon::onnx

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--seed=", 7) == 0) {
      tenon::onnx::first_seed = std::strtoull(argv[i] + 7, nullptr, 10);
    }
    if (std::strncmp(argv[i], "--runs=", 7) == 0) {
      tenon::onnx::runs = std::strtoll(argv[i] + 7, nullptr, 10);
    }
  }
  return RUN_ALL_TESTS();
}
