// SPDX-License-Identifier: Apache-2.0
#include "support/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace tenon {
namespace {

TEST(Parallel, EveryIndexOnce) {
  for (const int threads : {0, 1, 2, 7}) {
    for (const size_t n : {0u, 1u, 2u, 100u}) {
      std::vector<std::atomic<int>> seen(n);
      for_each_parallel(n, threads, [&](size_t i) { ++seen[i]; });
      for (size_t i = 0; i < n; ++i) EXPECT_EQ(seen[i], 1) << threads << " threads, index " << i;
    }
  }
}

TEST(Parallel, AnExceptionComesBack) {
  EXPECT_THROW(for_each_parallel(50, 3,
                                 [](size_t i) {
                                   if (i == 20) throw std::runtime_error("twenty");
                                 }),
               std::runtime_error);
}

}  // namespace
}  // namespace tenon
