// SPDX-License-Identifier: Apache-2.0
// Files that are part of this program because finished libraries are made of them.
#pragma once

#include <string_view>

#include "target/target.h"

namespace tenon::artifact {

struct RuntimeParts {
  std::string_view library;       // module runtime as one relocatable object
  std::string_view library_cuda;  // the same for programs that run on GPUs
  std::string_view libc;          // empty shared objects with the names of libc and libm
  std::string_view libm;
};
RuntimeParts runtime_parts(target::Arch arch);

std::string_view model_api_header();      // src/runtime/model_api.h
std::string_view model_api_cpp_header();  // src/runtime/model_api.hpp
std::string_view device_api_header();     // src/runtime/cuda/device_api.h
std::string_view runtime_header();        // include/tenon/runtime.h

}  // namespace tenon::artifact
