// SPDX-License-Identifier: Apache-2.0
// Converters of rows_nn that lie in files of their own.
#pragma once

#include <vector>

#include "onnx/converter.h"

namespace tenon::onnx {

std::vector<ValueId> convert_conv(Convert& c);
std::vector<ValueId> convert_conv_transpose(Convert& c);

std::vector<ValueId> convert_max_pool(Convert& c);
std::vector<ValueId> convert_average_pool(Convert& c);
std::vector<ValueId> convert_lp_pool(Convert& c);
std::vector<ValueId> convert_global_average_pool(Convert& c);
std::vector<ValueId> convert_global_max_pool(Convert& c);
std::vector<ValueId> convert_global_lp_pool(Convert& c);

std::vector<ValueId> convert_resize_10(Convert& c);
std::vector<ValueId> convert_resize_11(Convert& c);
std::vector<ValueId> convert_upsample_7(Convert& c);

std::vector<ValueId> convert_roi_align(Convert& c);
std::vector<ValueId> convert_grid_sample(Convert& c);

}  // namespace tenon::onnx
