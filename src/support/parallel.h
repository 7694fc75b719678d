// SPDX-License-Identifier: Apache-2.0
// A loop on several threads, for work of milliseconds and more. Generated code has its own pool (runtime).
#pragma once

#include <cstddef>
#include <functional>

namespace tenon {

// fn(i) for i in 0..n-1, in any order; threads <= 0: one per core. The first exception is rethrown when all threads
// have stopped.
void for_each_parallel(size_t n, int threads, const std::function<void(size_t)>& fn);

}  // namespace tenon
