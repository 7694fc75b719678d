// SPDX-License-Identifier: Apache-2.0
// The table of devices: another one is a row here.
#include "measure/run/cpu.h"
#include "measure/run/cuda.h"

namespace tenon::run {
namespace {

constexpr DeviceRow kDevices[] = {
    {"cpu", open_cpu},
    {"cuda", open_cuda},
};

}  // namespace

std::span<const DeviceRow> devices() { return kDevices; }

}  // namespace tenon::run
