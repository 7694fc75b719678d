// SPDX-License-Identifier: Apache-2.0
#include <lld/Common/Driver.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/Signals.h>
#include <signal.h>

#include <array>
#include <mutex>

#include "backend/objects.h"
#include "support/check.h"

LLD_HAS_DRIVER(elf)

namespace tenon::backend {
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

// LLVM answers SIGINT and the like by deleting what it is writing, and lld then ends the process. It sets its
// handlers once; so it is made to set them now, and the ones before are put back for good.
void keep_signal_handlers() {
  std::array<struct sigaction, NSIG> before;
  for (int i = 1; i < NSIG; ++i) {
    sigaction(i, nullptr, &before[static_cast<size_t>(i)]);
  }
  const std::string none = "/";
  llvm::sys::RemoveFileOnSignal(none);
  llvm::sys::DontRemoveFileOnSignal(none);
  for (int i = 1; i < NSIG; ++i) {
    sigaction(i, &before[static_cast<size_t>(i)], nullptr);
  }
}

// Without it lld ends the process where it cannot go on.
class ErrorsReturn {
 public:
  ErrorsReturn() { llvm::CrashRecoveryContext::Enable(); }
  ~ErrorsReturn() { llvm::CrashRecoveryContext::Disable(); }
  ErrorsReturn(const ErrorsReturn&) = delete;
  ErrorsReturn& operator=(const ErrorsReturn&) = delete;
};

}  // namespace

void link(const LinkJob& job) {
  static std::mutex one_at_a_time;  // lld keeps its state in globals
  static bool usable = true;        // and leaves it as it is where it cannot go on
  const std::lock_guard lock(one_at_a_time);
  if (!usable) throw UserError("cannot link again after an error", "run the same command again");
  static const bool once = (keep_signal_handlers(), true);
  static_cast<void>(once);
  const ErrorsReturn errors_return;
  const std::vector<std::string> args = arguments(job);
  std::vector<const char*> pointers;
  pointers.reserve(args.size());
  for (const std::string& a : args) {
    pointers.push_back(a.c_str());
  }
  std::string text;
  llvm::raw_string_ostream out(text);
  const lld::Result result = lld::lldMain(pointers, out, out, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  TENON_CHECK(text.find("undefined symbol") == std::string::npos) << text;
  if (result.retCode != 0) {
    throw UserError("cannot link " + job.output.string() + ": " + text);
  }
}

}  // namespace tenon::backend
