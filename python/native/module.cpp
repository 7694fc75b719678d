// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <unistd.h>

#include <algorithm>

namespace tenon::python {
namespace {

namespace py = pybind11;

std::vector<Slot> slots(const std::vector<api::Tensor>& tensors) {
  return {tensors.begin(), tensors.end()};
}

std::string counted(size_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

}  // namespace

// A context for the time of a call; what it views is let go before it is idle again.
class Module::Lease {
 public:
  explicit Lease(Module& module) : module_(module), context_(module.take()) {}
  ~Lease() {
    context_->views.clear();
    context_->inputs.clear();
    context_->outputs.clear();
    module_.idle_.push_back(std::move(context_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Context& operator*() { return *context_; }
  Context* operator->() { return context_.get(); }

 private:
  Module& module_;
  std::unique_ptr<Context> context_;
};

Module::Module(const std::string& folder, int threads)
    : library_([&] {
        const py::gil_scoped_release unlocked;
        return api::Library::load(folder);
      }()),
      inputs_(slots(library_.inputs())),
      outputs_(slots(library_.outputs())),
      threads_(threads),
      process_(getpid()) {
  Lease first(*this);  // weights that are missing are told now
  threads_ = first->session.threads();
}

std::unique_ptr<Module::Context> Module::take() {
  if (!idle_.empty()) {
    std::unique_ptr<Context> context = std::move(idle_.back());
    idle_.pop_back();
    return context;
  }
  std::unique_ptr<Context> made;
  {
    const py::gil_scoped_release unlocked;
    made = std::make_unique<Context>(api::Session(library_, threads_));
  }
  ++contexts_;
  return made;
}

// A child of fork() finds its parent's contexts here, which refuse to run: it makes its own.
void Module::run(Context& context) {
  const auto run_once = [&] {
    const py::gil_scoped_release unlocked;
    context.session.run(context.inputs, context.outputs);
  };
  try {
    run_once();
    return;
  } catch (const api::Error&) {
    if (process_ == getpid()) throw;
  }
  context.session = api::Session(library_, threads_);
  for (size_t i = 0; i < context.shapes.size(); ++i) {
    context.session.set_shape(i, context.shapes[i]);
  }
  process_ = getpid();
  idle_.clear();
  contexts_ = 1;
  run_once();
}

void Module::complain_about_names(const py::args& args, const py::kwargs& named) const {
  std::string text = library_.name() + " takes " + counted(inputs_.size(), "input") + " (";
  for (size_t i = 0; i < inputs_.size(); ++i) {
    text += (i == 0 ? "" : ", ") + inputs_[i].tensor.name;
  }
  text += "), not ";
  std::string given = args.empty() ? "" : std::to_string(args.size()) + " by place";
  for (const auto& [name, value] : named) {
    given += (given.empty() ? "" : ", ") + name.cast<std::string>();
  }
  throw api::Error(text + (given.empty() ? "none" : given));
}

void Module::read_inputs(const py::args& args, const py::kwargs& named, std::vector<View>& views,
                         std::vector<const void*>& pointers) const {
  if (args.size() + named.size() != inputs_.size()) complain_about_names(args, named);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Slot& slot = inputs_[i];
    PyObject* value = i < args.size() ? PyTuple_GET_ITEM(args.ptr(), static_cast<py::ssize_t>(i))
                                      : PyDict_GetItemString(named.ptr(), slot.tensor.name.c_str());
    if (value == nullptr) complain_about_names(args, named);
    views.push_back(View::of_input(slot, value));
    pointers.push_back(views.back().data());
  }
}

void Module::set_sizes(Context& context) const {
  if (library_.dims().empty()) return;
  std::vector<std::vector<int64_t>> shapes;
  for (size_t i = 0; i < inputs_.size(); ++i) shapes.push_back(context.views[i].shape());
  if (shapes == context.shapes) return;
  context.shapes.clear();
  context.session.set_shapes(shapes);
  context.results.clear();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    context.results.emplace_back(context.session.output(i));
  }
  context.shapes = std::move(shapes);
}

py::object Module::call(const py::args& args, const py::kwargs& named) {
  Lease lease(*this);
  read_inputs(args, named, lease->views, lease->inputs);
  set_sizes(*lease);
  const std::vector<Slot>& slots = library_.dims().empty() ? outputs_ : lease->results;
  py::tuple results(outputs_.size());
  for (size_t i = 0; i < outputs_.size(); ++i) {
    py::array result = new_array(slots[i]);
    lease->outputs.push_back(result.mutable_data());
    PyTuple_SET_ITEM(results.ptr(), static_cast<py::ssize_t>(i), result.release().ptr());
  }
  run(*lease);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].tensor.counted) continue;
    const int64_t rows = lease->session.output_given(i).shape[0];
    results[i] = py::object(results[i])[py::slice(0, rows, 1)];
  }
  if (outputs_.size() == 1) return results[0];
  return std::move(results);
}

void Module::run_into(const py::object& outputs, const py::args& args, const py::kwargs& named) {
  const bool several = py::isinstance<py::tuple>(outputs) || py::isinstance<py::list>(outputs);
  const py::tuple given = several ? py::tuple(outputs) : py::make_tuple(outputs);
  if (given.size() != outputs_.size()) {
    throw api::Error(library_.name() + " has " + counted(outputs_.size(), "output") + ", not " +
                     std::to_string(given.size()));
  }
  Lease lease(*this);
  read_inputs(args, named, lease->views, lease->inputs);
  set_sizes(*lease);
  const std::vector<Slot>& wanted = library_.dims().empty() ? outputs_ : lease->results;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    lease->views.push_back(View::of_output(wanted[i], given[i]));
    lease->outputs.push_back(lease->views.back().data());
  }
  run(*lease);
}

std::vector<api::StepTime> Module::profile(const py::args& args, const py::kwargs& named,
                                           int64_t runs) const {
  std::vector<View> views;
  std::vector<const void*> pointers;
  if (!args.empty() || !named.empty()) read_inputs(args, named, views, pointers);
  std::vector<std::vector<int64_t>> shapes;
  for (const View& v : views) shapes.push_back(v.shape());
  const py::gil_scoped_release unlocked;
  return library_.profile(pointers, threads_, runs, shapes);
}

}  // namespace tenon::python
