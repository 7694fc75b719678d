// SPDX-License-Identifier: Apache-2.0
#include "compile/sizes.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "compile/agree.h"
#include "compile/evaluator.h"
#include "compile/join.h"
#include "compile/packed.h"
#include "compile/size_choice.h"
#include "compile/size_grid.h"
#include "compile/steady.h"
#include "support/check.h"
#include "support/parallel.h"

namespace tenon::compile {
namespace {

// By output and axis: which dimension that is padded it has.
std::vector<std::vector<int32_t>> output_dims(const std::vector<PaddedDim>& padded,
                                              const graph::Graph& g) {
  std::vector<std::vector<int32_t>> dims;
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    std::vector<int32_t> axes(g.value(g.outputs[i]).shape.size(), -1);
    bool any = false;
    for (const PaddedDim& p : padded) {
      for (size_t a = 0; a < axes.size(); ++a) {
        if (!p.padding.outputs[i][a]) continue;
        axes[a] = static_cast<int32_t>(p.dim);
        any = true;
      }
    }
    dims.push_back(any ? axes : std::vector<int32_t>{});
  }
  return dims;
}

// Limits by all dimensions, which name nodes by their places in the graph as imported.
void limit(graph::Graph& g, const std::vector<PaddedDim>& padded, const Dims& dims) {
  std::vector<LimitedDim> all;
  for (const PaddedDim& p : padded) all.push_back({dims[p.dim].name, p.padding.limits});
  add_limits(g, all);
}

// For several threads.
std::function<void(const std::string&)> one_at_a_time(
    const std::function<void(const std::string&)>& tell) {
  return [tell, lock = std::make_shared<std::mutex>()](const std::string& text) {
    const std::scoped_lock held(*lock);
    tell(text);
  };
}

// What is decided about the model, size by size.
class Decisions {
 public:
  Decisions(const OpenModel& model, const Dims& dims, const std::vector<PaddedDim>& padded,
            std::string name, const Options& how)
      : model_(model), dims_(dims), padded_(padded), name_(std::move(name)), how_(how) {}

  plan::Network at(const std::vector<int64_t>& sizes) const {
    graph::Graph g = padded_.empty() ? model_.at(sizes) : folded_at(model_, sizes, how_.evaluate);
    limit(g, padded_, dims_);
    plan::Network network = compile::decide(std::move(g), name_, how_);
    if (!padded_.empty()) use_steady_programs(network, how_);
    return network;
  }

 private:
  const OpenModel& model_;
  const Dims& dims_;
  const std::vector<PaddedDim>& padded_;
  std::string name_;
  const Options& how_;
};

// Every combination of compiled sizes. The largest is decided first, and built last as the order has it; the others are
// decided and built side by side, some at a time, because each keeps its memory until it is joined.
void add_all(const Dims& dims, const Decisions& decisions, const Options& how,
             const std::function<void(size_t done, size_t total)>& tell, Joiner& joiner) {
  constexpr size_t kAtOnce = 16;
  const std::vector<std::vector<int64_t>> all = combinations(dims);
  const plan::Network largest = decisions.at(all.back());
  Options alone = how;
  alone.threads = 1;
  Agreement agreement(largest, alone);
  PackedWeights packed;
  for (size_t done = 0; done + 1 < all.size(); done += kAtOnce) {
    tell(done, all.size());
    std::vector<artifact::Program> programs(std::min(kAtOnce, all.size() - 1 - done));
    for_each_parallel(programs.size(), how.threads, [&](size_t i) {
      plan::Network network = decisions.at(all[done + i]);
      agreement.apply(network);
      programs[i] = build(network, alone, &packed);
    });
    for (size_t i = 0; i < programs.size(); ++i) joiner.add(all[done + i], std::move(programs[i]));
  }
  joiner.add(all.back(), build(largest, how, &packed));
}

}  // namespace

artifact::Program compile_sizes(const OpenModel& model, const std::string& name,
                                const Options& options) {
  if (!options.target.is_cpu()) {
    throw UserError("libraries for GPUs have one size of each dimension",
                    "give one, such as --dims batch=8");
  }
  Dims dims;
  for (const OpenModel::Dim& d : model.dims) dims.push_back({d.name, d.sizes, d.sizes});
  Options how = options;
  how.progress = {};
  how.evaluate = remembering(options.evaluate ? options.evaluate : compiled_evaluator());
  how.joined = std::make_shared<graph::JoinedConstants>();
  if (options.warn) how.warn = one_at_a_time(options.warn);
  const Chosen chosen = choose_sizes(model, dims, how.evaluate);
  std::vector<int64_t> first;
  for (const artifact::Dim& d : chosen.dims) first.push_back(d.compiled.front());
  Joiner joiner(chosen.dims, model.input_dims, output_dims(chosen.padded, model.at(first)),
                chosen.batch);
  const auto tell = [&](size_t done, size_t total) {
    if (options.progress) options.progress("sizes", done, total);
  };
  add_all(chosen.dims, Decisions(model, chosen.dims, chosen.padded, name, how), how, tell, joiner);
  artifact::Program program = joiner.finish(how.threads);
  for (size_t i = 0; i < model.input_sums.size(); ++i) {
    program.inputs[i].sums = model.input_sums[i];
  }
  return program;
}

}  // namespace tenon::compile
