// SPDX-License-Identifier: Apache-2.0
#include "report/network/network_records.h"

#include <map>

namespace tenon::report {

void add_records(Network& network, const db::Database& db, const std::string& target,
                 const std::string& protocol) {
  std::map<std::string, double> seconds;
  for (const NetworkNode& n : network.nodes) {
    if (n.kind != NodeKind::kConversion || seconds.contains(n.task)) continue;
    if (const auto best = db.best({n.task, target, protocol, ""}, true)) {
      seconds[n.task] = best->median_s;
    }
  }
  set_recorded(network, seconds);
}

}  // namespace tenon::report
