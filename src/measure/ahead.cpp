// SPDX-License-Identifier: Apache-2.0
#include "measure/ahead.h"

#include "measure/cores.h"
#include "support/check.h"

namespace tenon::measure {

Ahead::Ahead(int threads, std::vector<int> cpus, std::function<void(const task::Task&)> make)
    : make_(std::move(make)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this, cpus] { work(cpus); });
}

Ahead::~Ahead() {
  {
    const std::scoped_lock lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void Ahead::add(const task::Task& t) {
  if (threads_.empty()) return;
  const std::scoped_lock lock(mutex_);
  waiting_.push_back(t);
  changed_.notify_one();
}

void Ahead::work(const std::vector<int>& cpus) {
  const KeepTo here(cpus);
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return over_ || !waiting_.empty(); });
    if (over_) return;
    const task::Task t = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    try {
      make_(t);
    } catch (const std::exception&) {  // whoever asks for it is told
    }
  }
}

}  // namespace tenon::measure
