// SPDX-License-Identifier: Apache-2.0
// Random complex operators under random layouts: every program that a loop space has for them is right.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backend/backend.h"
#include "search/layout/layout_space.h"
#include "search/space/spaces.h"

namespace tenon::search {

LayoutSpace::Point random_point(const LayoutSpace& s, Rng& rng);

// One operator, one point of its layout space, both drawn from the seed. Answers are empty, or what went wrong. Counts
// programs by where they come from.
class LayoutFuzz {
 public:
  LayoutFuzz(uint64_t seed, std::map<std::string, int>& counts);
  std::string run_all();  // the definition, what templates choose, and draws of both spaces
  // One of these, or the definition by another algorithm.
  std::string run_one(backend::Compiler* compiler = nullptr);

  const target::Target& target() const { return *target_; }

 private:
  std::string check(const schedule::State& s, const std::string& what, backend::Compiler* compiler);
  std::string check_variant(backend::Compiler* compiler);
  std::string check_draws(const std::string& space, int n, backend::Compiler* compiler);
  std::string fault(const std::string& what, const std::string& why) const;

  Rng rng_;
  uint64_t seed_;
  std::map<std::string, int>& counts_;
  std::shared_ptr<const target::Target> target_;
  task::Task task_;  // without a dag: there is nothing to lay out
  std::string point_;
  std::vector<ir::Array> inputs_, expected_;
};

}  // namespace tenon::search
