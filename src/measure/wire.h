// SPDX-License-Identifier: Apache-2.0
// How the measurer talks to tenon-build and tenon-run: lists of byte strings over a socket. Both ends check what they
// read, for the other may die at any moment.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tenon::measure {

inline constexpr int kChannel = 3;  // the socket, in a tool
inline constexpr int kMemory = 4;   // a file without a name that both ends map, in a tool

// A tool that was started by hand has no channel.
bool has_channel();

using Message = std::vector<std::string>;

enum class Got : uint8_t { kMessage, kGone, kLate };

inline constexpr double kPatience = 4;  // see Worker::call

// Seconds below 0: for ever. `wait` is until something can be received, or the other end is gone.
Got wait(int fd, double seconds);
Got send(int fd, const Message& m, double seconds = -1);
Got receive(int fd, Message& m, double seconds = -1);

// Ends this process, after `last`, as soon as the other end of the channel is closed, whatever its threads do.
void exit_when_left(int fd, std::function<void()> last);

// A program to time, or to run once on given inputs.
struct Param {
  char role = 'i';    // i: input, c: constant, o: output
  std::string dtype;  // "f32"
  int64_t bytes = 0;
  bool operator==(const Param&) const = default;
};
struct RunJob {
  std::string device = "cpu";  // see measure/run/device.h
  std::string library;         // a module of that device that defines kEntry
  int64_t workspace_bytes = 0;
  std::vector<Param> params;
  int threads = 1;
  bool cold = true;
  double min_run_s = 0;
  double best_s = 0;  // of its task so far; what is clearly slower is timed less; 0: none
  double limit_s = 10;
  // Once, with what lies in the shared memory as inputs; its outputs, filled with `poison` before, go there too.
  bool check = false;
  uint8_t poison = 0xff;
};
inline constexpr const char* kEntry = "tenon_candidate";

Message encode(const RunJob& job);
bool decode(const Message& m, RunJob& job);  // false: not a job

// Where each parameter lies in the shared memory; the last element is the size of all.
std::vector<int64_t> offsets(const std::vector<Param>& params);

std::string to_text(double v);  // reads back exactly
std::string to_text(const Param& p);
bool parse_param(const std::string& text, Param& p);

}  // namespace tenon::measure
