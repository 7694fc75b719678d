// SPDX-License-Identifier: Apache-2.0
// The memory of a caller's tensor, for the time of one run.
#pragma once

#include <pybind11/numpy.h>

#include <memory>
#include <string>
#include <vector>

#include "element_type.h"
#include "tenon/tenon.h"

namespace tenon::python {

// A tensor of the model, as NumPy describes it.
struct Slot {
  explicit Slot(const api::Tensor& t);

  api::Tensor tensor;
  const ElementType* type;
  pybind11::dtype dtype;
  pybind11::tuple shape;
  std::vector<int64_t> strides;  // in bytes
};

// Keeps the memory alive: the array itself, or what another library lent.
class View {
 public:
  // A dense array of the right type is used where it lies; one of other strides is copied, and what is no array (a list,
  // a number) becomes one. Throws api::Error if type or shape are not the slot's.
  static View of_input(const Slot& slot, pybind11::handle value);
  // Must be dense and writable: results are written there.
  static View of_output(const Slot& slot, pybind11::handle value);

  void* data() const { return data_; }
  std::vector<int64_t> shape() const;

 private:
  struct Release {
    void operator()(dlpack::Managed* m) const {
      if (m->deleter != nullptr) m->deleter(m);
    }
  };
  View(void* data, pybind11::object array) : data_(data), array_(std::move(array)) {}
  static View of_dlpack(const Slot& slot, pybind11::handle value, const char* role);

  void* data_;
  pybind11::object array_;
  std::unique_ptr<dlpack::Managed, Release> lent_;
};

// Memory for a result, at a multiple of 64 bytes, which a run writes in place.
pybind11::array new_array(const Slot& slot);

}  // namespace tenon::python
