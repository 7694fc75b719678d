// SPDX-License-Identifier: Apache-2.0
// Random programs for a test that takes --seed=N and --runs=N; the first failure ends it.
//
//   int main(int argc, char** argv) {
//     return run_program_fuzzer(argc, argv, {"BackendFuzz", 60}, [](const RandomCase& c) { ... });
//   }
#pragma once

#include <cstdint>
#include <functional>

#include "ir/ir.h"
#include "support/rng.h"

namespace tenon::backend {

struct RandomCase {
  uint64_t seed;
  const ir::Function& f;
  Rng& rng;
};

struct ProgramFuzzer {
  const char* name;
  uint64_t runs;  // where --runs is not given
};

int run_program_fuzzer(int argc, char** argv, const ProgramFuzzer& fuzzer,
                       const std::function<void(const RandomCase&)>& check);

}  // namespace tenon::backend
