// SPDX-License-Identifier: Apache-2.0
// Networks of the zoo with open dimensions, as exporters write them: sizes by name, reshapes that copy what is open,
// positions cut to the length of the sequence.
#pragma once

#include <string>

namespace tenon::compile {

// The bytes of an ONNX file. The first axis of inputs and outputs is `batch`; of transformers the second is `seq`.
// `image`: height and width; 0: the architecture's own.
std::string open_network(const std::string& name, int64_t image = 0);

}  // namespace tenon::compile
