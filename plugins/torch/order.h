// SPDX-License-Identifier: Apache-2.0
// An endless order of lessons: runs of one task, shuffled anew when all were seen, so that each
// lesson has others of its task in its minibatch.
//
//   Order order(lessons, tasks, 16, random);
//   order.next(128);        // numbers of lessons
//   order.seen_all();       // the next minibatch begins anew
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "random.h"

namespace tenon {

class Order {
 public:
  // Tasks go by the numbers of lessons; `of_one_task` follow each other, at most.
  Order(const std::vector<int64_t>& lessons, const uint32_t* tasks, size_t of_one_task,
        agent::Random& random);

  // At least so many, if they are left.
  std::vector<int64_t> next(size_t minibatch);
  bool seen_all() const { return runs_.empty(); }

 private:
  void shuffle_all();

  agent::Random& random_;
  size_t of_one_task_;
  std::map<uint32_t, std::vector<int64_t>> tasks_;
  std::vector<std::vector<int64_t>> runs_;
};

}  // namespace tenon
