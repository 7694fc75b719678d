// SPDX-License-Identifier: Apache-2.0
// The sizes of dimensions that a model leaves open: one each, or several that a library is to serve.
//
//   x: batch x 3 x 224 x 224, asked for batch = 1..8
//     =>  OpenSizes{dims: batch {1 .. 8}, input_dims: {0, -1, -1, -1}}
//   mask: batch x past + 1, asked for batch = 2 and past = 0..3
//     =>  OpenSizes{dims: past {0 .. 3}, input_dims: {-1, -1}, input_sums: {{1, past + 1}}}
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx/import.h"
#include "support/size_sum.h"

namespace tenon::onnx {

using Sizes = std::vector<int64_t>;  // that a dimension may have, ascending, each once

// "128", "1..8", "16..512:16" (in steps of 16), "1|2|4"; `whole` is named where it is none of these. Throws UserError.
Sizes parse_sizes(const std::string& text, const std::string& whole);

struct SizeRequest {
  std::map<std::string, Sizes> dims;                 // by name
  std::map<std::string, std::vector<Sizes>> shapes;  // whole inputs by name, by axis
  std::map<std::string, ir::Array> bound;            // inputs that become constants
  Sizes batch = {1};  // of open dimensions that look like a batch, where nothing is said about them
};

struct OpenSizes {
  struct Dim {
    std::string name;  // "x.2" where the file has no name: axis 2 of input x
    Sizes sizes;       // several
  };
  std::vector<Dim> dims;
  std::vector<std::vector<int32_t>>
      input_dims;  // by input and axis: which of them; -1: its size is fixed, or computed
  std::vector<std::map<size_t, SizeSum>> input_sums;  // by input: axes that are computed of them
  // What is said about the model for one size of each of them.
  ImportOptions at(const std::vector<int64_t>& sizes) const;

  ImportOptions
      fixed;  // what is the same for all sizes; dimensions that nobody speaks of are missing
  std::map<std::string, size_t> named;  // dims that the file has names for
  struct Extent {
    int64_t size = -1;
    int32_t dim = -1;      // whose size it is
    std::string sum = {};  // what it is called where it is computed
  };
  std::map<std::string, std::vector<Extent>> shapes;  // inputs given by shape
  std::map<std::string, SizeSum> computed;            // by what they are called
  std::vector<std::string> taken;                     // "batch=1..8": what nothing was said about
};

// Throws UserError for sizes of what is not open. Dimensions that nothing is said about and that look like no batch are
// left out: importing says which.
OpenSizes open_sizes(const Source& source, const SizeRequest& request);

}  // namespace tenon::onnx
