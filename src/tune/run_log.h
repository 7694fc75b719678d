// SPDX-License-Identifier: Apache-2.0
// A run as the database keeps it: what it told, what it spent and what it measured, with its
// earlier parts. The same command goes on with the run that was cut off.
//
//   RunLog log(db, now, forward);
//   log.start();
//   for (const db::EventRow& e : log.open(command, models, machine)) ..;   // what it told before
//   log.tell(events::FoundWrong{..});
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "db/db.h"
#include "events/events.h"
#include "tune/stopwatch.h"

namespace tenon::tune {

// Events as the database keeps them, with the time.
using Forward = std::function<void(const std::string& json)>;

class RunLog {
 public:
  // `forward` may be empty.
  RunLog(db::Database& db, Clock now, Forward forward);

  void start();  // time counts from here
  // Goes on with the unfinished run of this command, these models and this machine, or begins one.
  // The answer is what an earlier part told. Nobody else goes on with it meanwhile.
  std::vector<db::EventRow> open(const std::string& command, const std::string& models,
                                 const std::string& machine);
  void end();  // it will not be gone on with

  // With the time, and with what the run has measured by now; on disk before it is forwarded.
  void tell(const events::Event& event);

  const std::string& run() const { return run_; }
  double spent() const { return spent_before_ + now_() - start_; }
  double spent_before() const { return spent_before_; }  // in earlier parts
  events::Counted counted() const;                       // of all searches, in all parts
  int64_t measured() const { return counted().measured; }
  // Of those: programs of tasks that `here` does not name.
  int64_t measured_beside(const std::function<bool(const std::string& task)>& here) const;

 private:
  db::Database& db_;
  Clock now_;
  Forward forward_;
  std::string run_;
  std::unique_ptr<db::RunClaim> claim_;
  double start_ = 0, spent_before_ = 0;
};

}  // namespace tenon::tune
