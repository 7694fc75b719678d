// SPDX-License-Identifier: Apache-2.0
#include "onnx/converter.h"

#include <fmt/format.h>

namespace tenon::onnx {

const ir::Array& Convert::constant(size_t i, std::string_view what) {
  const ValueId v = input(i);
  if (!b_.data(v)) {
    throw Unsupported(fmt::format("{} ('{}') must be known when compiling", what, b_.value(v).name),
                      fmt::format("bind it: --bind {}=@file.npy, if it is an input of the model",
                                  b_.value(v).name));
  }
  return *b_.data(v);
}

std::vector<int64_t> Convert::constant_ints(size_t i, std::string_view what) {
  const ir::Array& a = constant(i, what);
  if (!a.dtype().is_int() || a.shape().size() > 1) {
    throw Unsupported(fmt::format("{} must be a list of integers", what));
  }
  std::vector<int64_t> v(static_cast<size_t>(a.elements()));
  for (size_t k = 0; k < v.size(); ++k) v[k] = a.get(static_cast<int64_t>(k)).i;
  return v;
}

double Convert::constant_scalar(size_t i, std::string_view what) {
  const ir::Array& a = constant(i, what);
  if (a.elements() != 1) throw Unsupported(fmt::format("{} must be one number", what));
  return a.get_double(0);
}

int64_t Convert::axis(int64_t a, int64_t rank) {
  if (a < -rank || a >= rank) {
    throw Unsupported(fmt::format("axis {} is outside of a tensor with {} dimensions", a, rank));
  }
  return a < 0 ? a + rank : a;
}

}  // namespace tenon::onnx
