// SPDX-License-Identifier: Apache-2.0
#include "compile/size_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "compile/items.h"
#include "support/check.h"

namespace tenon::compile {
namespace {

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
  const std::vector<int64_t>& values = dims[dim].values;
  size_t left = count_of(others);
  return holds_for_all(others, [&](std::vector<int64_t> sizes) {
    const graph::Graph one = model.at(sizes);
    const bool last = --left == 0;
    for (const int64_t n : last ? values : std::vector{values.front(), values.back()}) {
      sizes[dim] = n;
      if (n > 1 && !items_are_apart(one, model.at(sizes), n, *has_items)) return false;
    }
    return true;
  });
}

std::vector<int64_t> powers_of_two(int64_t most) {
  std::vector<int64_t> list;
  for (int64_t n = 1; n <= most; n *= 2) list.push_back(n);
  return list;
}

// Sizes that others are padded to: all small ones, then multiples of 2, 4 and 16, and at last as many in
// every octave as there is room for. A size of one is compiled as it is: models often compute it in another way.
struct Step {
  int64_t most, step;
};
constexpr Step kSteps[] = {{6, 1}, {10, 2}, {136, 4}};
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

}  // namespace

graph::Graph folded_at(const OpenModel& model, const std::vector<int64_t>& sizes,
                       const graph::Evaluator& evaluate) {
  graph::Graph g = model.at(sizes);
  graph::fold_constants(g, {evaluate});
  g.compact();
  return g;
}

namespace {

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

}  // namespace

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

}  // namespace tenon::compile
