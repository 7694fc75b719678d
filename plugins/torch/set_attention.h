// SPDX-License-Identifier: Apache-2.0
// Attention inside sets of rows that lie one behind the other, without padding: plain loops over
// each set, which are several times faster than libtorch's products of many small matrices.
//
//   asked   [rows, 3 * width]    q, k and v of each row, each with its heads side by side
//   first   of each set its first row, and the number of rows at the end
//   result  [rows, width]        softmax(q k' / sqrt(width / heads)) v
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

namespace tenon {

torch::Tensor set_attention(const torch::Tensor& asked, const std::vector<int64_t>& first,
                            int64_t heads);

}  // namespace tenon
