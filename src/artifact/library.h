// SPDX-License-Identifier: Apache-2.0
// The shared library of an artifact, loaded: the functions of runtime/model_api.h, found by the model's name.
#pragma once

#include <string>
#include <vector>

#include "artifact/manifest_file.h"
#include "artifact/program.h"
#include "runtime/cuda/device_api.h"
#include "runtime/model_api.h"

namespace tenon::artifact {

// Tells whether a shared library is for the architecture of this process.
bool is_for_this_machine(const std::filesystem::path& library);

// The manifest of an artifact, held against its library where this machine can load that. Throws UserError.
ManifestFile read_artifact(const std::filesystem::path& path);

class Library {
 public:
  // Throws UserError if the library is not the one that was written with the manifest, or cannot be loaded here.
  explicit Library(const ManifestFile& file);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  std::vector<TensorInfo> inputs() const;
  std::vector<TensorInfo> outputs() const;
  TensorInfo info(const tenon_model_tensor& t) const;

  decltype(tenon_model_create_with)* create_with = nullptr;
  decltype(tenon_model_target)* target = nullptr;
  decltype(tenon_model_destroy)* destroy = nullptr;
  decltype(tenon_model_run)* run = nullptr;
  decltype(tenon_model_error)* error = nullptr;
  decltype(tenon_model_set_shape)* set_shape = nullptr;
  decltype(tenon_model_input_now)* input_now = nullptr;
  decltype(tenon_model_output_now)* output_now = nullptr;
  decltype(tenon_model_output_given)* output_given = nullptr;  // older ones: output_now
  decltype(tenon_model_set_hook)* set_hook = nullptr;
  decltype(tenon_model_threads)* threads = nullptr;
  decltype(tenon_model_manifest)* manifest = nullptr;
  decltype(tenon_model_step_count)* step_count = nullptr;
  decltype(tenon_model_weights_bytes)* weights_bytes = nullptr;
  decltype(tenon_model_workspace_bytes)* workspace_bytes = nullptr;
  // Only libraries for GPUs have these two; they are null in others.
  decltype(tenon_model_run_device)* run_device = nullptr;
  decltype(tenon_model_driver_error)* driver_error = nullptr;

 private:
  using Tensor = decltype(tenon_model_input);
  template <class Fn>
  void find(Fn*& to, const char* what);
  template <class Fn>
  bool look_for(Fn*& to, const char* what);  // false: it is not there
  void find_all();
  std::vector<TensorInfo> tensors(int32_t count, Tensor* tensor) const;

  std::string path_, name_;
  void* handle_ = nullptr;
  decltype(tenon_model_input_count)* input_count_ = nullptr;
  decltype(tenon_model_output_count)* output_count_ = nullptr;
  Tensor* input_ = nullptr;
  Tensor* output_ = nullptr;
};

}  // namespace tenon::artifact
