// SPDX-License-Identifier: Apache-2.0
// The bytes of a file as part of the program.
//
//   TENON_EMBED(page_css, TENON_HERE "/page.css");
//   std::string_view style = TENON_EMBEDDED(page_css);
//
// The file's path is a string literal; the build must name the file as a dependency of the source.
#pragma once

#include <string_view>

#define TENON_EMBED(name, file)                                                       \
  __asm__(".pushsection .rodata\n.balign 16\ntenon_" #name                            \
          "_begin:\n"                                                                 \
          ".incbin \"" file "\"\ntenon_" #name "_end:\n.byte 0\n.popsection\n");      \
  extern "C" __attribute__((visibility("hidden"))) const char tenon_##name##_begin[]; \
  extern "C" __attribute__((visibility("hidden"))) const char tenon_##name##_end[]

#define TENON_EMBEDDED(name)             \
  std::string_view(tenon_##name##_begin, \
                   static_cast<size_t>(tenon_##name##_end - tenon_##name##_begin))
