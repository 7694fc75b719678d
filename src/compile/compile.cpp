// SPDX-License-Identifier: Apache-2.0
#include "compile/compile.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "backend/backend.h"
#include "compile/accuracy.h"
#include "compile/evaluator.h"
#include "compile/kernels.h"
#include "compile/layouts.h"
#include "compile/memory_check.h"
#include "graph/memory.h"
#include "graph/partition.h"
#include "graph/passes.h"
#include "support/parallel.h"

namespace tenon::compile {
namespace {

using artifact::Param;
using artifact::Place;
using graph::ValueId;

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

int64_t stored_bytes(const graph::Graph& g, const Slot& s) {
  int64_t n = g.value(s.value).dtype.bytes();
  for (const int64_t e : s.layout.storage_shape()) n *= e;
  return n;
}

// Where each slot lies: given by the caller, or a place in the arena for as long as it is needed.
class Places {
 public:
  Places(const graph::Graph& g, const graph::Partition& p, const LayoutPlan& plan)
      : g_(g), plan_(plan) {
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
    const graph::Placement where = graph::place(wanted);
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
  int64_t arena_bytes_ = 0;
};

// Constants in the layouts that kernels read them in, each once.
class Weights {
 public:
  Weights(const graph::Graph& g, artifact::Program& program) : g_(g), program_(program) {}

  Param add(ValueId v, const Stored& stored) {
    const layout::Layout& l = stored.layout;
    const std::string how =
        (stored.transform ? stored.transform->text() : "") + layout::to_string(l);
    const auto key = std::pair(g_.value(v).data.get(), how);
    const auto [it, first] = known_.try_emplace(key);
    if (first) {
      it->second.place = Place::kWeights;
      it->second.offset = program_.weights_bytes;
      const ir::DType given = g_.value(v).dtype;
      int64_t n = (stored.transform ? stored.transform->dtype(given) : given).bytes();
      for (const int64_t e : l.storage_shape()) n *= e;
      it->second.bytes = n;
      program_.weights_bytes += aligned(n);
      program_.weights.push_back({it->second.offset, nullptr});
      jobs_.push_back({v, stored});
    }
    return it->second;
  }

  void pack(int threads) {
    for_each_parallel(jobs_.size(), threads, [&](size_t i) {
      const auto& [v, stored] = jobs_[i];
      graph::Data data = g_.value(v).data;
      if (stored.transform != nullptr)
        data = std::make_shared<const ir::Array>(stored.transform->apply(*data));
      program_.weights[i].data = stored.layout.is_identity()
                                     ? data
                                     : std::make_shared<const ir::Array>(stored.layout.pack(*data));
    });
  }

 private:
  const graph::Graph& g_;
  artifact::Program& program_;
  std::map<std::pair<const ir::Array*, std::string>, Param> known_;
  std::vector<std::pair<ValueId, Stored>> jobs_;
};

artifact::Program assemble(const graph::Graph& g, const graph::Partition& p, const LayoutPlan& plan,
                           KernelSet set, const Options& options) {
  artifact::Program program;
  program.target = options.target;
  program.accuracy = to_string(options.accuracy);
  program.error = set.error;
  for (const ValueId v : g.inputs) {
    program.inputs.push_back({g.value(v).name, g.value(v).dtype, g.value(v).shape});
  }
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    const graph::Value& v = g.value(g.outputs[i]);
    program.outputs.push_back({g.output_names[i], v.dtype, v.shape});
  }
  const Places places(g, p, plan);
  program.arena_bytes = places.arena_bytes();
  Weights weights(g, program);
  for (size_t c = 0; c < plan.calls.size(); ++c) {
    const PlannedCall& call = plan.calls[c];
    const Scheduled& s = set.kernels[static_cast<size_t>(set.of_call[c])];
    artifact::Step step{set.of_call[c], {}, call.nodes};
    if (call.call >= 0) step.call = p.calls[static_cast<size_t>(call.call)].name;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      step.params.push_back(
          call.inputs[i] >= 0
              ? places.of(call.inputs[i])
              : weights.add(call.constants[i], s.edges.at(call.dag->inputs[i].tensor.name())));
    }
    for (const int32_t slot : call.outputs) step.params.push_back(places.of(slot));
    program.steps.push_back(std::move(step));
  }
  weights.pack(options.threads);
  for (Scheduled& s : set.kernels) program.kernels.push_back(std::move(s.kernel));
  check_memory(g, p, plan, program);
  return program;
}

}  // namespace

std::string identifier(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0) out = "m_" + out;
  return out;
}

namespace {

Layouts layouts_for(const LayoutRules& rules, const Options& options) {
  if (!options.schedule) return {};
  if (options.row_major) {
    Layouts all;
    for (const graph::Call& c : rules.p().calls) all[c.name] = "";
    return all;
  }
  return options.layout_times.empty() ? options.layouts
                                      : choose_layouts(rules, options.layout_times);
}

// Weights that are computed at run time could not be stored in bfloat16.
graph::OptimizeOptions passes_for(const Options& options) {
  graph::OptimizeOptions out;
  if (options.accuracy == templates::Accuracy::kFast) out.skip.emplace_back("scale_weights");
  return out;
}

}  // namespace

artifact::Program compile(graph::Graph g, const std::string& name, const Options& options) {
  const auto tell = [&](const char* phase) {
    if (options.progress) options.progress(phase, 0, 0);
  };
  backend::backend_for(options.target);  // or it says why there is none
  tell("optimize");
  if (options.optimize) graph::optimize(g, {compiled_evaluator()}, passes_for(options));
  graph::own_outputs(g);
  g.compact();
  tell("partition");
  const graph::Partition p =
      graph::partition(g, {options.fuse, options.pairs, options.target.limits});
  tell("layouts");
  const LayoutRules rules(
      g, p, options.schedule ? std::make_shared<const target::Target>(options.target) : nullptr);
  const Layouts layouts = layouts_for(rules, options);
  const LayoutPlan plan = plan_layouts(rules, layouts);
  tell("kernels");
  KernelSet kernels = make_kernels(plan, options);
  tell("weights");
  artifact::Program program = assemble(g, p, plan, std::move(kernels), options);
  program.name = identifier(name);
  program.layouts = layouts;
  for (const graph::Call& c : p.calls) {
    if (!c.joined.empty()) program.pairs[c.name] = c.joined;
  }
  return program;
}

}  // namespace tenon::compile
