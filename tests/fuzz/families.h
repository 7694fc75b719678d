// SPDX-License-Identifier: Apache-2.0
// One function per operator family: adds one operator of random shape to a growing dag.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/facts.h"
#include "fuzz/random_dag.h"
#include "te/ops.h"

namespace tenon::fuzz {

// The dag so far. Tensors are drawn from what is there, or become new inputs.
class Growth {
 public:
  Growth(Rng& random, const RandomDagOptions& opts);

  te::Builder b;
  Rng& rng;
  const RandomDagOptions& options;
  ir::DType base;  // of new inputs

  // 1, 2, 3, small primes; at most `most`.
  int64_t extent(int64_t most = 9);
  std::vector<int64_t> shape(size_t rank, int64_t most = 9);
  std::string name(std::string_view family);
  te::Tensor input(ir::DType t, std::vector<int64_t> dims);
  // A tensor that exists and fits; recent ones are likelier.
  using Fits = std::function<bool(const te::Tensor&)>;
  std::optional<te::Tensor> existing(const Fits& fits);
  // Usually an existing tensor of rank least..most and base-like type, else a new input.
  te::Tensor operand(size_t least_rank, size_t most_rank, const Fits& fits = nullptr);
  const Facts& facts(const te::Tensor& t) const { return facts_.at(t.get()); }
  // Safe to put through a function whose slope is moderate, or through a jump.
  bool is_smooth_safe(const te::Tensor& t) const;
  bool is_exact(const te::Tensor& t) const { return facts(t).exact; }

  // Runs `draw`; undoes it and returns false if the dag became too large or its values too big.
  bool attempt(const std::function<void(Growth&)>& draw);

 private:
  void absorb();
  bool within_limits() const;

  std::vector<te::Tensor> pool_;
  FactMap facts_;
  size_t seen_inputs_ = 0;
  size_t seen_ops_ = 0;
  int next_name_ = 0;
};

struct Family {
  std::string_view name;
  int weight;
  bool exact;  // keeps exact values exact
  void (*draw)(Growth&);
};
std::span<const Family> families();

}  // namespace tenon::fuzz
