// SPDX-License-Identifier: Apache-2.0
#include "compile/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "backend/backend.h"
#include "compile/evaluator.h"
#include "compile/flow.h"
#include "compile/kernels.h"
#include "compile/memory_check.h"
#include "compile/names.h"
#include "compile/packed.h"
#include "compile/places.h"
#include "support/parallel.h"

namespace tenon::compile {
namespace {

using artifact::Param;
using artifact::Place;
using graph::ValueId;
using plan::PlannedCall;

// Constants in the layouts that kernels read them in, each once.
class Weights {
 public:
  Weights(const graph::Graph& g, artifact::Program& program, PackedWeights* packed)
      : g_(g), program_(program), packed_(packed) {}

  Param add(ValueId v, const Stored& stored) { return add(g_.value(v).data, stored); }

  Param add(const graph::Data& data, const Stored& stored) {
    const layout::Layout& l = stored.layout;
    const std::string how = how_packed(stored);
    const auto key = std::pair(packed_ != nullptr ? packed_->same_as_before(data) : data, how);
    const auto [it, first] = known_.try_emplace(key);
    if (first) {
      it->second.place = Place::kWeights;
      it->second.offset = program_.weights_bytes;
      const ir::DType given = data->dtype();
      int64_t n = (stored.transform ? stored.transform->dtype(given) : given).bytes();
      for (const int64_t e : l.storage_shape()) n *= e;
      it->second.bytes = n;
      program_.weights_bytes += artifact::align_up(n, artifact::alignment(program_.target));
      program_.weights.push_back({it->second.offset, nullptr});
      jobs_.push_back({key.first, how, stored});
    }
    return it->second;
  }

  void pack(int threads) {
    for_each_parallel(jobs_.size(), threads, [&](size_t i) {
      const auto& [given, how, stored] = jobs_[i];
      graph::Data& to = program_.weights[i].data;
      if (packed_ != nullptr && (to = packed_->find(given, how)) != nullptr) return;
      graph::Data data = given;
      if (stored.transform != nullptr)
        data = std::make_shared<const ir::Array>(stored.transform->apply(*data));
      to = stored.layout.is_identity()
               ? data
               : std::make_shared<const ir::Array>(stored.layout.pack(*data));
      if (packed_ != nullptr) packed_->keep(given, how, to);
    });
  }

 private:
  const graph::Graph& g_;
  artifact::Program& program_;
  struct Job {
    graph::Data data;
    std::string how;
    Stored stored;
  };
  std::map<std::pair<graph::Data, std::string>, Param> known_;
  std::vector<Job> jobs_;
  PackedWeights* packed_;
};

void add_tensors(const plan::Network& n, artifact::Program& program) {
  const graph::Graph& g = n.graph;
  if (!n.segments.empty()) return add_model_tensors(n.segments, program);
  for (const ValueId v : g.inputs) {
    program.inputs.push_back({g.value(v).name, g.value(v).dtype, g.value(v).shape});
  }
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    const graph::Value& v = g.value(g.outputs[i]);
    program.outputs.push_back({g.output_names[i], v.dtype, v.shape});
  }
}

void add_steps(const plan::Network& n, const std::vector<Lowered>& kernels, const Places& places,
               Weights& weights, artifact::Program& program) {
  for (size_t c = 0; c < n.layouts.calls.size(); ++c) {
    const PlannedCall& call = n.layouts.calls[c];
    const Lowered& kernel = kernels[static_cast<size_t>(n.task_of[c])];
    artifact::Step step{n.task_of[c], {}, call.nodes, n.call_of(c)};
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      step.params.push_back(
          call.inputs[i] >= 0
              ? places.of(call.inputs[i])
              : weights.add(call.constants[i], kernel.edges.at(call.dag->inputs[i].tensor.name())));
    }
    for (const int32_t slot : call.outputs) step.params.push_back(places.of(slot));
    program.steps.push_back(std::move(step));
  }
}

}  // namespace

std::string kernel_name(const plan::Network& network, size_t task) {
  return fmt::format("k{}_{}", task, identifier(network.tasks[task].task.dag->name));
}

plan::Network decide(graph::Graph g, const std::string& name, const Options& options) {
  Options how = options;
  if (!how.evaluate) how.evaluate = compiled_evaluator();
  return plan::decide(std::move(g), library_name(name), how);
}

artifact::Program build(const plan::Network& n, const Options& options, PackedWeights* known) {
  const auto tell = [&](const char* phase) {
    if (options.progress) options.progress(phase, 0, 0);
  };
  backend::backend_for(options.target);  // or it says why there is none
  artifact::Program program;
  program.name = n.plan.name;
  program.target = options.target;
  program.plan = n.plan;
  add_tensors(n, program);
  tell("kernels");
  std::vector<Lowered> kernels = lower_tasks(n, options);
  tell("weights");
  const Places places(n, options.target);
  program.arena_bytes = places.arena_bytes();
  Weights weights(n.graph, program, known);
  add_steps(n, kernels, places, weights, program);
  program.flow = make_flow(n, places, [&](const graph::Data& data) {
    return weights.add(data, Stored{layout::Layout(data->shape()), nullptr});
  });
  weights.pack(options.threads);
  for (Lowered& l : kernels) program.kernels.push_back(std::move(l.kernel));
  check_memory(n, program);
  return program;
}

artifact::Program build(const plan::Network& n, const Options& options) {
  return build(n, options, nullptr);
}

artifact::Program compile(graph::Graph g, const std::string& name, const Options& options) {
  return build(compile::decide(std::move(g), name, options), options);
}

}  // namespace tenon::compile
