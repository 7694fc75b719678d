// SPDX-License-Identifier: Apache-2.0
#include "compile/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "backend/backend.h"
#include "compile/evaluator.h"
#include "compile/kernels.h"
#include "compile/memory_check.h"
#include "compile/names.h"
#include "compile/packed.h"
#include "graph/memory.h"
#include "support/parallel.h"

namespace tenon::compile {
namespace {

using artifact::Param;
using artifact::Place;
using graph::ValueId;
using plan::LayoutPlan;
using plan::PlannedCall;
using plan::Slot;

int64_t stored_bytes(const graph::Graph& g, const Slot& s) {
  int64_t n = g.value(s.value).dtype.bytes();
  for (const int64_t e : s.layout.storage_shape()) n *= e;
  return n;
}

// Where each slot lies: given by the caller, or a place in the arena for as long as it is needed.
class Places {
 public:
  Places(const graph::Graph& g, const graph::Partition& p, const LayoutPlan& plan,
         const target::Target& target)
      : g_(g), plan_(plan), alignment_(artifact::alignment(target)) {
    params_.resize(plan.slots.size());
    find_caller_memory(p);
    std::vector<bool> placed(plan.slots.size(), false);
    for (size_t s = 0; s < plan.slots.size(); ++s) {
      params_[s].bytes = stored_bytes(g, plan.slots[s]);
      placed[s] = give_to_caller(s);
    }
    place_rest(placed);
  }

  Param of(int32_t slot) const { return params_[static_cast<size_t>(slot)]; }
  int64_t arena_bytes() const { return arena_bytes_; }

 private:
  bool is_plain(const Slot& s) const {
    return layout::same_storage(s.layout, layout::Layout(g_.value(s.value).shape));
  }

  void find_caller_memory(const graph::Partition& p) {
    for (size_t i = 0; i < g_.inputs.size(); ++i) {
      callers_.emplace(g_.inputs[i], std::pair(Place::kInput, static_cast<int32_t>(i)));
    }
    for (size_t i = 0; i < g_.outputs.size(); ++i) {
      callers_.emplace(p.view_of[static_cast<size_t>(g_.outputs[i])],
                       std::pair(Place::kOutput, static_cast<int32_t>(i)));
    }
  }

  bool give_to_caller(size_t slot) {
    const auto it = callers_.find(plan_.slots[slot].value);
    if (it == callers_.end() || !is_plain(plan_.slots[slot])) return false;
    std::tie(params_[slot].place, params_[slot].index) = it->second;
    return true;
  }

  void place_rest(const std::vector<bool>& placed) {
    std::vector<graph::Lifetime> lives(plan_.slots.size());
    std::vector<bool> seen(plan_.slots.size(), false);
    const auto touch = [&](int32_t slot, size_t step) {
      if (slot < 0) return;
      graph::Lifetime& l = lives[static_cast<size_t>(slot)];
      if (!seen[static_cast<size_t>(slot)]) l.first = static_cast<int32_t>(step);
      seen[static_cast<size_t>(slot)] = true;
      l.last = static_cast<int32_t>(step);
    };
    for (size_t c = 0; c < plan_.calls.size(); ++c) {
      for (const int32_t s : plan_.calls[c].inputs) touch(s, c);
      for (const int32_t s : plan_.calls[c].outputs) touch(s, c);
    }
    const std::vector<size_t> shared = share(placed, lives);
    std::vector<graph::Lifetime> wanted;
    std::vector<size_t> which;
    for (size_t s = 0; s < lives.size(); ++s) {
      if (placed[s] || !seen[s] || shared[s] != s) continue;
      lives[s].bytes = params_[s].bytes;
      wanted.push_back(lives[s]);
      which.push_back(s);
    }
    const graph::Placement where = graph::place(wanted, alignment_);
    for (size_t i = 0; i < which.size(); ++i) params_[which[i]].offset = where.offsets[i];
    for (size_t s = 0; s < shared.size(); ++s) params_[s].offset = params_[shared[s]].offset;
    arena_bytes_ = where.bytes;
  }

  // Element-wise outputs that take over the memory of an input that dies with them. Lifetimes are joined.
  std::vector<size_t> share(const std::vector<bool>& placed,
                            std::vector<graph::Lifetime>& lives) const {
    std::vector<size_t> owner(plan_.slots.size());
    std::iota(owner.begin(), owner.end(), size_t{0});
    for (size_t c = 0; c < plan_.calls.size(); ++c) {
      const PlannedCall& call = plan_.calls[c];
      if (call.in_place < 0) continue;
      const auto in = static_cast<size_t>(call.inputs[static_cast<size_t>(call.in_place)]);
      const auto out = static_cast<size_t>(call.outputs[0]);
      const size_t from = owner[in];
      // Kernels are compiled to believe that what they write lies apart from all other inputs.
      const auto reads =
          std::count(call.inputs.begin(), call.inputs.end(), static_cast<int32_t>(in));
      if (placed[from] || placed[out] || lives[in].last != static_cast<int32_t>(c) || reads != 1 ||
          params_[from].bytes != params_[out].bytes)
        continue;
      owner[out] = from;
      lives[from].last = std::max(lives[from].last, lives[out].last);
    }
    return owner;
  }

  const graph::Graph& g_;
  const LayoutPlan& plan_;
  std::unordered_map<ValueId, std::pair<Place, int32_t>> callers_;  // memory of the caller
  std::vector<Param> params_;
  int64_t alignment_;
  int64_t arena_bytes_ = 0;
};

// Constants in the layouts that kernels read them in, each once.
class Weights {
 public:
  Weights(const graph::Graph& g, artifact::Program& program, PackedWeights* packed)
      : g_(g), program_(program), packed_(packed) {}

  Param add(ValueId v, const Stored& stored) {
    const layout::Layout& l = stored.layout;
    const std::string how =
        (stored.transform ? stored.transform->text() : "") + layout::to_string(l);
    const graph::Data& data = g_.value(v).data;
    const auto key = std::pair(packed_ != nullptr ? packed_->same_as_before(data) : data, how);
    const auto [it, first] = known_.try_emplace(key);
    if (first) {
      it->second.place = Place::kWeights;
      it->second.offset = program_.weights_bytes;
      const ir::DType given = g_.value(v).dtype;
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

void add_tensors(const graph::Graph& g, artifact::Program& program) {
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
  add_tensors(n.graph, program);
  tell("kernels");
  std::vector<Lowered> kernels = lower_tasks(n, options);
  tell("weights");
  const Places places(n.graph, n.partition, n.layouts, options.target);
  program.arena_bytes = places.arena_bytes();
  Weights weights(n.graph, program, known);
  add_steps(n, kernels, places, weights, program);
  weights.pack(options.threads);
  for (Lowered& l : kernels) program.kernels.push_back(std::move(l.kernel));
  check_memory(n.graph, n.partition, n.layouts, program);
  return program;
}

artifact::Program build(const plan::Network& n, const Options& options) {
  return build(n, options, nullptr);
}

artifact::Program compile(graph::Graph g, const std::string& name, const Options& options) {
  return build(compile::decide(std::move(g), name, options), options);
}

}  // namespace tenon::compile
