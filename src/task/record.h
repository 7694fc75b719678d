// SPDX-License-Identifier: Apache-2.0
// What came of trying a trace, as it is stored, exported and learnt from.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tenon::task {

enum class Outcome : uint8_t {
  kOk,
  kRefused,       // the program does not fit the target
  kCompileError,  // the compiler said no
  kCompileTimeout,
  kCompileMemory,
  kRunCrash,
  kRunTimeout,
  kWrong,      // ran, but its answer is not that of the reference
  kUndecided,  // the machine failed, not the program: no room, no memory; never recorded
};
std::string to_string(Outcome o);  // "ok", "compile-timeout", ...
std::optional<Outcome> parse_outcome(const std::string& text);

// How a time was taken; only times of one protocol compare. "v1 threads=2 cold" and the like.
struct Protocol {
  int version = 1;
  int threads = 1;
  bool cold = true;  // weights and outputs out of the caches before each repetition
};
std::string to_string(const Protocol& p);
Protocol parse_protocol(const std::string& text);  // throws UserError

struct Measurement {
  std::string task;      // Task::key
  std::string target;    // target::Target::fingerprint
  std::string protocol;  // as text
  std::string trace;     // JSON
  std::string choices;   // JSON of space::Choices; empty: not known
  Outcome outcome = Outcome::kOk;
  std::vector<double> seconds;  // per repetition, kOk only
  double best_s = 0, median_s = 0;
  double low_s = 0, high_s = 0;   // 95 % interval of the median
  double build_s = 0, run_s = 0;  // wall time of getting it
  std::string error;              // one line, for all others
  bool verified = false;          // compared with the reference
  double load1 = 0, mhz = 0;      // of the machine while measuring; 0: not known
  double handoff_ns = 0;          // measure::handoff_ns before or after, the larger; 0: not known
  std::string run;                // id of the run that made it
  int64_t time = 0;               // seconds since 1970
};

// It ran, and took a time that can be: what was changed to take none would be the best for ever.
bool has_time(const Measurement& m);
// What the error of a record begins with that was changed by others than tenon.
inline constexpr const char* kDamaged = "damaged";

// One JSON object per line, and back; unknown fields are kept out, missing ones are errors.
std::string to_json(const Measurement& m);
Measurement measurement_from_json(const std::string& line);  // throws UserError

}  // namespace tenon::task
