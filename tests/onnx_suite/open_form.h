// SPDX-License-Identifier: Apache-2.0
// A case whose model leaves dimensions open, as a library for several sizes: the recorded one, and another.
//
//   x: N x 4, recorded as 3 x 4      =>      N is 3 or 4
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compile/sizes.h"
#include "ir/interp.h"
#include "onnx/import.h"

namespace tenon::onnx_suite {

struct OpenForm {
  compile::OpenModel model;
  std::vector<std::string>
      closed;  // dimensions that the file leaves open and that take no other size
};

// `inputs` are the recorded ones by name; what is `bound` becomes a constant. A dimension is open if the file says so and the
// model can be imported at another size of it, with all else as recorded. Nothing if the file leaves none open. Keeps a copy
// of `source`.
std::optional<OpenForm> open_form(const onnx::Source& source,
                                  const std::map<std::string, ir::Array>& inputs,
                                  const std::set<std::string>& bound);

}  // namespace tenon::onnx_suite
