// SPDX-License-Identifier: Apache-2.0
// Opening the CUDA driver, which a process does once: the steps of one test.
#include "runtime/cuda/driver.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "runtime/fake_cuda.h"

namespace tenon::runtime::cuda {
namespace {

std::string refusal() {
  char sentence[kSentenceBytes] = "";
  EXPECT_EQ(open_driver(sentence), nullptr);
  return sentence;
}

TEST(CudaDriver, IsOpenedOnceAndSaysWhyNot) {
  setenv("TENON_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
  std::string why = refusal();
  EXPECT_EQ(why.find("there is no CUDA driver: /nowhere/libcuda.so.1 cannot be opened"), 0U) << why;
  setenv("TENON_CUDA_LIBRARY", "libm.so.6", 1);
  EXPECT_EQ(refusal(),
            "the CUDA driver libm.so.6 is too old: it has no cuInit; drivers since 12.0 have it");

  const std::string path = TENON_FAKE_CUDA;
  setenv("TENON_CUDA_LIBRARY", path.c_str(), 1);
  fake_cuda::set_version(11080);
  EXPECT_EQ(refusal(), "the CUDA driver " + path +
                           " is too old: it is of version 11.8, and 12.0 or later is needed");
  fake_cuda::set_version(12020);
  fake_cuda::set_cards(0);
  EXPECT_EQ(refusal(), "the CUDA driver " + path + " finds no card in this machine");
  fake_cuda::set_cards(1);
  fake_cuda::fail("cuInit", 1, kSystemDriverMismatch);
  EXPECT_EQ(refusal(),
            "the CUDA driver " + path + " does not start: CUDA_ERROR_OF_THE_TEST: as told");

  char sentence[kSentenceBytes] = "";
  const Driver* driver = open_driver(sentence);
  ASSERT_NE(driver, nullptr) << sentence;
  EXPECT_EQ(driver->version, 12020);
  EXPECT_EQ(driver->LaunchKernelEx, nullptr);  // the fake one lacks what can be done without
  EXPECT_NE(driver->GraphAddDependencies, nullptr);
  setenv("TENON_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
  EXPECT_EQ(open_driver(sentence), driver);
}

}  // namespace
}  // namespace tenon::runtime::cuda
