// SPDX-License-Identifier: Apache-2.0
#include "artifact/programs.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cmath>
#include <map>

#include "lower/lower.h"
#include "schedule/state.h"
#include "support/rng.h"
#include "te/ops.h"
#include "te/text.h"
#include "templates/template.h"

namespace tenon::artifact {
namespace {

Param make_param(Place place, int32_t index, int64_t offset, int64_t bytes) {
  Param p;
  p.place = place;
  p.index = index;
  p.offset = offset;
  p.bytes = bytes;
  return p;
}

}  // namespace

Chain::Chain(std::string name, target::Target target) {
  program_.name = std::move(name);
  program_.target = std::move(target);
  program_.provenance = {{"model", "made by hand"}};
  program_.plan.name = program_.name;
  program_.plan.target = plan::target_name(program_.target);
}

void Chain::input(const std::string& name, ir::DType dtype, std::vector<int64_t> shape) {
  const auto index = static_cast<int32_t>(program_.inputs.size());
  program_.inputs.push_back({name, dtype, std::move(shape)});
  places_.emplace_back(name, make_param(Place::kInput, index, 0, program_.inputs.back().bytes()));
}

void Chain::output(const std::string& name, ir::DType dtype, std::vector<int64_t> shape) {
  const auto index = static_cast<int32_t>(program_.outputs.size());
  program_.outputs.push_back({name, dtype, std::move(shape)});
  places_.emplace_back(name, make_param(Place::kOutput, index, 0, program_.outputs.back().bytes()));
}

Param Chain::place(const std::string& value, int64_t bytes) {
  for (const auto& [name, param] : places_) {
    if (name == value) {
      return param;
    }
  }
  const Param param = make_param(Place::kArena, 0, program_.arena_bytes, bytes);
  program_.arena_bytes += align_up(bytes);
  places_.emplace_back(value, param);
  return param;
}

void Chain::step(const te::ComputeDag& dag, const std::vector<std::string>& reads,
                 const std::vector<std::string>& writes, const std::vector<ir::Array>* values) {
  const schedule::State initial(std::make_shared<const te::ComputeDag>(dag),
                                std::make_shared<const target::Target>(program_.target));
  // Row-major at the edges, as the caller gives and gets tensors.
  templates::Request request{{}, false};
  for (const te::Input& in : dag.inputs) {
    if (!in.constant) request.fixed.emplace(in.tensor.name(), layout::Layout(in.tensor.shape()));
  }
  for (const te::Tensor& t : dag.outputs)
    request.fixed.emplace(t.name(), layout::Layout(t.shape()));
  const templates::Choice choice = templates::choose(initial, request);
  auto replayed = schedule::replay(initial, choice.trace);
  TENON_CHECK(static_cast<bool>(replayed));
  const schedule::State& state = *replayed;
  Stage stage{dag, reads, writes, {}};
  std::vector<ir::Array> logical;
  for (const te::Input& in : dag.inputs) {
    const size_t i = logical.size();
    if (values != nullptr) {
      logical.push_back((*values)[i]);
    } else {
      logical.push_back(
          random_array(in.tensor.dtype(), in.tensor->shape, 7 * program_.steps.size() + i));
    }
    if (in.constant) {
      stage.constants.push_back(logical.back());
    }
  }
  const std::vector<ir::Array> packed = lower::pack_inputs(state, logical);
  const std::vector<ir::Array> outputs = lower::make_outputs(state);
  auto f = lower::lower(state);
  TENON_CHECK(static_cast<bool>(f));

  Kernel kernel;
  kernel.name = fmt::format("k{}_{}", program_.kernels.size(), dag.name);
  kernel.function = *f;
  kernel.task = fmt::format("{:016x}", dag.structural_hash());
  plan::TaskPlan decided;
  decided.task = kernel.task;
  decided.te = te::to_text(dag);
  decided.trace = schedule::to_text(choice.trace, initial);
  decided.origin = fmt::format("template {}", choice.name);
  program_.plan.set(std::move(decided));
  kernel.flops = te::flops(dag);
  Step step;
  step.kernel = static_cast<int32_t>(program_.kernels.size());
  step.nodes = {"node/" + dag.name};
  size_t read = 0;
  TENON_CHECK(packed.size() == dag.inputs.size());
  for (size_t i = 0; i < dag.inputs.size(); ++i) {
    if (!dag.inputs[i].constant) {
      step.params.push_back(place(reads[read++], packed[i].bytes()));
      continue;
    }
    const int64_t offset = program_.weights_bytes;
    program_.weights.push_back({offset, std::make_shared<const ir::Array>(packed[i])});
    program_.weights_bytes = align_up(offset + packed[i].bytes());
    step.params.push_back(make_param(Place::kWeights, 0, offset, packed[i].bytes()));
  }
  for (size_t i = 0; i < writes.size(); ++i) {
    step.params.push_back(place(writes[i], outputs[i].bytes()));
  }
  program_.kernels.push_back(std::move(kernel));
  program_.steps.push_back(std::move(step));
  stages_.push_back(std::move(stage));
}

std::vector<ir::Array> Chain::random_inputs(uint64_t seed) const {
  std::vector<ir::Array> inputs;
  for (const TensorInfo& t : program_.inputs) {
    inputs.push_back(random_array(t.dtype, t.shape, seed++));
  }
  return inputs;
}

std::vector<ir::Array> Chain::expected(const std::vector<ir::Array>& inputs) const {
  std::map<std::string, ir::Array> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[program_.inputs[i].name] = inputs[i];
  }
  for (const Stage& s : stages_) {
    std::vector<ir::Array> args;
    size_t read = 0;
    size_t constant = 0;
    for (const te::Input& in : s.dag.inputs) {
      args.push_back(in.constant ? s.constants[constant++] : values.at(s.reads[read++]));
    }
    const std::vector<ir::Array> results = te::evaluate(s.dag, args);
    for (size_t i = 0; i < results.size(); ++i) {
      values[s.writes[i]] = results[i];
    }
  }
  std::vector<ir::Array> outputs;
  for (const TensorInfo& t : program_.outputs) {
    outputs.push_back(values.contains(t.name) ? values.at(t.name) : ir::Array(t.dtype, t.shape));
  }
  return outputs;
}

ir::Array random_array(ir::DType dtype, std::vector<int64_t> shape, uint64_t seed) {
  ir::Array a(dtype, std::move(shape));
  Rng rng(seed);
  for (int64_t i = 0; i < a.elements(); ++i) {
    a.set_double(i, 2 * rng.unit() - 1);
  }
  return a;
}

std::string difference(const std::vector<ir::Array>& expected, const std::vector<ir::Array>& got) {
  if (expected.size() != got.size()) {
    return fmt::format("{} outputs instead of {}", got.size(), expected.size());
  }
  for (size_t k = 0; k < expected.size(); ++k) {
    if (expected[k].shape() != got[k].shape() || expected[k].dtype() != got[k].dtype()) {
      return fmt::format("output {} has another type or shape", k);
    }
    for (int64_t i = 0; i < expected[k].elements(); ++i) {
      const double e = expected[k].get_double(i);
      const double g = got[k].get_double(i);
      if (!(std::abs(e - g) <= 1e-5 * std::max(1.0, std::abs(e)))) {
        return fmt::format("output {} element {}: {} instead of {}", k, i, g, e);
      }
    }
  }
  return "";
}

Chain small_network(const std::string& name, const target::Target& target) {
  Chain c(name, target);
  c.input("x", ir::kF32, {3, 17});
  {
    te::Builder b;
    const auto x = b.input("X", ir::kF32, {3, 17});
    const auto w = b.constant("W", ir::kF32, {17, 29});
    b.output(te::matmul(b, "Y", x, w, false, false));
    te::ComputeDag dag = b.finish();
    dag.name = "matmul";
    c.step(dag, {"x"}, {"y"});
  }
  {
    te::Builder b;
    const auto y = b.input("Y", ir::kF32, {3, 29});
    b.output(te::relu(b, "R", y));
    te::ComputeDag dag = b.finish();
    dag.name = "relu";
    c.step(dag, {"y"}, {"r"});
  }
  c.output("p", ir::kF32, {3, 29});
  {
    te::Builder b;
    const auto r = b.input("R", ir::kF32, {3, 29});
    b.output(te::softmax(b, "P", r));
    te::ComputeDag dag = b.finish();
    dag.name = "softmax";
    c.step(dag, {"r"}, {"p"});
  }
  return c;
}

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "tenon-artifact-XXXXXX").string();
  TENON_CHECK(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

ScratchFolder::~ScratchFolder() { std::filesystem::remove_all(path_); }

}  // namespace tenon::artifact
