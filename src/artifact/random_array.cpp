// SPDX-License-Identifier: Apache-2.0
#include "artifact/random_array.h"

namespace tenon::artifact {

ir::Array random_array(ir::DType dtype, const std::vector<int64_t>& shape, Rng& rng) {
  ir::Array array(dtype, shape);
  for (int64_t i = 0; i < array.elements(); ++i) {
    array.set_double(
        i, dtype.is_float() ? 2 * rng.unit() - 1 : static_cast<double>(rng.between(0, 1)));
  }
  return array;
}

std::vector<ir::Array> random_inputs(const std::vector<TensorInfo>& tensors, uint64_t seed) {
  Rng rng(seed);
  std::vector<ir::Array> all;
  for (const TensorInfo& t : tensors) all.push_back(random_array(t.dtype, t.shape, rng));
  return all;
}

}  // namespace tenon::artifact
