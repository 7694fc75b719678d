// SPDX-License-Identifier: Apache-2.0
// Makes the right answers of tasks before anybody asks for them: on cores that are to spare, in the order of the tasks.
//
//   Ahead ahead(2, cpus, [&](const task::Task& t) { references.cases(t); });
//   ahead.add(task);
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "task/task.h"

namespace tenon::measure {

class Ahead {
 public:
  // No threads: nothing is made ahead. They stay on `cpus`; empty: any.
  Ahead(int threads, std::vector<int> cpus, std::function<void(const task::Task&)> make);
  // What is being made comes to its end, the rest is left.
  ~Ahead();
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  void add(const task::Task& t);

 private:
  void work(const std::vector<int>& cpus);

  std::function<void(const task::Task&)> make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<task::Task> waiting_;
  bool over_ = false;
  std::vector<std::thread> threads_;  // the last: they use the others
};

}  // namespace tenon::measure
