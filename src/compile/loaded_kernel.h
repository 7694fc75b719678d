// SPDX-License-Identifier: Apache-2.0
// A compiled program of one task with its arguments in memory, ready to run as often as wanted.
//
//   LoadedKernel kernel(state, function, random_inputs(dag, 1));
//   kernel.run(runtime);
//   kernel.outputs();
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "ir/interp.h"
#include "schedule/state.h"

namespace tenon::compile {

// Throws UserError if the tensors of `dag` would take more than half of this machine's memory.
void check_fits_memory(const te::ComputeDag& dag);

// One array per input of the dag: floats uniform in [-1, 1), integers 0 or 1 so that they are valid
// indices.
std::vector<ir::Array> random_inputs(const te::ComputeDag& dag, uint64_t seed);

class LoadedKernel {
 public:
  // `function` is the lowered state. Compiles for this machine; throws UserError if the state's
  // target does not run here.
  LoadedKernel(const schedule::State& state, const ir::Function& function,
               const std::vector<ir::Array>& inputs);
  ~LoadedKernel();

  void run(const tenon_runtime* runtime) const;
  std::vector<ir::Array> outputs() const;  // logical, of the last run
  double compile_s() const { return compile_s_; }

 private:
  struct Memory;
  const schedule::State state_;
  std::unique_ptr<backend::Kernel> kernel_;
  std::vector<std::unique_ptr<Memory>> params_;
  std::unique_ptr<Memory> workspace_;
  std::vector<void*> pointers_;
  size_t num_inputs_ = 0;
  double compile_s_ = 0;
};

}  // namespace tenon::compile
