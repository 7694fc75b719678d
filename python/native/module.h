// SPDX-License-Identifier: Apache-2.0
// A compiled model as Python calls it. Any number of threads may call one Module: each call takes a context that is
// idle, or makes a new one, so that there are as many as ever ran at once. What is idle is known under Python's lock, which
// is let go only while a context is made or runs.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "tenon/tenon.h"
#include "view.h"

namespace tenon::python {

class Module {
 public:
  Module(const std::string& folder, int threads);

  // One array, or a tuple of several.
  pybind11::object call(const pybind11::args& args, const pybind11::kwargs& named);
  // Into the caller's arrays: one, or a sequence in the order of the model's outputs.
  void run_into(const pybind11::object& outputs, const pybind11::args& args,
                const pybind11::kwargs& named);
  std::vector<api::StepTime> profile(const pybind11::args& args, const pybind11::kwargs& named,
                                     int64_t runs) const;

  const api::Library& library() const { return library_; }
  int threads() const { return threads_; }
  size_t contexts() const { return contexts_; }

 private:
  struct Context {
    explicit Context(api::Session s) : session(std::move(s)) {}
    api::Session session;
    std::vector<View> views;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    std::vector<std::vector<int64_t>>
        shapes;                 // that the sizes were set to; of models with open ones
    std::vector<Slot> results;  // outputs of these sizes
  };
  class Lease;

  // Sets the sizes of the inputs' views, and makes the outputs' slots for them.
  void set_sizes(Context& context) const;
  std::unique_ptr<Context> take();
  void run(Context& context);
  // Views of the inputs in the model's order, of what was given by place and by name.
  void read_inputs(const pybind11::args& args, const pybind11::kwargs& named,
                   std::vector<View>& views, std::vector<const void*>& pointers) const;
  [[noreturn]] void complain_about_names(const pybind11::args& args,
                                         const pybind11::kwargs& named) const;

  api::Library library_;
  std::vector<Slot> inputs_, outputs_;
  int threads_;
  pid_t process_;  // that the contexts belong to
  size_t contexts_ = 0;
  std::vector<std::unique_ptr<Context>> idle_;
};

}  // namespace tenon::python
