// SPDX-License-Identifier: Apache-2.0
// tenon._native: what the package tenon is written in C++ of. _native.pyi tells its types.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "module.h"

namespace py = pybind11;

namespace {

using tenon::api::StepTime;
using tenon::python::Module;
using tenon::python::Slot;

py::tuple described(const std::vector<tenon::api::Tensor>& tensors) {
  py::tuple out(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    out[i] = py::cast(Slot(tensors[i]));
  }
  return out;
}

std::string slot_text(const Slot& s) {
  return "<tenon.Tensor " + s.tensor.name + ": " + py::str(s.dtype).cast<std::string>() + " " +
         py::str(s.shape).cast<std::string>() + ">";
}

std::string module_text(const Module& m) {
  return "<tenon.Module " + m.library().name() + ": " +
         std::to_string(m.library().inputs().size()) + " in, " +
         std::to_string(m.library().outputs().size()) + " out, " + std::to_string(m.threads()) +
         (m.threads() == 1 ? " thread>" : " threads>");
}

std::string step_text(const StepTime& s) {
  return "<tenon.Step " + s.kernel + ": " + std::to_string(s.seconds * 1e6) + " us>";
}

void add_tensor(py::module_& m) {
  py::class_<Slot>(m, "Tensor", "An input or output of a model.")
      .def_property_readonly("name", [](const Slot& s) { return s.tensor.name; })
      .def_readonly("dtype", &Slot::dtype)
      .def_readonly("shape", &Slot::shape)
      .def_property_readonly("nbytes", [](const Slot& s) { return s.tensor.bytes; })
      .def_property_readonly("dims", [](const Slot& s) { return s.tensor.dims; })
      .def("__repr__", slot_text);
}

void add_step(py::module_& m) {
  py::class_<StepTime>(m, "Step", "What one step of a run takes.")
      .def_readonly("kernel", &StepTime::kernel)
      .def_readonly("origin", &StepTime::origin)
      .def_readonly("nodes", &StepTime::nodes)
      .def_readonly("seconds", &StepTime::seconds)
      .def_readonly("flops", &StepTime::flops)
      .def_readonly("bytes", &StepTime::bytes)
      .def("__repr__", step_text);
}

void add_module(py::module_& m) {
  py::class_<Module>(m, "Module", "A compiled model: module(x, ...) runs it.")
      .def(py::init<const std::string&, int>(), py::arg("folder"), py::arg("threads") = 0)
      .def("__call__", &Module::call)
      .def("run_into", &Module::run_into, py::arg("outputs"), py::pos_only(),
           "Run and write the results into arrays of the caller's.")
      .def(
          "profile",
          [](const Module& x, const py::args& args, int64_t runs, const py::kwargs& named) {
            return x.profile(args, named, runs);
          },
          py::arg("runs") = 30, "The median time of each step, in the order of running.")
      .def_property_readonly("name", [](const Module& x) { return x.library().name(); })
      .def_property_readonly("folder", [](const Module& x) { return x.library().folder(); })
      .def_property_readonly("target", [](const Module& x) { return x.library().target(); })
      .def_property_readonly("manifest", [](const Module& x) { return x.library().manifest(); })
      .def_property_readonly("inputs",
                             [](const Module& x) { return described(x.library().inputs()); })
      .def_property_readonly("outputs",
                             [](const Module& x) { return described(x.library().outputs()); })
      .def_property_readonly("dims",
                             [](const Module& x) {
                               std::map<std::string, std::vector<int64_t>> out;
                               for (const auto& d : x.library().dims()) out[d.name] = d.values;
                               return out;
                             })
      .def_property_readonly("threads", &Module::threads)
      .def_property_readonly("contexts", &Module::contexts)
      .def("__repr__", module_text)
      .def("__reduce__", [](const Module& x) {
        return py::make_tuple(py::type::of<Module>(),
                              py::make_tuple(x.library().folder(), x.threads()));
      });
}

// Sentences become tenon.Error, a class of the package, in words of Python.
void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const tenon::api::Error& e) {
    const py::object type = py::module_::import("tenon._error").attr("Error");
    const py::object words = py::module_::import("tenon._words").attr("in_python");
    PyErr_SetObject(type.ptr(), words(e.what()).ptr());
  }
}

}  // namespace

PYBIND11_MODULE(_native, m) {
  py::register_exception_translator(&translate);
  m.attr("__version__") = TENON_VERSION;
  add_tensor(m);
  add_step(m);
  add_module(m);
}
