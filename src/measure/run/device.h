// SPDX-License-Identifier: Apache-2.0
// What runs kernels, inside the process of tenon-run. The interface asks for nothing that only a CPU has: memory need
// not be the host's, a kernel comes out of a module that the device loads, and the device keeps the time.
//
//   auto kernel = device.load(module, threads);
//   Arguments a = ...;                       // by device.allocate
//   kernel->launch(a);
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace tenon::run {

enum class Place : uint8_t {
  kFront,  // begins a page, as in a finished model; huge pages for what is large
  kBack,   // ends with the last line of a page: reading past the end is caught too
};

// Bytes of a device between zones that nothing may touch.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual int64_t bytes() const = 0;
  // `count` bytes from byte `at` on, from and to the memory of this process.
  virtual void put(const void* from, int64_t count, int64_t at) = 0;
  // Repeats the pattern over the whole buffer.
  virtual void fill(const std::vector<char>& pattern);
  virtual void get(void* to, int64_t count, int64_t at) const = 0;
  virtual bool intact() const = 0;  // no zone was written to
};

struct Arguments {
  std::vector<std::unique_ptr<Buffer>> params;
  std::unique_ptr<Buffer> workspace;
};

struct TimingRules {
  double min_run_s = 0.02;
  double best_s = 0;               // that is known of another program; 0: none
  bool cold = true;                // before each launch, `flushed` params are in no cache
  std::vector<bool> flushed = {};  // per parameter
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void launch(const Arguments& a) = 0;  // returns when all is written
  // Seconds of one launch, per repetition: after a warm-up, until the median is known well or min_run_s are spent.
  virtual std::vector<double> time(const Arguments& a, const TimingRules& rules) = 0;
};

// The machine's fault: nothing is said about the candidate.
class Unable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
// The candidate's.
class Unfit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Device {  // lives as long as the process, one job at a time
 public:
  virtual ~Device() = default;
  virtual std::unique_ptr<Buffer> allocate(int64_t bytes, Place place) = 0;  // or std::bad_alloc
  // What backend::Compiler::link made. Throws Unable or Unfit.
  virtual std::unique_ptr<Kernel> load(const std::string& module, int threads) = 0;
};

struct DeviceRow {
  const char* name;                   // as target::Target::device has it
  std::unique_ptr<Device> (*open)();  // throws Unable where the machine has none
};
std::span<const DeviceRow> devices();

}  // namespace tenon::run
