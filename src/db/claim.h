// SPDX-License-Identifier: Apache-2.0
// Who makes a run: a file beside the database, locked by its process, so that a second process with the same command does
// not join in. The kernel lets go of it when the process ends, however it ends; to run again is to go on.
//
//   records.db-run-9f0c1d22a7b3e615   the number of the process, gone when the run is done
#pragma once

#include <string>

namespace tenon::db {

class RunClaim {
 public:
  // Throws UserError while another has it, or if the file cannot be made.
  RunClaim(const std::string& database, const std::string& command, const std::string& model);
  ~RunClaim();
  RunClaim(const RunClaim&) = delete;
  RunClaim& operator=(const RunClaim&) = delete;

 private:
  bool take();  // false: the file was removed before it was locked
  std::string path_;
  int fd_ = -1;
};

}  // namespace tenon::db
