// SPDX-License-Identifier: Apache-2.0
#include "report/network/network.h"

#include <algorithm>

#include "support/check.h"
#include "task/task.h"

namespace tenon::report {

std::optional<double> cost_s(const NetworkNode& n) {
  if (n.measured_s || n.kind != NodeKind::kConversion) return n.measured_s;
  return static_cast<double>(n.moved_bytes) / task::kConvertedBytesPerS;
}

Conversions conversions(const Network& n) {
  Conversions all;
  for (const NetworkNode& node : n.nodes) {
    if (node.kind != NodeKind::kConversion) continue;
    ++all.count;
    all.recorded += node.by_record ? 1 : 0;
    all.estimated += node.measured_s ? 0 : 1;
    all.bytes += node.moved_bytes;
    all.seconds += cost_s(node).value_or(0);
  }
  return all;
}

std::vector<std::pair<std::string, size_t>> algorithms_used(const Network& n) {
  std::map<std::string, size_t> counts;
  for (const NetworkNode& node : n.nodes) {
    if (!node.algorithm.empty()) ++counts[node.algorithm];
  }
  std::vector<std::pair<std::string, size_t>> uses(counts.begin(), counts.end());
  std::sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return uses;
}

std::vector<LayoutUse> layouts_used(const Network& n) {
  std::vector<LayoutUse> uses;
  for (const NetworkNode& node : n.nodes) {
    for (const StoredTensor& t : node.outputs) {
      auto it = std::find_if(uses.begin(), uses.end(),
                             [&](const LayoutUse& u) { return u.layout == t.layout; });
      if (it == uses.end()) it = uses.insert(uses.end(), {t.layout, 0, 0});
      ++it->tensors;
      it->bytes += t.bytes;
    }
  }
  return uses;
}

void set_times(Network& n, const std::vector<double>& seconds, int threads, double run_s) {
  n.threads = threads;
  n.run_s = run_s;
  for (NetworkNode& node : n.nodes) {
    if (!node.step) continue;
    TENON_CHECK(*node.step < seconds.size()) << "no time of step " << *node.step;
    node.measured_s = seconds[*node.step];
    node.by_record = false;
  }
}

void set_recorded(Network& n, const std::map<std::string, double>& seconds) {
  for (NetworkNode& node : n.nodes) {
    const auto it = seconds.find(node.task);
    if (node.kind != NodeKind::kConversion || node.measured_s || it == seconds.end()) continue;
    node.measured_s = it->second;
    node.by_record = true;
  }
}

}  // namespace tenon::report
