// SPDX-License-Identifier: Apache-2.0
#include "order.h"

#include <algorithm>
#include <utility>

namespace tenon {
namespace {

template <class T>
void shuffle(std::vector<T>& v, agent::Random& random) {
  for (size_t i = v.size(); i > 1; --i) {
    const auto j = static_cast<size_t>(random.unit() * static_cast<double>(i));
    std::swap(v[i - 1], v[std::min(i - 1, j)]);
  }
}

}  // namespace

Order::Order(const std::vector<int64_t>& lessons, const uint32_t* tasks, size_t of_one_task,
             agent::Random& random)
    : random_(random), of_one_task_(of_one_task) {
  for (const int64_t i : lessons) tasks_[tasks[i]].push_back(i);
}

std::vector<int64_t> Order::next(size_t minibatch) {
  std::vector<int64_t> batch;
  while (batch.size() < minibatch && (batch.empty() || !runs_.empty())) {
    if (runs_.empty()) shuffle_all();
    batch.insert(batch.end(), runs_.back().begin(), runs_.back().end());
    runs_.pop_back();
  }
  return batch;
}

// Runs of a task are about equally long: none is left with a single lesson.
void Order::shuffle_all() {
  for (auto& of_task : tasks_) {
    std::vector<int64_t>& lessons = of_task.second;
    shuffle(lessons, random_);
    const size_t runs = (lessons.size() + of_one_task_ - 1) / of_one_task_;
    const auto at = [&](size_t run) {
      return lessons.begin() + static_cast<std::ptrdiff_t>(run * lessons.size() / runs);
    };
    for (size_t r = 0; r < runs; ++r) runs_.emplace_back(at(r), at(r + 1));
  }
  shuffle(runs_, random_);
}

}  // namespace tenon
