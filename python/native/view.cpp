// SPDX-License-Identifier: Apache-2.0
#include "view.h"

#include <cstdlib>
#include <new>
#include <vector>

namespace tenon::python {
namespace {

namespace py = pybind11;

constexpr size_t kAlignment = 64;

std::string shape_text(const int64_t* shape, size_t rank) {
  std::string text;
  for (size_t i = 0; i < rank; ++i) {
    text += (i == 0 ? "" : "x") + std::to_string(shape[i]);
  }
  return rank == 0 ? "scalar" : text;
}

// Axes with open sizes are judged when the sizes are set.
bool has_shape(const Slot& slot, const int64_t* shape, size_t rank) {
  const std::vector<int64_t>& wanted = slot.tensor.shape;
  const std::vector<int32_t>& dims = slot.tensor.dims;
  bool same = rank == wanted.size();
  for (size_t i = 0; same && i < rank; ++i) {
    const bool open = (!dims.empty() && dims[i] >= 0) || slot.tensor.computed.count(i) != 0;
    same = open || shape[i] == wanted[i];
  }
  return same;
}

// "input 'x' is f32 1x3, not f64 1x3 (convert it: x.astype('float32'))"; without shapes where it takes several and this is
// one of them.
[[noreturn]] void complain(const Slot& slot, const char* role, const std::string& type,
                           const int64_t* shape, size_t rank) {
  const std::vector<int64_t>& wanted = slot.tensor.shape;
  const bool same = shape_text(wanted.data(), wanted.size()) == shape_text(shape, rank);
  const bool told = same || !has_shape(slot, shape, rank);
  std::string text = std::string(role) + " '" + slot.tensor.name + "' is " + slot.tensor.dtype +
                     (told ? " " + shape_text(wanted.data(), wanted.size()) : "") + ", not " +
                     type + (told ? " " + shape_text(shape, rank) : "");
  if (type != slot.tensor.dtype) {
    text += " (convert it: x.astype('" + std::string(slot.type->numpy) + "'))";
  }
  throw api::Error(text);
}

// NumPy's descriptions of its own types exist once, so that most arrays are known by the pointer.
bool has_type(const Slot& slot, const py::dtype& dtype) {
  if (dtype.is(slot.dtype)) return true;
  if (slot.type->code == dlpack::kBFloat) {
    return dtype.kind() == 'V' && dtype.attr("itemsize").cast<int>() == 2;
  }
  return py::detail::npy_api::get().PyArray_EquivTypes_(dtype.ptr(), slot.dtype.ptr());
}

bool is_swapped(const Slot& slot, const py::dtype& dtype) {
  return dtype.attr("newbyteorder")("=").equal(slot.dtype);
}

void check(const Slot& slot, const char* role, const py::array& array, bool may_swap) {
  const py::dtype dtype = array.dtype();
  static_assert(sizeof(py::ssize_t) == sizeof(int64_t));
  const auto* shape = reinterpret_cast<const int64_t*>(array.shape());
  const auto rank = static_cast<size_t>(array.ndim());
  if (!has_shape(slot, shape, rank) ||
      !(has_type(slot, dtype) || (may_swap && is_swapped(slot, dtype)))) {
    complain(slot, role, type_text(dtype), shape, rank);
  }
}

bool is_dense(const py::array& array) { return (array.flags() & py::array::c_style) != 0; }

bool is_dense(const dlpack::Tensor& t) {
  if (t.strides == nullptr) return true;
  int64_t expected = 1;
  for (int32_t i = t.rank - 1; i >= 0; --i) {
    if (t.shape[i] != 1 && t.strides[i] != expected) return false;
    expected *= t.shape[i];
  }
  return true;
}

py::array as_dense(const Slot& slot, py::handle value) {
  return py::module_::import("numpy").attr("asarray")(value, slot.dtype, "C");
}

void* data_of(const py::array& array) { return const_cast<void*>(array.data()); }

}  // namespace

Slot::Slot(const api::Tensor& t)
    : tensor(t), type(find_type(t.dtype)), dtype(py::dtype("V2")), shape(t.shape.size()) {
  if (type == nullptr) {
    throw api::Error("tensor '" + t.name + "' is of type " + t.dtype + ", which NumPy has not");
  }
  dtype = py::dtype(type->numpy);
  strides.resize(t.shape.size());
  int64_t bytes = type->bits / 8;
  for (size_t i = t.shape.size(); i-- > 0;) {
    shape[i] = py::int_(t.shape[i]);
    strides[i] = bytes;
    bytes *= t.shape[i];
  }
}

View View::of_input(const Slot& slot, py::handle value) {
  if (py::isinstance<py::array>(value)) {
    auto array = py::reinterpret_borrow<py::array>(value);
    check(slot, "input", array, /*may_swap=*/true);
    const bool usable = is_dense(array) && has_type(slot, array.dtype());
    if (!usable) array = as_dense(slot, value);
    void* data = data_of(array);
    return {data, std::move(array)};
  }
  if (py::hasattr(value, "__dlpack__")) return of_dlpack(slot, value, "input");
  py::array array = as_dense(slot, value);
  check(slot, "input", array, /*may_swap=*/false);
  void* data = data_of(array);
  return {data, std::move(array)};
}

View View::of_output(const Slot& slot, py::handle value) {
  if (py::isinstance<py::array>(value)) {
    auto array = py::reinterpret_borrow<py::array>(value);
    check(slot, "output", array, /*may_swap=*/false);
    if (!is_dense(array) || !array.writeable()) {
      throw api::Error("output '" + slot.tensor.name + "' must be a " +
                       (array.writeable() ? "dense array in C order" : "writable array"));
    }
    void* data = data_of(array);
    return {data, std::move(array)};
  }
  if (py::hasattr(value, "__dlpack__")) return of_dlpack(slot, value, "output");
  throw api::Error("output '" + slot.tensor.name + "' must be an array to write to");
}

View View::of_dlpack(const Slot& slot, py::handle value, const char* role) {
  const auto device = value.attr("__dlpack_device__")().cast<std::pair<int, int>>().first;
  if (device != dlpack::kCpu && device != dlpack::kCudaHost) {
    throw api::Error(std::string(role) + " '" + slot.tensor.name +
                     "' does not lie in the CPU's memory (copy it there first: x.cpu())");
  }
  const py::object capsule = value.attr("__dlpack__")();
  auto* managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) throw py::error_already_set();
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  View view(nullptr, py::object());
  view.lent_.reset(managed);
  const dlpack::Tensor& t = managed->tensor;
  const bool is_flag = slot.type->code == dlpack::kBool && t.dtype.bits == 8;
  if (!has_shape(slot, t.shape, static_cast<size_t>(t.rank)) ||
      !(is_same(*slot.type, t.dtype) || is_flag)) {
    complain(slot, role, type_text(t.dtype), t.shape, static_cast<size_t>(t.rank));
  }
  if (!is_dense(t)) {
    throw api::Error(std::string(role) + " '" + slot.tensor.name +
                     "' is not dense in C order (x.contiguous() makes such a copy)");
  }
  view.data_ = static_cast<char*>(t.data) + t.byte_offset;
  return view;
}

std::vector<int64_t> View::shape() const {
  if (lent_) return {lent_->tensor.shape, lent_->tensor.shape + lent_->tensor.rank};
  const auto array = py::reinterpret_borrow<py::array>(array_);
  return {array.shape(), array.shape() + array.ndim()};
}

// Strides are given: the size of an element lies elsewhere in NumPy 2 than pybind11 takes it from.
py::array new_array(const Slot& slot) {
  const auto bytes = static_cast<size_t>(slot.tensor.bytes);
  void* data = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  if (data == nullptr) throw std::bad_alloc();
  const py::capsule owner(data, [](void* p) { std::free(p); });
  return {slot.dtype, slot.tensor.shape, slot.strides, data, owner};
}

}  // namespace tenon::python
