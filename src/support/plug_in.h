// SPDX-License-Identifier: Apache-2.0
// A library with a C interface that is loaded when it is asked for, and stays loaded: one with
// threads of its own cannot be unloaded safely.
//
//   Interface i = plug_in_interface("", "tenon_layout_agent_api");
//   i.functions    what the plug-in's function of that name returns
#pragma once

#include <string>

namespace tenon {

struct Interface {
  const void* functions = nullptr;  // null: `why` says why not
  std::string why;
};

// `file` empty: libtenon-torch.so beside the program, or where the loader looks for libraries.
Interface plug_in_interface(const std::string& file, const char* symbol);

}  // namespace tenon
