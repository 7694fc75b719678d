// SPDX-License-Identifier: Apache-2.0
// tenon-build that does as told: a trace with an unroll limit of kFirstFault + N makes it answer with misbehaving kernel N, others make
// the compiler itself misbehave, all else is compiled.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "measure/build.h"
#include "measure/faults.h"

namespace tenon::measure {
namespace {

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Message answer_with(int kernel) {
  const std::string file = std::string(TENON_FAULTS) + "/fault" + std::to_string(kernel) + ".so";
  return {kBuilt, read(file), "64", "i f32 1024", "c f32 1024", "o f32 1024"};
}

[[noreturn]] void eat_memory() {
  // Not touched: the limit is one of addresses, and a busy machine takes seconds to find the pages.
  std::vector<std::unique_ptr<char[]>> eaten;
  for (;;) eaten.push_back(std::make_unique_for_overwrite<char[]>(size_t{16} << 20));
}

std::optional<Message> misbehave(const Message& request) {
  for (int fault = 0; fault < kFaults; ++fault) {
    if (request.back().find("," + std::to_string(kFirstFault + fault) + "]") == std::string::npos)
      continue;
    switch (fault) {
      case kCompilerHangs:
        for (;;) pause();
      case kCompilerEatsMemory:
        eat_memory();
      case kCompilerCrashes:
        std::abort();
      case kCompilerBabbles:
        return Message{"what", "is", "this"};
      case kLibraryIsRubbish:
        return Message{kBuilt, "rubbish", "0", "i f32 1024", "o f32 1024"};
      default:
        return answer_with(fault);
    }
  }
  return std::nullopt;
}

}  // namespace
}  // namespace tenon::measure

int main(int argc, char** argv) {
  return tenon::measure::serve_builds(argc, argv, tenon::measure::misbehave);
}
