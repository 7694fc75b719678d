// SPDX-License-Identifier: Apache-2.0
// Programs of one model at several sizes as one program with open dimensions: kernels and weights that are the same are there
// once, and so are kernels that differ in whole numbers only (numbers.h).
//
//   Joiner j({{"batch", {1, 2, 4}, {1, 2, 4}}}, {{0, -1}}, {{}}, -1);
//   j.add({1}, at_1);  j.add({2}, at_2);  j.add({4}, at_4);
//   artifact::Program all = j.finish();
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "artifact/program.h"
#include "compile/numbers.h"

namespace tenon::compile {

class Joiner {
 public:
  // `input_dims` and `output_dims` are TensorInfo::dims of each; `batch` as Program has it.
  Joiner(std::vector<artifact::Dim> dims, std::vector<std::vector<int32_t>> input_dims,
         std::vector<std::vector<int32_t>> output_dims, int32_t batch);

  // Every combination of compiled sizes, the last dimension fastest. Only weights that are new are kept. Behind its own
  // inputs a program has one for the size of each dimension that is padded.
  void add(const std::vector<int64_t>& sizes, artifact::Program program);
  // On as many threads; 0: one per core.
  artifact::Program finish(int threads);

 private:
  // A kernel of one of the programs. Only kernels of the same place in the model are shared: what does not depend on sizes
  // stays known to them.
  struct Found {
    artifact::Kernel kernel;
    Numbered numbered;
    std::string place;  // its first call
    size_t variant;
  };
  using Alike = std::vector<std::vector<size_t>>;  // found kernels of one form each
  void take_size_inputs(artifact::Program& program) const;
  int64_t keep_weight(const std::shared_ptr<const ir::Array>& data);
  void share_beginnings();
  void join_plans();
  void let_write_over(const std::vector<size_t>& place);
  Alike alike_at(const std::vector<size_t>& place);
  Alike find_alike(int threads);
  void share_kernels(int threads);
  int64_t keep_numbers(const std::vector<int64_t>& numbers);
  void give_numbers(size_t found, int32_t kernel, const std::vector<int64_t>& numbers);
  void set_largest();

  artifact::Program all_;
  std::vector<std::vector<int32_t>> input_dims_, output_dims_;
  std::vector<Found> found_;
  std::vector<plan::TaskPlan> earlier_;                    // of sizes before the last one
  std::set<std::string> tasks_;                            // of these
  std::vector<std::vector<artifact::Step*>> calls_;        // of each found kernel
  std::multimap<uint64_t, size_t> weights_;                // by a hash of their bytes
  std::map<std::vector<int64_t>, int64_t> number_places_;  // offsets in bytes
};

}  // namespace tenon::compile
