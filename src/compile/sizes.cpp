// SPDX-License-Identifier: Apache-2.0
#include "compile/sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <mutex>

#include "compile/agree.h"
#include "compile/evaluator.h"
#include "compile/items.h"
#include "compile/join.h"
#include "compile/packed.h"
#include "compile/padding.h"
#include "compile/steady.h"
#include "graph/passes.h"
#include "support/check.h"
#include "support/parallel.h"

namespace tenon::compile {
namespace {

using Dims = std::vector<artifact::Dim>;

// How many combinations there are; at most a little more than is allowed.
size_t count_of(const Dims& dims) {
  size_t count = 1;
  for (const artifact::Dim& d : dims) {
    count = std::min(count, size_t{1} << 32) * d.compiled.size();
  }
  return count;
}

// Sets the sizes of the next combination, the last dimension fastest; false after the last.
bool next(const Dims& dims, std::vector<size_t>& at) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (++at[d] < dims[d].compiled.size()) return true;
    at[d] = 0;
  }
  return false;
}

std::vector<int64_t> sizes_at(const Dims& dims, const std::vector<size_t>& at) {
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < dims.size(); ++d) sizes.push_back(dims[d].compiled[at[d]]);
  return sizes;
}

// Tells for each input whether it has the dimension; nothing if one has it elsewhere than first.
std::optional<std::vector<bool>> inputs_with_items(const OpenModel& model, int32_t dim) {
  std::vector<bool> has;
  for (const std::vector<int32_t>& axes : model.input_dims) {
    const auto count = std::count(axes.begin(), axes.end(), dim);
    if (count > 1 || (count == 1 && axes[0] != dim)) return std::nullopt;
    has.push_back(count == 1);
  }
  return has;
}

// Whether an axis of an input is computed of the dimension: then each of its sizes is compiled.
bool is_in_sum(const OpenModel& model, const std::string& dim) {
  for (const auto& sums : model.input_sums) {
    for (const auto& [axis, sum] : sums) {
      if (sum.factors.count(dim) != 0) return true;
    }
  }
  return false;
}

// Whether batches of every size are computed item by item: of all sizes at the largest of the other dimensions, of the
// smallest and the largest at all others.
bool can_be_parted(const OpenModel& model, const Dims& dims, size_t dim) {
  const auto has_items = inputs_with_items(model, static_cast<int32_t>(dim));
  if (!has_items || dims[dim].values.front() < 1 || is_in_sum(model, dims[dim].name)) return false;
  Dims others = dims;
  others[dim].compiled = {1};
  std::vector<size_t> at(dims.size(), 0);
  size_t left = count_of(others);
  do {
    std::vector<int64_t> sizes = sizes_at(others, at);
    const graph::Graph one = model.at(sizes);
    const std::vector<int64_t>& values = dims[dim].values;
    const bool last = --left == 0;
    for (const int64_t n : last ? values : std::vector{values.front(), values.back()}) {
      sizes[dim] = n;
      if (n > 1 && !items_are_apart(one, model.at(sizes), n, *has_items)) return false;
    }
  } while (next(others, at));
  return true;
}

std::vector<int64_t> powers_of_two(int64_t most) {
  std::vector<int64_t> list;
  for (int64_t n = 1; n <= most; n *= 2) list.push_back(n);
  return list;
}

// Sizes that others are padded to: all small ones, then multiples of 2, 4, 8 and 16, and at last as many in
// every octave as there is room for. A size of one is compiled as it is: models often compute it in another way.
struct Step {
  int64_t most, step;
};
constexpr Step kSteps[] = {{6, 1}, {10, 2}, {24, 4}, {96, 8}};
constexpr int64_t kStep = 16;
constexpr int64_t kPerOctave[] = {32, 16, 8, 4};  // the first that leaves few enough combinations

int64_t padded_size(int64_t size, int64_t most, int64_t per_octave) {
  if (size == 1) return 1;
  const auto octave = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size - 1)));
  int64_t step = std::max(kStep, octave / per_octave);
  for (const Step& s : kSteps) {
    if (size <= s.most) step = std::min(step, s.step);
  }
  return std::min(most, (size + step - 1) / step * step);
}

// What is found about a dimension whose sizes are padded.
struct PaddedDim {
  size_t dim = 0;
  Padding padding;
};

// The model at these sizes with all of its constants folded: importing folds small ones only.
graph::Graph folded_at(const OpenModel& model, const std::vector<int64_t>& sizes,
                       const graph::Evaluator& evaluate) {
  graph::Graph g = model.at(sizes);
  graph::fold_constants(g, {evaluate});
  g.compact();
  return g;
}

class PaddingChoice {
 public:
  PaddingChoice(const OpenModel& model, const Dims& dims, size_t dim,
                const graph::Evaluator& evaluate)
      : model_(model), dims_(dims), dim_(dim), evaluate_(evaluate) {
    for (const std::vector<int32_t>& axes : model.input_dims) {
      std::vector<bool>& has = inputs_.emplace_back();
      for (const int32_t d : axes) has.push_back(d == static_cast<int32_t>(dim));
    }
  }

  // Sets the compiled sizes of the dimension. Looks at the smallest size that is padded to each of them.
  std::optional<PaddedDim> run(artifact::Dim& out, int64_t per_octave) const {
    const int64_t most = out.values.back();
    std::optional<Padding> found;
    std::vector<int64_t> compiled;
    for (const int64_t size : out.values) {
      const int64_t to = padded_size(size, most, per_octave);
      if (!compiled.empty() && size <= compiled.back()) continue;
      if (to > size) {
        const auto padding = find_padding(at(size), at(to), size, to, inputs_);
        if (!padding || (found && *found != *padding)) return std::nullopt;
        found = padding;
      }
      compiled.push_back(to);
    }
    if (!found) return std::nullopt;
    out.compiled = compiled;
    out.padded = true;
    return PaddedDim{dim_, *found};
  }

 private:
  graph::Graph at(int64_t size) const {
    std::vector<int64_t> sizes;
    for (const artifact::Dim& d : dims_) sizes.push_back(d.values.back());
    sizes[dim_] = size;
    return folded_at(model_, sizes, evaluate_);
  }

  const OpenModel& model_;
  const Dims& dims_;
  size_t dim_;
  const graph::Evaluator& evaluate_;
  std::vector<std::vector<bool>> inputs_;
};

std::vector<PaddedDim> choose_padding(const OpenModel& model, Dims& dims,
                                      const graph::Evaluator& evaluate, int64_t per_octave) {
  std::vector<PaddedDim> padded;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].values.size() <= kMostUnpadded || dims[d].values.front() < 1) continue;
    if (is_in_sum(model, dims[d].name)) continue;
    if (can_be_parted(model, dims, d)) continue;  // without computing padding
    artifact::Dim fewer = dims[d];
    if (auto found = PaddingChoice(model, dims, d, evaluate).run(fewer, per_octave)) {
      dims[d] = std::move(fewer);
      padded.push_back(*std::move(found));
    }
  }
  return padded;
}

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

std::string text_of(const Dims& dims) {
  std::vector<std::string> parts;
  for (const artifact::Dim& d : dims) {
    parts.push_back(fmt::format("{} of {}", d.values.size(), d.name));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

size_t most_variants(const OpenModel& model, const Dims& dims) {
  std::vector<int64_t> largest;
  for (const artifact::Dim& d : dims) largest.push_back(d.values.back());
  const size_t nodes = std::max<size_t>(1, model.at(largest).nodes.size());
  return std::clamp(kMostNodes / nodes, kMostVariants, kMostVariantsOfSmall);
}

// The dimension whose sizes are put together; -1: none has to be. Nothing if there are more combinations than `most`.
std::optional<int32_t> choose_parts(const OpenModel& model, Dims& dims, size_t most) {
  if (count_of(dims) <= kMostWhole) return -1;
  for (size_t d = 0; d < dims.size(); ++d) {
    const std::vector<int64_t> parts = powers_of_two(dims[d].values.back());
    Dims fewer = dims;
    fewer[d].compiled = parts;
    if (dims[d].padded || parts.size() >= dims[d].values.size() || count_of(fewer) > most) continue;
    if (!can_be_parted(model, dims, d)) continue;
    dims = std::move(fewer);
    return static_cast<int32_t>(d);
  }
  if (count_of(dims) <= most) return -1;
  return std::nullopt;
}

// Which sizes are compiled, and what becomes of the others.
struct Chosen {
  Dims dims;
  std::vector<PaddedDim> padded;
  int32_t batch = -1;  // the dimension whose sizes are put together
};

// Throws UserError where nothing leaves few enough combinations.
Chosen choose_sizes(const OpenModel& model, const Dims& dims, const graph::Evaluator& evaluate) {
  const size_t most = most_variants(model, dims);
  for (const int64_t per_octave : kPerOctave) {
    Chosen c{dims, {}, -1};
    c.padded = choose_padding(model, c.dims, evaluate, per_octave);
    const auto batch = choose_parts(model, c.dims, most);
    if (batch) {
      c.batch = *batch;
      return c;
    }
    if (c.padded.empty()) break;
  }
  throw UserError(
      fmt::format("{} sizes are too many ({}): a library of this model holds {} combinations",
                  count_of(dims), text_of(dims), most),
      "give a list or steps, such as seq=16..512:16 or seq=32|64|128, or fewer dimensions");
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

// The combinations of compiled sizes; the largest is the last.
std::vector<std::vector<int64_t>> combinations(const Dims& dims) {
  std::vector<std::vector<int64_t>> all;
  std::vector<size_t> at(dims.size(), 0);
  do {
    all.push_back(sizes_at(dims, at));
  } while (next(dims, at));
  return all;
}

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
  const std::vector<size_t> first(dims.size(), 0);
  Joiner joiner(chosen.dims, model.input_dims,
                output_dims(chosen.padded, model.at(sizes_at(chosen.dims, first))), chosen.batch);
  const auto tell = [&](size_t done, size_t total) {
    if (options.progress) options.progress("sizes", done, total);
  };
  add_all(chosen.dims, Decisions(model, chosen.dims, chosen.padded, name, how), how, tell, joiner);
  artifact::Program program = joiner.finish();
  for (size_t i = 0; i < model.input_sums.size(); ++i) {
    program.inputs[i].sums = model.input_sums[i];
  }
  return program;
}

}  // namespace tenon::compile
