// SPDX-License-Identifier: Apache-2.0
#include "measure/beside.h"

#include "measure/cores.h"
#include "support/check.h"

namespace tenon::measure {

Beside::Beside(int threads, const std::vector<int>& cpus) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this, cpus] { serve(cpus); });
}

Beside::~Beside() {
  {
    const std::scoped_lock lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void Beside::add(std::function<void()> work) {
  if (threads_.empty()) return;
  const std::scoped_lock lock(mutex_);
  waiting_.push_back(std::move(work));
  changed_.notify_one();
}

void Beside::serve(const std::vector<int>& cpus) {
  const KeepTo here(cpus);
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return over_ || !waiting_.empty(); });
    if (over_) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    try {
      work();
    } catch (const std::exception&) {  // see `add`
    }
  }
}

}  // namespace tenon::measure
