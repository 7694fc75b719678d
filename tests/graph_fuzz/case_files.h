// SPDX-License-Identifier: Apache-2.0
// Cases in the layout of ONNX's backend suite, which any tool for ONNX can read: FOLDER/model.onnx,
// FOLDER/test_data_set_0/input_0.pb, ..., output_0.pb, ...
#pragma once

#include <string>

#include "graph_fuzz/random_model.h"

namespace tenon::graph_fuzz {

// With the outputs that the oracle gives, if it can.
void write_case(const std::string& folder, const Case& c);
// With all values: the model states their shapes (value_info), value_0.pb, ... hold their numbers.
void write_case_with_values(const std::string& folder, const Case& c);
Case read_case(const std::string& folder);

}  // namespace tenon::graph_fuzz
