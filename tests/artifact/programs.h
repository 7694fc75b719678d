// SPDX-License-Identifier: Apache-2.0
// Small programs made by hand, with what they must answer.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "artifact/program.h"
#include "te/dag.h"

namespace tenon::artifact {

// A program whose steps are dags, each reading values by name.
//   Chain c("two", target);  c.input("x", {3, 5});  c.step(dag, {"x"}, {"y"});  c.output("y");
// Inputs of a dag that are constant become weights with random values.
class Chain {
 public:
  Chain(std::string name, target::Target target);
  void input(const std::string& name, ir::DType dtype, std::vector<int64_t> shape);
  // With `values`, one per input of the dag, constants get theirs from there.
  void step(const te::ComputeDag& dag, const std::vector<std::string>& reads,
            const std::vector<std::string>& writes, const std::vector<ir::Array>* values = nullptr);
  // To be called before the step that writes it.
  void output(const std::string& name, ir::DType dtype, std::vector<int64_t> shape);

  const Program& program() const { return program_; }
  Program& program() { return program_; }
  // By te::evaluate, step by step.
  std::vector<ir::Array> expected(const std::vector<ir::Array>& inputs) const;
  std::vector<ir::Array> random_inputs(uint64_t seed) const;

 private:
  struct Stage {
    te::ComputeDag dag;
    std::vector<std::string> reads, writes;
    std::vector<ir::Array> constants;  // in the order of the dag's constant inputs
  };
  Param place(const std::string& value, int64_t bytes);

  Program program_;
  std::vector<Stage> stages_;
  std::vector<std::pair<std::string, Param>> places_;
};

ir::Array random_array(ir::DType dtype, std::vector<int64_t> shape, uint64_t seed);

// Empty, or where the two differ by more than the rounding of a sum of floats.
std::string difference(const std::vector<ir::Array>& expected, const std::vector<ir::Array>& got);

// x -> matmul with a constant -> relu -> softmax: three steps, two values in the arena.
Chain small_network(const std::string& name, const target::Target& target);

// A folder that goes away with its contents.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace tenon::artifact
