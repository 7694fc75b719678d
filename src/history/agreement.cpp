// SPDX-License-Identifier: Apache-2.0
#include "history/agreement.h"

#include <cmath>
#include <map>
#include <utility>

#include "cost/model.h"

namespace tenon::history {

Agreement agreement(const std::vector<Known>& one, const std::vector<Known>& other) {
  std::map<std::pair<std::string, uint64_t>, double> seconds;  // by task and trace
  for (const Known& k : one) {
    for (const Entry& e : k.entries) seconds[{k.task.key, schedule::hash(e.trace)}] = e.seconds;
  }
  std::vector<float> predicted;
  std::vector<cost::Sample> measured;
  double squares = 0;
  for (const Known& k : other) {
    for (const Entry& e : k.entries) {
      const auto it = seconds.find({k.task.key, schedule::hash(e.trace)});
      if (it == seconds.end() || !std::isfinite(it->second) || !std::isfinite(e.seconds)) continue;
      const double difference = std::log(it->second / e.seconds);
      squares += difference * difference;
      predicted.push_back(static_cast<float>(-std::log(it->second)));
      measured.push_back({{}, k.task.key, e.seconds});
    }
  }
  Agreement out;
  out.programs = std::ssize(measured);
  if (measured.empty()) return out;
  out.deviation = std::sqrt(squares / 2 / static_cast<double>(measured.size()));
  const auto first = cost::ranking_quality(predicted, measured, 1);
  const auto five = cost::ranking_quality(predicted, measured, 5);
  std::map<std::string, int> programs;
  for (const cost::Sample& s : measured) ++programs[s.task];
  for (const auto& [task, n] : programs) out.scores.tasks += n >= 2 ? 1 : 0;
  out.scores.top1 = first.top_k_score;
  out.scores.top5 = five.top_k_score;
  out.scores.pairwise = first.pairwise_accuracy;
  return out;
}

}  // namespace tenon::history
