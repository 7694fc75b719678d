// SPDX-License-Identifier: Apache-2.0
// Tasks for tests of spaces and strategies.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "task/task.h"
#include "te/ops.h"

namespace tenon::search {

using Build = std::function<void(te::Builder&)>;

// Edges in plain order unless given.
task::Task make_task(const Build& build, const std::string& target = "x86-64-v3 cores=4",
                     const std::map<std::string, layout::Layout>& edges = {});

// A convolution of sequences, kernel 3, by F(2, 3): two transforms by constant matrices around a product.
void winograd(te::Builder& b, int64_t channels, int64_t filters, int64_t tiles);

struct NamedTask {
  std::string name;
  task::Task task;
};
inline void PrintTo(const NamedTask& t, std::ostream* out) { *out << t.name; }

// Every kind of op that spaces tell apart, small and of odd sizes.
std::vector<NamedTask> small_tasks();

}  // namespace tenon::search
