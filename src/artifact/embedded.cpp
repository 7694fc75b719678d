// SPDX-License-Identifier: Apache-2.0
#include "artifact/embedded.h"

#include "support/check.h"
#include "support/embed.h"

TENON_EMBED(x86_64_library, TENON_BUILT "/x86_64/library.o");
TENON_EMBED(x86_64_library_cuda, TENON_BUILT "/x86_64/library_cuda.o");
TENON_EMBED(x86_64_libc, TENON_BUILT "/x86_64/libc.so");
TENON_EMBED(x86_64_libm, TENON_BUILT "/x86_64/libm.so");
TENON_EMBED(aarch64_library, TENON_BUILT "/aarch64/library.o");
TENON_EMBED(aarch64_library_cuda, TENON_BUILT "/aarch64/library_cuda.o");
TENON_EMBED(aarch64_libc, TENON_BUILT "/aarch64/libc.so");
TENON_EMBED(aarch64_libm, TENON_BUILT "/aarch64/libm.so");
TENON_EMBED(model_api, TENON_ROOT "/src/runtime/model_api.h");
TENON_EMBED(model_api_cpp, TENON_ROOT "/src/runtime/model_api.hpp");
TENON_EMBED(device_api, TENON_ROOT "/src/runtime/cuda/device_api.h");
TENON_EMBED(runtime_api, TENON_ROOT "/include/tenon/runtime.h");

namespace tenon::artifact {

RuntimeParts runtime_parts(target::Arch arch) {
  if (arch == target::Arch::kX86_64) {
    return {TENON_EMBEDDED(x86_64_library), TENON_EMBEDDED(x86_64_library_cuda),
            TENON_EMBEDDED(x86_64_libc), TENON_EMBEDDED(x86_64_libm)};
  }
  TENON_CHECK(arch == target::Arch::kAArch64) << "no runtime for this architecture";
  return {TENON_EMBEDDED(aarch64_library), TENON_EMBEDDED(aarch64_library_cuda),
          TENON_EMBEDDED(aarch64_libc), TENON_EMBEDDED(aarch64_libm)};
}

std::string_view model_api_header() { return TENON_EMBEDDED(model_api); }
std::string_view model_api_cpp_header() { return TENON_EMBEDDED(model_api_cpp); }
std::string_view device_api_header() { return TENON_EMBEDDED(device_api); }
std::string_view runtime_header() { return TENON_EMBEDDED(runtime_api); }

}  // namespace tenon::artifact
