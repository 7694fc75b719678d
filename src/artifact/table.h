// SPDX-License-Identifier: Apache-2.0
// The table that the runtime walks (runtime/model.h), as LLVM IR text.
//
//   step 1: k1(arena @0, output 0)   =>   @params1 = ... [{ i32 3, i32 0, i64 0 }, { i32 1, i32 0, i64 0 }]
#pragma once

#include <string>
#include <vector>

#include "artifact/kernels.h"
#include "artifact/program.h"
#include "support/sha256.h"

namespace tenon::artifact {

struct TableFacts {
  std::string manifest;
  uint64_t needs = 0;
  uint64_t weights_checksum = 0;
  Sha256::Digest weights_sha256 = {};
  std::string weights = {};  // the symbol of weights inside the library; empty: they are in a file
};

// How a table is named, and which others there are.
struct TableName {
  std::string symbol;  // empty: NAME_rt_model
  std::vector<std::string> levels =
      {};  // symbols of the tables of all instruction sets, the best last; empty: one target
};

// Defines NAME_rt_model, and NAME_rt_cuda of a program for GPUs. A table of that name with levels can be written to: the
// runtime copies one of them there.
std::string table_ir(const Program& program, const std::vector<CompiledKernel>& kernels,
                     const TableFacts& facts, const TableName& name = {});

// The largest workspace of a kernel; on GPUs that of all steps that may run at once.
int64_t scratch_bytes(const Program& program, const std::vector<CompiledKernel>& kernels);

}  // namespace tenon::artifact
