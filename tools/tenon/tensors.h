// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a model on the command line.
//
//   --inputs sr=16000     values by hand, as --bind takes them
//   --inputs x=@a.npy     one tensor from .npy, .pb (TensorProto) or raw bytes
//   --inputs all.npz      tensors by name
//   --inputs folder/      input_0.pb, input_1.pb, ... as ONNX's test data has them, or NAME.npy
//   --inputs seed:7       random: floats in [-1, 1), integers 0 or 1; also for whatever is not given
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "artifact/model.h"
#include "files/array_files.h"
#include "ir/interp.h"
#include "support/rng.h"

namespace tenon::tools {

void add_input_options(CLI::App& command, std::vector<std::string>& specs);

// One array per tensor, of its type and shape; open dimensions have the sizes of arrays that are given. Throws UserError.
std::vector<ir::Array> load_inputs(const std::vector<std::string>& specs,
                                   const std::vector<artifact::TensorInfo>& tensors,
                                   const std::vector<artifact::Dim>& dims);

// Recorded outputs: an .npz (by name, or by position where no name fits), a folder with
// output_N.pb, or an .npy for a single output.
std::vector<ir::Array> load_outputs(const std::string& path,
                                    const std::vector<artifact::TensorInfo>& tensors);

// By what the path ends with: .npz, .npy (a single tensor), "/" or a folder (one .npy each);
// anything else gets the raw bytes of a single tensor. "-" is an .npz on stdout.
void save_outputs(const std::string& path, const std::vector<artifact::TensorInfo>& tensors,
                  const std::vector<ir::Array>& arrays);

}  // namespace tenon::tools
