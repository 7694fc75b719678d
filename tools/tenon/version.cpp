// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "target/target.h"
#include "tools/tenon/command.h"

namespace tenon::tools {
namespace {

int print_version(bool json) {
  const target::Target host = target::host_target();
  if (!json) {
    fmt::print(
        "tenon {}\nhost: {}, {}, {} cores, {}-byte vectors, L1d {} KiB, L2 {} KiB, L3 {} KiB\n",
        TENON_VERSION, host.cpu, host.machine, host.cores, host.vector_bytes, host.l1d_bytes / 1024,
        host.l2_bytes / 1024, host.l3_bytes / 1024);
    return 0;
  }
  const nlohmann::ordered_json answer = {{"schema", "tenon.version/1"},
                                         {"version", TENON_VERSION},
                                         {"host",
                                          {{"cpu", host.cpu},
                                           {"machine", host.machine},
                                           {"cores", host.cores},
                                           {"vector_bytes", host.vector_bytes},
                                           {"l1d_bytes", host.l1d_bytes},
                                           {"l2_bytes", host.l2_bytes},
                                           {"l3_bytes", host.l3_bytes},
                                           {"fingerprint", host.fingerprint()}}}};
  fmt::print("{}\n", answer.dump(2));
  return 0;
}

}  // namespace

Run add_version(CLI::App& command) {
  const auto json = std::make_shared<bool>(false);
  command.add_flag("--json", *json, "Print one JSON document");
  return [json] { return print_version(*json); };
}

}  // namespace tenon::tools
