// SPDX-License-Identifier: Apache-2.0
// Random programs: compiled code gives what the interpreter gives, bit for bit, on every target
// here.
//   backend_fuzz_test [--seed=N] [--runs=N]
#include "backend/harness.h"
#include "backend/program_fuzzer.h"
#include "ir/verify.h"

int main(int argc, char** argv) {
  using namespace tenon;  // NOLINT(google-build-using-namespace): the test is this function
  return backend::run_program_fuzzer(
      argc, argv, {"BackendFuzz", 60}, [](const backend::RandomCase& c) {
        ir::verify(c.f, ir::Dialect::kFlat);
        backend::expect_same(c.f, backend::small_args(c.f, c.rng, 0, 8));
      });
}
