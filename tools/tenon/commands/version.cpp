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
      TENON_VERSION, TENON_LLVM_VERSION, host.cpu().processor, host.machine, host.cpu().cores,
      host.cpu().vector_bytes, host.cpu().l1d_bytes / 1024, host.cpu().l2_bytes / 1024,
      host.cpu().l3_bytes / 1024);
}

Json version_json(const target::Target& host) {
  return {{"schema", "tenon.version/1"},
          {"version", TENON_VERSION},
          {"llvm", TENON_LLVM_VERSION},
          {"host",
           {{"cpu", host.cpu().processor},
            {"machine", host.machine},
            {"cores", host.cpu().cores},
            {"vector_bytes", host.cpu().vector_bytes},
            {"l1d_bytes", host.cpu().l1d_bytes},
            {"l2_bytes", host.cpu().l2_bytes},
            {"l3_bytes", host.cpu().l3_bytes},
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
