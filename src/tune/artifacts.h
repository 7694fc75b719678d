// SPDX-License-Identifier: Apache-2.0
// The artifacts of a session: the best verified programs of each model lie in its directory at
// every moment, and writing them does not eat the budget. Where programs are timed on no core of
// this machine, artifacts are written while rounds go on.
//
//   artifacts.write_all(loops);
//   artifacts.renew(loops);        // those that changed, if the last time is long enough ago
#pragma once

#include <filesystem>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "support/private_folder.h"
#include "tune/loops.h"

namespace tenon::tune {

class Artifacts {
 public:
  // Both must outlive it.
  Artifacts(SessionParts& parts, const Networks& networks);

  void write(size_t m, const Programs& programs);
  void write_if_changed(size_t m, const Programs& programs);
  // Perhaps beside what comes next.
  void write_all(const Loops& loops);
  // Only what changed; `renew` not so often that writing eats the budget, and perhaps beside what comes next.
  void renew(const Loops& loops);
  void renew_now(const Loops& loops);
  // Where the artifact of a model by default lies while this lives.
  std::filesystem::path default_of(size_t m);
  // Models whose default is not there yet.
  int64_t defaults_missing() const;

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
  struct Made {
    plan::NetworkPlan plan;
    double seconds = 0;  // by the machine's clock
  };
  // An artifact of a model that is being written beside others, or will be when somebody waits for it.
  struct Writing {
    std::launch how = std::launch::deferred;
    std::map<std::string, std::string> traces = {};
    bool is_default = false;
    std::future<Made> made = {};
  };

  std::launch how_beside_rounds() const;
  void begin(size_t m, const Programs& programs, std::launch how);
  void finish(size_t m);
  bool is_open(size_t m) const;
  Made make(size_t m, const plan::NetworkPlan& plan, bool keep_as_default) const;
  artifact::Written write_to(const std::filesystem::path& directory,
                             const artifact::Program& p) const;
  std::filesystem::path default_place(size_t m) const;

  SessionParts& parts_;
  const Networks& networks_;
  const PrivateFolder defaults_ = PrivateFolder::temporary("default");
  std::vector<char> has_default_;                            // per model
  std::vector<std::map<std::string, std::string>> written_;  // per model: traces of its artifact
  std::vector<plan::NetworkPlan> built_;
  double last_write_ = 0, write_cost_ = 0, most_write_cost_ = 0;
  std::vector<Writing> writing_;  // per model; the last, for it uses the others
};

}  // namespace tenon::tune
