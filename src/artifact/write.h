// SPDX-License-Identifier: Apache-2.0
// A Program to a folder with everything that is needed to run it elsewhere.
//
//   Written w = write(program, {.directory = "out"});
//   out/libNAME.so  out/NAME.h  out/NAME.weights  out/NAME.json  out/NAME.lock
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "artifact/program.h"

namespace tenon::artifact {

// Outputs says which of the files that can be left out are written.
struct Outputs {
  bool shared_library = true;   // so: libNAME.so
  bool static_library = false;  // a: libNAME.a
  bool header = true;           // h: NAME.h and NAME.hpp
  bool object = false;          // o: NAME.o, everything as one relocatable object
  bool llvm_ir = false;         // ll: ll/KERNEL.ll
  bool assembly = false;        // asm: asm/KERNEL.s, of GPUs KERNEL.ptx
  bool embed = false;           // embed: the weights are part of the libraries, and no file
};
// "so,h,asm"; throws UserError for an unknown word.
Outputs parse_outputs(const std::string& text);

struct WriteOptions {
  std::filesystem::path directory;
  Outputs outputs = {};
  int threads = 0;  // to compile with; 0: one per core
};

struct Written {
  std::filesystem::path directory;
  std::vector<std::string> files;  // relative to the directory, in order of name
  double compile_s = 0, link_s = 0;
  double weights_s = 0;  // on another thread, while kernels are compiled
};

// What stands at the directory is replaced when all is finished (see install.h), never before. The same program gives
// the same bytes. Throws UserError when the files cannot be written.
Written write(const Program& program, const WriteOptions& options);
// One library for several instruction sets, which join_levels gave; the lock file holds the plans of all.
Written write(const std::vector<Program>& levels, const WriteOptions& options);

}  // namespace tenon::artifact
