// SPDX-License-Identifier: Apache-2.0
// A CUDA driver for tests, as a library that TENON_CUDA_LIBRARY names: kernels are functions of the test, memory of the card is
// memory of the process. It answers kInvalidValue to every call that a real driver would not allow (a pointer that was not
// allocated, a handle that was destroyed, no current context), and fails where it is told to.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/cuda/driver.h"

namespace tenon::fake_cuda {

using Kernel = void (*)(void** arguments);  // the whole grid

// What the driver holds for its callers. All zero: nothing leaks.
struct Live {
  int contexts = 0;  // retained primary ones
  int modules = 0;
  int device_blocks = 0;
  int host_blocks = 0;
  int streams = 0;
  int graphs = 0;  // and those that can be launched
  int pushed = 0;  // contexts that are current on the calling thread
  bool operator==(const Live&) const = default;
};

void reset();  // to one card, version 12.4, no failure, no kernels
void set_version(int32_t version);
void set_cards(int32_t count);
// A module has the kernels whose names stand in its image, which begins with "fake image": "fake image scale add ".
// PTX is text that begins with "//" and has names in the same way.
void set_kernel(const char* name, Kernel kernel);
// The n-th call from now on (1: the next one) of a function, by its symbol, answers `status`.
void fail(const char* symbol, int n, runtime::cuda::Status status);
// The same for kernels: the n-th one fails when its graph or launch is waited for, and the context with it.
void fail_kernel(int n, runtime::cuda::Status status);
// False: images are for another card.
void set_takes_images(bool takes);

Live live();
int calls(const char* symbol);
int programmatic_edges();
const std::string&
order();  // names of the kernels that ran, one after the other, with a blank behind each

}  // namespace tenon::fake_cuda
