// SPDX-License-Identifier: Apache-2.0
#include "history/machines.h"

#include <map>
#include <utility>

#include "support/hash.h"

namespace tenon::history {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

class Joiner {
 public:
  explicit Joiner(size_t machines) : machines_(machines) {}

  void add(Records records, size_t machine) {
    out_.rows += records.rows;
    if (out_.left_out == 0) out_.why = records.why;
    out_.left_out += records.left_out;
    for (Known& k : records.tasks) {
      const size_t task = task_of(k);
      for (Entry& e : k.entries) add(task, std::move(e), machine);
    }
  }

  Joined take() {
    std::vector<std::vector<size_t>> of_task(out_.tasks.size());
    for (size_t i = 0; i < out_.programs.size(); ++i) of_task[out_.programs[i].task].push_back(i);
    std::vector<JoinedProgram> sorted;
    for (const auto& programs : of_task) {
      for (const size_t i : programs) sorted.push_back(std::move(out_.programs[i]));
    }
    out_.programs = std::move(sorted);
    return std::move(out_);
  }

 private:
  size_t task_of(const Known& k) {
    const auto [it, fresh] = tasks_.emplace(k.task.key, out_.tasks.size());
    if (fresh) {
      out_.tasks.push_back(k.task);
      out_.computations.push_back(k.computation());
    }
    return it->second;
  }

  void add(size_t task, Entry e, size_t machine) {
    const auto [it, fresh] =
        programs_.emplace(std::pair(task, schedule::to_json(e.trace)), out_.programs.size());
    if (fresh) {
      out_.programs.push_back({task, std::move(e.trace), std::move(e.choices),
                               std::vector<double>(machines_, kUnknown)});
    }
    out_.programs[it->second].seconds[machine] = e.seconds;
  }

  size_t machines_;
  Joined out_;
  std::map<std::string, size_t> tasks_;
  std::map<std::pair<size_t, std::string>, size_t> programs_;
};

}  // namespace

Joined join_machines(const db::Database& db, std::span<const Where> machines,
                     const Limits& limits) {
  Joiner joiner(machines.size());
  for (size_t m = 0; m < machines.size(); ++m) {
    Where where = machines[m];
    where.target = machines[0].target;
    joiner.add(read_records(db, where, limits), m);
  }
  return joiner.take();
}

void keep_share(Joined& joined, size_t machine, double share, uint64_t seed) {
  constexpr uint64_t kOf = 1 << 20;
  const auto limit = static_cast<uint64_t>(share * static_cast<double>(kOf));
  for (JoinedProgram& p : joined.programs) {
    Hasher h;
    h.add(seed).add(joined.tasks[p.task].key).add(schedule::hash(p.trace));
    if (h.value() % kOf >= limit) p.seconds[machine] = kUnknown;
  }
}

}  // namespace tenon::history
