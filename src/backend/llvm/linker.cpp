// SPDX-License-Identifier: Apache-2.0
#include <lld/Common/Driver.h>

#include <mutex>

#include "backend/objects.h"
#include "support/check.h"

LLD_HAS_DRIVER(elf)

namespace tenon::backend::llvm_cpu {
namespace {

std::vector<std::string> arguments(const LinkJob& job) {
  std::vector<std::string> args = {"ld.lld", "-o", job.output, "--threads=1"};
  if (job.soname.empty()) {
    args.emplace_back("-r");
  } else {
    args.insert(args.end(), {"-shared", "-soname", job.soname, "--hash-style=gnu",
                             "--build-id=none", "-z", "now", "-z", "relro"});
    if (!job.open) args.emplace_back("--no-undefined");
  }
  args.insert(args.end(), {"--whole-archive", job.archive, "--no-whole-archive"});
  args.insert(args.end(), job.needed.begin(), job.needed.end());
  return args;
}

}  // namespace

void link(const LinkJob& job) {
  static std::mutex one_at_a_time;  // lld keeps its state in globals
  const std::lock_guard lock(one_at_a_time);
  const std::vector<std::string> args = arguments(job);
  std::vector<const char*> pointers;
  pointers.reserve(args.size());
  for (const std::string& a : args) {
    pointers.push_back(a.c_str());
  }
  std::string text;
  llvm::raw_string_ostream out(text);
  const lld::Result result = lld::lldMain(pointers, out, out, {{lld::Gnu, &lld::elf::link}});
  TENON_CHECK(result.canRunAgain && text.find("undefined symbol") == std::string::npos) << text;
  if (result.retCode != 0) {
    throw UserError("cannot link " + job.output.string() + ": " + text);
  }
}

}  // namespace tenon::backend::llvm_cpu
