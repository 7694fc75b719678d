// SPDX-License-Identifier: Apache-2.0
#include "compile/join.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "compile/cases.h"
#include "compile/packed.h"
#include "support/check.h"
#include "support/parallel.h"

namespace tenon::compile {
namespace {

using artifact::Place;

std::vector<std::vector<int64_t>> shapes_of(const std::vector<artifact::TensorInfo>& tensors) {
  std::vector<std::vector<int64_t>> shapes;
  for (const artifact::TensorInfo& t : tensors) shapes.push_back(t.shape);
  return shapes;
}

using Moved = std::map<int64_t, int64_t>;  // offsets of weights

void move_weights(artifact::Variant& v, const Moved& moved) {
  const auto move = [&](artifact::Param& p) {
    if (p.place == Place::kWeights) p.offset = moved.at(p.offset);
  };
  for (artifact::FlowOp& op : v.flow) {
    for (artifact::Param* p : {&op.to, &op.from, &op.at}) move(*p);
  }
  for (artifact::Step& s : v.steps) std::for_each(s.params.begin(), s.params.end(), move);
}

// "k3_conv" of one program as the name of kernel 17 of all: "k17_conv".
std::string renamed(const std::string& name, size_t index) {
  return fmt::format("k{}_{}", index, name.substr(name.find('_') + 1));
}

}  // namespace

Joiner::Joiner(std::vector<artifact::Dim> dims, std::vector<std::vector<int32_t>> input_dims,
               std::vector<std::vector<int32_t>> output_dims, int32_t batch)
    : input_dims_(std::move(input_dims)), output_dims_(std::move(output_dims)) {
  size_t count = 1;
  for (const artifact::Dim& d : dims) count *= d.compiled.size();
  all_.variants.reserve(count);  // steps keep their addresses
  all_.dims = std::move(dims);
  all_.batch = batch;
}

int64_t Joiner::keep_weight(const std::shared_ptr<const ir::Array>& data) {
  const uint64_t hash = sampled_hash(*data);
  for (auto [it, end] = weights_.equal_range(hash); it != end; ++it) {
    const artifact::Weight& known = all_.weights[it->second];
    if (known.data == data || equal_bytes(*known.data, *data)) return known.offset;
  }
  const int64_t offset = all_.weights_bytes;
  weights_.emplace(hash, all_.weights.size());
  all_.weights.push_back({offset, data});
  all_.weights_bytes += artifact::align_up(data->bytes(), artifact::alignment(all_.target));
  return offset;
}

void Joiner::take_size_inputs(artifact::Program& program) const {
  const size_t own = input_dims_.size();
  std::vector<int32_t> dims;
  for (size_t d = 0; d < all_.dims.size(); ++d) {
    if (all_.dims[d].padded) dims.push_back(static_cast<int32_t>(d));
  }
  TENON_CHECK(program.inputs.size() == own + dims.size());
  for (artifact::Step& s : program.steps) {
    for (artifact::Param& p : s.params) {
      const auto index = static_cast<size_t>(p.index);
      if (p.place == Place::kInput && index >= own) p = {Place::kSize, dims[index - own], 0, 8};
    }
  }
  program.inputs.resize(own);
}

void Joiner::add(const std::vector<int64_t>& sizes, artifact::Program program) {
  program.check();
  take_size_inputs(program);
  if (all_.variants.empty()) {
    all_.name = program.name;
    all_.target = program.target;
  }
  TENON_CHECK(all_.variants.size() < all_.variants.capacity());
  Moved moved;
  for (const artifact::Weight& w : program.weights) moved[w.offset] = keep_weight(w.data);
  artifact::Variant v{sizes,
                      shapes_of(program.inputs),
                      shapes_of(program.outputs),
                      std::move(program.steps),
                      program.arena_bytes,
                      std::move(program.flow)};
  const size_t first = found_.size();
  for (artifact::Kernel& k : program.kernels) {
    Numbered numbered = take_numbers(k.function);
    found_.push_back({std::move(k), std::move(numbered), "", all_.variants.size()});
  }
  calls_.resize(found_.size());
  all_.variants.push_back(std::move(v));
  move_weights(all_.variants.back(), moved);
  for (artifact::Step& s : all_.variants.back().steps) {
    const size_t kernel = first + static_cast<size_t>(s.kernel);
    s.task = found_[kernel].kernel.task;
    s.flops = found_[kernel].kernel.flops;
    s.bytes = found_[kernel].kernel.bytes;
    if (calls_[kernel].empty()) {
      const auto step = &s - all_.variants.back().steps.data();
      found_[kernel].place = s.call.empty() ? fmt::format("#{}", step) : s.call;
    }
    calls_[kernel].push_back(&s);
  }
  for (const plan::TaskPlan& t : all_.plan.tasks) {
    if (tasks_.insert(t.task).second) earlier_.push_back(t);
  }
  all_.plan = std::move(program.plan);  // what the largest size decides about calls is kept
  all_.inputs = std::move(program.inputs);
  all_.outputs = std::move(program.outputs);
  all_.arena_bytes = std::max(all_.arena_bytes, program.arena_bytes);
}

int64_t Joiner::keep_numbers(const std::vector<int64_t>& numbers) {
  const auto [it, fresh] = number_places_.try_emplace(numbers, 0);
  if (fresh) {
    it->second = static_cast<int64_t>(all_.numbers.size() * sizeof(int64_t));
    all_.numbers.insert(all_.numbers.end(), numbers.begin(), numbers.end());
    constexpr size_t kPerPlace = artifact::kAlignment / sizeof(int64_t);
    all_.numbers.resize((all_.numbers.size() + kPerPlace - 1) / kPerPlace * kPerPlace);
  }
  return it->second;
}

void Joiner::give_numbers(size_t found, int32_t kernel, const std::vector<int64_t>& numbers) {
  for (artifact::Step* s : calls_[found]) {
    s->kernel = kernel;
    if (numbers.empty()) continue;
    const auto bytes = static_cast<int64_t>(numbers.size() * sizeof(int64_t));
    s->params.insert(s->params.begin(), {Place::kNumbers, 0, keep_numbers(numbers), bytes});
  }
}

// A weight that is the beginning of a larger one, such as the first rows of a table, is read there.
void Joiner::share_beginnings() {
  std::vector<artifact::Weight> all = std::move(all_.weights);
  std::sort(all.begin(), all.end(), [](const artifact::Weight& a, const artifact::Weight& b) {
    const int64_t x = a.data->bytes(), y = b.data->bytes();
    return x != y ? x > y : a.offset < b.offset;
  });
  all_.weights.clear();
  all_.weights_bytes = 0;
  Moved moved;
  for (const artifact::Weight& w : all) {
    const auto in = std::find_if(
        all_.weights.begin(), all_.weights.end(),
        [&](const artifact::Weight& kept) { return begins_with(*kept.data, *w.data); });
    const bool fresh = in == all_.weights.end();
    // One without elements may have been at the place of another.
    moved.try_emplace(w.offset, fresh ? all_.weights_bytes : in->offset);
    if (!fresh) continue;
    all_.weights.push_back({all_.weights_bytes, w.data});
    all_.weights_bytes += artifact::align_up(w.data->bytes(), artifact::alignment(all_.target));
  }
  for (artifact::Variant& v : all_.variants) move_weights(v, moved);
}

// Programs of all tasks, those of the largest size first.
void Joiner::join_plans() {
  std::set<std::string> known;
  for (const plan::TaskPlan& t : all_.plan.tasks) known.insert(t.task);
  for (plan::TaskPlan& t : earlier_) {
    if (known.insert(t.task).second) all_.plan.tasks.push_back(std::move(t));
  }
}

// A kernel that may write over one of its inputs serves as well where it does not, so that all of a place may, if one does.
void Joiner::let_write_over(const std::vector<size_t>& place) {
  std::set<int32_t> inputs;
  for (const size_t i : place) inputs.insert(found_[i].kernel.function.in_place);
  inputs.erase(-1);
  if (inputs.size() != 1) return;
  for (const size_t i : place) {
    ir::Function& f = found_[i].kernel.function;
    if (f.in_place >= 0 || static_cast<size_t>(*inputs.begin()) >= f.num_inputs) continue;
    f.in_place = *inputs.begin();
    found_[i].numbered = take_numbers(f);
  }
}

// Groups kernels of one place by their form; in each the largest sizes come last, behind their cases.
Joiner::Alike Joiner::alike_at(const std::vector<size_t>& place) {
  let_write_over(place);
  std::map<std::vector<uint64_t>, std::vector<AtSize>> forms;
  for (const size_t i : place) {
    Found& f = found_[i];
    forms[f.numbered.form].push_back(
        {all_.variants[f.variant].sizes, &f.kernel.function, &f.numbered, i});
  }
  std::vector<std::vector<AtSize>> groups;
  for (auto& [form, members] : forms) groups.push_back(std::move(members));
  join_cases(groups);
  Alike alike;
  for (const std::vector<AtSize>& members : groups) {
    std::vector<size_t>& list = alike.emplace_back();
    for (const AtSize& s : members) list.push_back(s.index);
  }
  return alike;
}

Joiner::Alike Joiner::find_alike(int threads) {
  std::map<std::string, std::vector<size_t>> places;
  for (size_t i = 0; i < found_.size(); ++i) places[found_[i].place].push_back(i);
  std::vector<const std::vector<size_t>*> list;
  for (const auto& [name, place] : places) list.push_back(&place);
  std::vector<Alike> found(list.size());
  for_each_parallel(list.size(), threads, [&](size_t i) { found[i] = alike_at(*list[i]); });
  Alike all;
  for (Alike& a : found) std::move(a.begin(), a.end(), std::back_inserter(all));
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return std::ranges::min(a) < std::ranges::min(b); });
  return all;
}

void Joiner::share_kernels(int threads) {
  for (const std::vector<size_t>& members : find_alike(threads)) {
    std::vector<const Numbered*> programs;
    artifact::Kernel kernel = found_[members.back()].kernel;
    for (const size_t m : members) {
      programs.push_back(&found_[m].numbered);
      if (found_[m].kernel.task != kernel.task) kernel.also.insert(found_[m].kernel.task);
    }
    Shared shared = share(kernel.function, programs);
    const auto index = static_cast<int32_t>(all_.kernels.size());
    kernel.name = renamed(kernel.name, all_.kernels.size());
    kernel.function = std::move(shared.function);
    kernel.function.name = kernel.name;
    for (size_t m = 0; m < members.size(); ++m) {
      give_numbers(members[m], index, shared.numbers[m]);
    }
    all_.kernels.push_back(std::move(kernel));
  }
}

// Tensors as large as they can be, which sizes that are put together may be beyond every variant.
void Joiner::set_largest() {
  for (size_t i = 0; i < all_.inputs.size(); ++i) {
    artifact::TensorInfo& t = all_.inputs[i];
    const std::vector<int32_t>& dims = input_dims_[i];
    if (std::all_of(dims.begin(), dims.end(), [](int32_t d) { return d < 0; })) continue;
    t.dims = dims;
    for (size_t a = 0; a < dims.size(); ++a) {
      if (dims[a] >= 0) t.shape[a] = all_.dims[static_cast<size_t>(dims[a])].values.back();
    }
  }
  for (size_t i = 0; i < all_.outputs.size(); ++i) {
    const std::vector<int32_t>& dims = output_dims_[i];
    all_.outputs[i].dims = dims;
    for (size_t a = 0; a < dims.size(); ++a) {
      if (dims[a] >= 0) {
        all_.outputs[i].shape[a] = all_.dims[static_cast<size_t>(dims[a])].values.back();
      }
    }
  }
  if (all_.batch >= 0) {
    const artifact::Dim& d = all_.dims[static_cast<size_t>(all_.batch)];
    for (artifact::TensorInfo& t : all_.outputs) {
      t.shape[0] = t.shape[0] / d.compiled.back() * d.values.back();
    }
  }
  all_.steps = all_.variants.back().steps;
  all_.flow = all_.variants.back().flow;
}

artifact::Program Joiner::finish(int threads) {
  TENON_CHECK(all_.variants.size() == all_.variants.capacity());
  share_beginnings();
  join_plans();
  share_kernels(threads);
  set_largest();
  return std::move(all_);
}

}  // namespace tenon::compile
