// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <utility>

#include "api/guarded.h"
#include "artifact/model.h"
#include "artifact/random_array.h"
#include "ir/dtype.h"
#include "measure/step_times.h"
#include "tenon/tenon.h"

namespace tenon::api {
namespace {

Tensor tensor(const artifact::TensorInfo& t) {
  Tensor out{t.name, ir::to_string(t.dtype), t.shape, t.bytes(), t.dims, t.counted, {}};
  for (const auto& [axis, sum] : t.sums) out.computed[axis] = sum.text();
  return out;
}

std::vector<Tensor> tensors(const std::vector<artifact::TensorInfo>& infos) {
  std::vector<Tensor> out;
  for (const artifact::TensorInfo& t : infos) out.push_back(tensor(t));
  return out;
}

std::vector<Dim> dims_of(const artifact::Model& model) {
  std::vector<Dim> out;
  for (const artifact::Dim& d : model.dims()) out.push_back({d.name, d.values});
  return out;
}

// Copies of what the pointers lead to; random values where there are none.
std::vector<ir::Array> arrays(std::vector<artifact::TensorInfo> tensors,
                              const std::vector<const void*>& inputs,
                              const std::vector<std::vector<int64_t>>& shapes) {
  constexpr uint64_t kSeed = 0;
  for (size_t i = 0; i < shapes.size(); ++i) tensors[i].shape = shapes[i];
  if (inputs.empty()) return artifact::random_inputs(tensors, kSeed);
  std::vector<ir::Array> out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    out.emplace_back(tensors[i].dtype, tensors[i].shape);
    if (out[i].bytes() > 0) {
      std::memcpy(out[i].data(), inputs[i], static_cast<size_t>(out[i].bytes()));
    }
  }
  return out;
}

}  // namespace

struct Library::Impl {
  artifact::Model model;
  std::string folder;
  std::vector<Tensor> inputs, outputs;
  std::vector<Dim> dims;
};

Library Library::load(const std::string& folder) {
  return guarded([&] {
    artifact::Model m = artifact::Model::load(folder);
    std::string place = m.directory().string();
    auto in = tensors(m.inputs());
    auto out = tensors(m.outputs());
    auto dims = dims_of(m);
    return Library(std::make_shared<const Impl>(
        Impl{std::move(m), std::move(place), std::move(in), std::move(out), std::move(dims)}));
  });
}

const std::string& Library::name() const { return impl_->model.name(); }
const std::vector<Tensor>& Library::inputs() const { return impl_->inputs; }
const std::vector<Tensor>& Library::outputs() const { return impl_->outputs; }
const std::vector<Dim>& Library::dims() const { return impl_->dims; }
const std::string& Library::manifest() const { return impl_->model.manifest(); }
const std::string& Library::folder() const { return impl_->folder; }
const std::string& Library::target() const { return impl_->model.target(); }
bool Library::is_for_gpu() const { return impl_->model.is_for_gpu(); }

std::vector<StepTime> Library::profile(const std::vector<const void*>& inputs, int threads,
                                       int64_t runs,
                                       const std::vector<std::vector<int64_t>>& shapes) const {
  if (!shapes.empty() && shapes.size() != impl_->inputs.size()) {
    throw Error("a shape of each input is wanted, or none");
  }
  if (!inputs.empty() && inputs.size() != impl_->inputs.size()) {
    throw Error("the model has " + std::to_string(impl_->inputs.size()) + " inputs");
  }
  if (runs < 1) throw Error("a profile takes at least one run");
  return guarded([&] {
    const artifact::Model& model = impl_->model;
    artifact::LoadedSession session(model, threads, arrays(model.inputs(), inputs, shapes));
    const measure::StepTimes times = measure::measure_steps(session, runs);
    std::vector<StepTime> out;
    const std::vector<artifact::StepInfo> steps = session.session().steps();
    for (size_t i = 0; i < steps.size(); ++i) {
      const artifact::StepInfo& step = steps[i];
      out.push_back(
          {step.kernel, step.origin, step.nodes, times.median_s(i), step.flops, step.bytes});
    }
    return out;
  });
}

struct Session::Impl {
  artifact::Session session;
  size_t inputs, outputs;
};

Session::Session(const Library& library, int threads)
    : Session(library, SessionOptions{threads, 0}) {}
Session::Session(const Library& library, const SessionOptions& options)
    : impl_(guarded([&] {
        const artifact::SessionOptions o{options.threads, nullptr, options.device};
        return std::make_unique<Impl>(Impl{artifact::Session(library.impl_->model, o),
                                           library.inputs().size(), library.outputs().size()});
      })) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
int Session::threads() const { return impl_->session.threads(); }

void Session::set_shape(size_t input, const std::vector<int64_t>& shape) {
  if (input >= impl_->inputs) throw Error("there is no input " + std::to_string(input));
  guarded([&] { impl_->session.set_shape(input, shape); });
}

void Session::set_shapes(const std::vector<std::vector<int64_t>>& shapes) {
  if (shapes.size() != impl_->inputs) throw Error("a shape of each input is wanted");
  guarded([&] { impl_->session.set_shapes(shapes); });
}

Tensor Session::input(size_t i) const {
  if (i >= impl_->inputs) throw Error("there is no input " + std::to_string(i));
  return guarded([&] { return tensor(impl_->session.input(i)); });
}

Tensor Session::output(size_t i) const {
  if (i >= impl_->outputs) throw Error("there is no output " + std::to_string(i));
  return guarded([&] { return tensor(impl_->session.output(i)); });
}

Tensor Session::output_given(size_t i) const {
  if (i >= impl_->outputs) throw Error("there is no output " + std::to_string(i));
  return guarded([&] { return tensor(impl_->session.output_given(i)); });
}

void Session::check_counts(size_t inputs, size_t outputs) const {
  if (inputs != impl_->inputs || outputs != impl_->outputs) {
    throw Error("the model has " + std::to_string(impl_->inputs) + " inputs and " +
                std::to_string(impl_->outputs) + " outputs");
  }
}

void Session::run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs) {
  check_counts(inputs.size(), outputs.size());
  guarded([&] { impl_->session.run(inputs.data(), outputs.data()); });
}

void Session::run_device(const std::vector<uint64_t>& inputs, const std::vector<uint64_t>& outputs,
                         void* stream) {
  check_counts(inputs.size(), outputs.size());
  guarded([&] { impl_->session.run_device(inputs.data(), outputs.data(), stream); });
}

}  // namespace tenon::api
