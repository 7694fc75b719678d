// SPDX-License-Identifier: Apache-2.0
// The artifacts of a session: the best verified programs of each model lie in its directory at
// every moment, and writing them does not eat the budget.
//
//   artifacts.write_all(loops);
//   artifacts.renew(loops);        // those that changed, if the last time is long enough ago
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tune/loops.h"

namespace tenon::tune {

class Artifacts {
 public:
  // Both must outlive it.
  Artifacts(SessionParts& parts, const Networks& networks);

  void write(size_t m, const Programs& programs);
  void write_if_changed(size_t m, const Programs& programs);
  void write_all(const Loops& loops);
  // Only what changed; `renew` not so often that writing eats the budget.
  void renew(const Loops& loops);
  void renew_now(const Loops& loops);
  // Of a model by default, somewhere else.
  void write_default(size_t m, const std::filesystem::path& directory) const;

  // The plan of each model's artifact.
  const std::vector<plan::NetworkPlan>& built() const { return built_; }
  // Seconds that the dearest artifact takes, with its compilation.
  double write_cost() const { return most_write_cost_; }
  bool has_programs(size_t m) const { return !written_[m].empty(); }
  // How many of the programs were built; others were refused.
  int count(size_t m, const Programs& programs) const;
  // "task 9f0c...: why"
  std::vector<std::string> refused(size_t m) const;

 private:
  void write_to(const std::filesystem::path& directory, const artifact::Program& p) const;

  SessionParts& parts_;
  const Networks& networks_;
  std::vector<std::map<std::string, std::string>> written_;  // per model: traces of its artifact
  std::vector<plan::NetworkPlan> built_;
  double last_write_ = 0, write_cost_ = 0, most_write_cost_ = 0;
};

}  // namespace tenon::tune
