// SPDX-License-Identifier: Apache-2.0
// Does what nobody waits for yet in threads of its own, in the order of asking: the right answers of tasks are made so
// before a program is compared with them, and programs are compared so while others are built.
//
//   Beside beside(2, cpus);
//   beside.add([&] { references.cases(task); });
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tenon::measure {

class Beside {
 public:
  // Without threads nothing is ever done. They stay on `cpus`; empty: any.
  Beside(int threads, const std::vector<int>& cpus);
  // The destructor waits for the work that has begun and leaves the rest.
  ~Beside();
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  // An exception of `work` is lost here; `work` itself must tell it to whoever asks for the result.
  void add(std::function<void()> work);

 private:
  void serve(const std::vector<int>& cpus);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool over_ = false;
  std::vector<std::thread> threads_;  // the last: they use the others
};

}  // namespace tenon::measure
