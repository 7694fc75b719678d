// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "target/target.h"
#include "tools/tenon/command.h"
#include "tools/tenon/json.h"

namespace tenon::tools {
namespace {

std::string version_text(const target::Target& host) {
  return fmt::format(
      "tenon {}\nLLVM {}\nhost: {}, {}, {} cores, {}-byte vectors, L1d {} KiB, L2 {} KiB, L3 {} "
      "KiB\n",
      TENON_VERSION, TENON_LLVM_VERSION, host.cpu, host.machine, host.cores, host.vector_bytes,
      host.l1d_bytes / 1024, host.l2_bytes / 1024, host.l3_bytes / 1024);
}

Json version_json(const target::Target& host) {
  return {{"schema", "tenon.version/1"},
          {"version", TENON_VERSION},
          {"llvm", TENON_LLVM_VERSION},
          {"host",
           {{"cpu", host.cpu},
            {"machine", host.machine},
            {"cores", host.cores},
            {"vector_bytes", host.vector_bytes},
            {"l1d_bytes", host.l1d_bytes},
            {"l2_bytes", host.l2_bytes},
            {"l3_bytes", host.l3_bytes},
            {"fingerprint", host.fingerprint()}}}};
}

}  // namespace

Run add_version(CLI::App&, Console& console) {
  return [&console] {
    const target::Target host = target::host_target();
    console.answer(console.json() ? to_text(version_json(host)) : version_text(host));
    return kExitOk;
  };
}

}  // namespace tenon::tools
