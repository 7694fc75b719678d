// SPDX-License-Identifier: Apache-2.0
#include "artifact/embedded.h"

// Defines tenon_NAME_begin and tenon_NAME_end around the bytes of a file.
#define TENON_EMBED(name, file)                                                       \
  __asm__(".pushsection .rodata\n.balign 16\ntenon_" #name                            \
          "_begin:\n"                                                                 \
          ".incbin \"" file "\"\ntenon_" #name "_end:\n.byte 0\n.popsection\n");      \
  extern "C" __attribute__((visibility("hidden"))) const char tenon_##name##_begin[]; \
  extern "C" __attribute__((visibility("hidden"))) const char tenon_##name##_end[]

TENON_EMBED(x86_64_library, TENON_BUILT "/x86_64/library.o");
TENON_EMBED(x86_64_libc, TENON_BUILT "/x86_64/libc.so");
TENON_EMBED(x86_64_libm, TENON_BUILT "/x86_64/libm.so");
TENON_EMBED(aarch64_library, TENON_BUILT "/aarch64/library.o");
TENON_EMBED(aarch64_libc, TENON_BUILT "/aarch64/libc.so");
TENON_EMBED(aarch64_libm, TENON_BUILT "/aarch64/libm.so");
TENON_EMBED(model_api, TENON_ROOT "/src/runtime/model_api.h");
TENON_EMBED(runtime_api, TENON_ROOT "/include/tenon/runtime.h");

#define TENON_BYTES(name)                \
  std::string_view(tenon_##name##_begin, \
                   static_cast<size_t>(tenon_##name##_end - tenon_##name##_begin))

namespace tenon::artifact {

RuntimeParts runtime_parts(target::Arch arch) {
  if (arch == target::Arch::kX86_64) {
    return {TENON_BYTES(x86_64_library), TENON_BYTES(x86_64_libc), TENON_BYTES(x86_64_libm)};
  }
  return {TENON_BYTES(aarch64_library), TENON_BYTES(aarch64_libc), TENON_BYTES(aarch64_libm)};
}

std::string_view model_api_header() { return TENON_BYTES(model_api); }
std::string_view runtime_header() { return TENON_BYTES(runtime_api); }

}  // namespace tenon::artifact
