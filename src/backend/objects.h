// SPDX-License-Identifier: Apache-2.0
// These functions take a CPU's machine code from a compiler to a library: they make objects from data, rename symbols,
// write archives and link. A library of any backend's kernels is such code around them. Everything is
// byte-reproducible: no times, no paths.
//
//   objects {k0.o, k1.o, table.o, runtime.o}  =>  make_archive  =>  libNAME.a  =>  link_shared  =>  libNAME.so
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "target/target.h"

namespace tenon::backend {

// One module of LLVM IR as text to a relocatable object. The text is ours: a mistake in it is an InternalError.
std::string compile_ir(const std::string& text, const target::Target& t);

// Names of the global symbols that an object defines.
std::vector<std::string> defined_symbols(std::string_view object);
// The object with its symbols renamed, defined or not.
std::string rename_symbols(std::string_view object,
                           const std::map<std::string, std::string>& names);

struct Member {
  std::string name;
  std::string bytes;
};
std::string make_archive(const std::vector<Member>& members);

// Links all members of `archive` into a shared library, or into one relocatable object when `soname` is
// empty. `needed` are shared objects that a library asks for when it is loaded; what neither they nor
// the archive define is an InternalError. Throws UserError when the output cannot be written. One link
// at a time in a process: others wait.
struct LinkJob {
  std::filesystem::path archive;
  std::filesystem::path output;
  std::string soname;
  std::vector<std::filesystem::path> needed;
  bool open = false;  // what nothing defines is looked for when the library is loaded
};
void link(const LinkJob& job);

// True if code for `t` may use this feature of a CPU, by LLVM's name: "avx2".
std::vector<bool> has_features(const target::Target& t, const std::vector<std::string>& names);

}  // namespace tenon::backend
