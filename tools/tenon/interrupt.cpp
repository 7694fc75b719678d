// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/interrupt.h"

#include <time.h>
#include <unistd.h>

#include <atomic>

#include "tools/tenon/command.h"

namespace tenon::tools {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

// A signal handler can reach nothing else. 0: not asked; otherwise when, in nanoseconds.
std::atomic<int64_t> asked_at = 0;  // NOLINT
static_assert(std::atomic<int64_t>::is_always_lock_free);

// `timeout` and the like send one signal to the process and to its group: that is one wish.
constexpr int64_t kSameWishNs = 200'000'000;

void on_signal(int) {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t ns = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  int64_t first = 0;
  if (!asked_at.compare_exchange_strong(first, ns) && ns - first > kSameWishNs) {
    _exit(kExitInterrupted);
  }
}

}  // namespace

Interrupt::Interrupt() {
  asked_at = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &action, &before_[i]);
    // A shell that starts something in the background lets it ignore Ctrl-C, which is meant for others; nohup lets it
    // ignore that its terminal is gone.
    if (kSignals[i] != SIGTERM && before_[i].sa_handler == SIG_IGN) {
      sigaction(kSignals[i], &before_[i], nullptr);
    }
  }
}

Interrupt::~Interrupt() {
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &before_[i], nullptr);
  }
}

bool Interrupt::asked() const { return asked_at != 0; }

}  // namespace tenon::tools
