// SPDX-License-Identifier: Apache-2.0
#include "simt/launch.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "simt/fibers.h"

namespace tenon::simt {
namespace {

constexpr uint64_t kFewThreads = 1 << 14;  // of a whole grid, which one thread of this machine does
constexpr unsigned kMostWorkers = 4;

struct Block {
  const Launch* launch = nullptr;
  void** arguments = nullptr;
  tenon_simt_thread first = {};  // its thread 0
};

tenon_simt_thread thread_of(const Block& block, int number) {
  const auto i = static_cast<uint32_t>(number);
  const uint32_t* size = block.launch->block;
  tenon_simt_thread t = block.first;
  t.thread[0] = static_cast<int32_t>(i % size[0]);
  t.thread[1] = static_cast<int32_t>(i / size[0] % size[1]);
  t.thread[2] = static_cast<int32_t>(i / size[0] / size[1]);
  return t;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
__attribute__((no_sanitize("address")))
#endif
#endif
void run_thread(void* context, int number) {
  auto* block = static_cast<Block*>(context);
  const tenon_simt_thread t = thread_of(*block, number);
  block->launch->kernel->entry(block->arguments, &t);
}

// Blocks of one launch, taken by workers one after the other.
class Grid {
 public:
  explicit Grid(const Launch& launch)
      : launch_(launch),
        arguments_(launch.arguments),
        threads_(launch.block[0] * launch.block[1] * launch.block[2]),
        blocks_(uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2]) {}

  Status run() {
    const uint64_t all = blocks_ * threads_;
    const uint64_t most = all <= kFewThreads ? 1 : std::min<uint64_t>(blocks_, workers());
    std::vector<std::thread> others;
    for (uint64_t i = 1; i < most; ++i) others.emplace_back([this] { work(); });
    work();
    for (std::thread& t : others) t.join();
    return status_;
  }

 private:
  static uint64_t workers() {
    return std::clamp(std::thread::hardware_concurrency(), 1U, kMostWorkers);
  }
  void work();
  bool run_block(Block& block, Fibers& fibers);

  const Launch& launch_;
  std::vector<void*> arguments_;
  const uint32_t threads_;
  const uint64_t blocks_;
  std::atomic<uint64_t> next_{0};
  std::atomic<Status> status_{runtime::cuda::kSuccess};
};

void Grid::work() {
  thread_local Fibers fibers;  // keeps its stacks for the next launch
  // A kernel finds nothing there at first that it could use.
  const size_t bytes = (launch_.shared_bytes + 127) / 64 * 64;
  const std::unique_ptr<char, decltype(&std::free)> shared(
      static_cast<char*>(std::aligned_alloc(64, bytes)), &std::free);
  for (uint64_t i = next_++; i < blocks_ && status_ == runtime::cuda::kSuccess; i = next_++) {
    std::memset(shared.get(), 0xFF, bytes);
    Block block{&launch_, arguments_.data(), {}};
    block.first.block[0] = static_cast<int32_t>(i % launch_.grid[0]);
    block.first.block[1] = static_cast<int32_t>(i / launch_.grid[0] % launch_.grid[1]);
    block.first.block[2] = static_cast<int32_t>(i / launch_.grid[0] / launch_.grid[1]);
    block.first.shared = shared.get();
    block.first.barrier = &Fibers::wait;
    block.first.exchange = &Fibers::exchange;
    block.first.self = &fibers;
    if (!run_block(block, fibers)) status_ = runtime::cuda::kLaunchFailed;
  }
}

bool Grid::run_block(Block& block, Fibers& fibers) {
  const int threads = static_cast<int>(threads_);
  if (launch_.kernel->about.has_barriers == 0) {
    for (int i = 0; i < threads; ++i) run_thread(&block, i);
    return true;
  }
  const int waiting = fibers.run(threads, &run_thread, &block);
  if (waiting == 0) return true;
  const int32_t* at = block.first.block;
  if (waiting < 0) {
    std::fprintf(stderr, "simt: there is no memory for the stacks of %d threads\n", threads);
  } else {
    std::fprintf(stderr,
                 "simt: kernel %s, block (%d, %d, %d): %d of %d threads wait at a barrier or an "
                 "exchange that the others do not reach\n",
                 launch_.kernel->name.c_str(), at[0], at[1], at[2], waiting, threads);
  }
  return false;
}

bool fits(const Launch& launch) {
  const auto none = [](uint32_t n) { return n == 0; };
  if (std::any_of(launch.grid, launch.grid + 3, none) ||
      std::any_of(launch.block, launch.block + 3, none)) {
    return false;
  }
  const uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  return threads <= kMostThreads && launch.block[2] <= 64 && launch.grid[1] <= 65535 &&
         launch.grid[2] <= 65535 && launch.shared_bytes <= launch.kernel->most_shared_bytes;
}

}  // namespace

Status run(const Launch& launch) {
  return fits(launch) ? Grid(launch).run() : runtime::cuda::kInvalidValue;
}

}  // namespace tenon::simt
