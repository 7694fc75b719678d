// SPDX-License-Identifier: Apache-2.0
// Tuning runs as a user starts them, in a folder of their own: a small model, a database, an artifact, and what belongs
// to the run among the machine's processes.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "db/db.h"
#include "ir/interp.h"
#include "tools/run_command.h"

namespace tenon::testing {

// A process that was started; it is killed with its object.
class Running {
 public:
  // `terminal`: a descriptor for stderr; -1: a file.
  Running(const std::vector<std::string>& args, const std::filesystem::path& folder,
          const std::map<std::string, std::string>& variables, int terminal = -1);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  pid_t pid() const { return pid_; }
  void signal(int number) const;
  bool ended();    // without waiting
  Outcome wait();  // -1: ended by a signal
  std::string out() const;
  std::string err() const;

 private:
  std::filesystem::path folder_;
  pid_t pid_ = -1;
  int status_ = 0;
};

class TuneFolder {
 public:
  // Writes net.onnx: two small matrix products, the weights of each 16 x 16.
  explicit TuneFolder(const std::string& name);
  ~TuneFolder();
  TuneFolder(const TuneFolder&) = delete;
  TuneFolder& operator=(const TuneFolder&) = delete;

  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  // tenon tune net.onnx -o out --db t.db (unless another is given) and more; small populations, so that thinking takes no time.
  std::vector<std::string> command(const std::vector<std::string>& more) const;
  std::unique_ptr<Running> start(const std::vector<std::string>& more, int terminal = -1) const;
  Outcome run(const std::vector<std::string>& more) const;
  std::map<std::string, std::string> variables;  // for what is started

  // The run and all that it started, by a variable that only they have.
  std::vector<pid_t> processes() const;
  // The artifact loads, all of its files are as its manifest says, and its answer is that of the untuned one.
  void expect_right_artifact(const std::string& when) const;
  // Nothing but the run recorded, nothing twice but finals; returns how many different programs.
  int64_t expect_sound_records(const std::string& run, const std::string& when) const;
  std::unique_ptr<db::Database> database() const;

 private:
  std::filesystem::path folder_;
  std::vector<ir::Array> inputs_, expected_;
};

// Whole lines of a --jsonl stream.
std::vector<nlohmann::json> events_of(const std::string& stream);
std::vector<nlohmann::json> of_kind(const std::vector<nlohmann::json>& events,
                                    const std::string& kind);

}  // namespace tenon::testing
