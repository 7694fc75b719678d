// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <map>

#include "measure/run/job.h"

namespace tenon::run {
namespace {

using measure::Got;
using measure::Message;
using measure::RunJob;

// The memory that both ends map, while a job uses it.
class Shared {
 public:
  explicit Shared(const RunJob& job) {
    if (!job.check) return;
    bytes_ = static_cast<size_t>(measure::offsets(job.params).back());
    void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, measure::kMemory, 0);
    if (p != MAP_FAILED) data_ = static_cast<char*>(p);
  }
  ~Shared() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  char* data() const { return data_; }

 private:
  size_t bytes_ = 0;
  char* data_ = nullptr;
};

// Opens a device when it is asked for first, and keeps it.
class Devices {
 public:
  explicit Devices(std::span<const DeviceRow> rows) : rows_(rows) {}

  Device* find(const std::string& name) {
    for (const DeviceRow& row : rows_) {
      if (name != row.name) continue;
      std::unique_ptr<Device>& device = open_[name];
      if (device == nullptr) device = row.open();
      return device.get();
    }
    return nullptr;
  }

 private:
  std::span<const DeviceRow> rows_;
  std::map<std::string, std::unique_ptr<Device>> open_;
};

Message answer(const Message& request, Devices& devices, Operands& kept) {
  RunJob job;
  if (!decode(request, job)) return {"failed", "not a request"};
  // Should the one that watches be gone as well, this process does not spin for ever.
  alarm(static_cast<unsigned>(std::ceil(measure::kPatience * job.limit_s)) + 5);
  Device* device = nullptr;
  try {
    device = devices.find(job.device);
  } catch (const Unable& e) {
    return {"unable", e.what()};
  }
  if (device == nullptr) return {"unable", "there is no device '" + job.device + "'"};
  const Shared shared(job);
  if (job.check && shared.data() == nullptr) return {"unable", "no shared memory"};
  return run_job(job, *device, shared.data(), kept);
}

}  // namespace

int serve_runs(int argc, std::span<const DeviceRow> rows) {
  if (argc != 1 || !measure::has_channel()) {
    fprintf(stderr, "tenon-run is a part of tenon that measures; it is not started by hand\n");
    return 2;
  }
  measure::exit_when_left(measure::kChannel, nullptr);
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  Devices devices(rows);
  Operands kept;  // goes before the devices do
  for (Message request; measure::receive(measure::kChannel, request) == Got::kMessage;) {
    const Message m = answer(request, devices, kept);
    alarm(0);
    if (measure::send(measure::kChannel, m) != Got::kMessage) break;
  }
  return 0;
}

}  // namespace tenon::run
