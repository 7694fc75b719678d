// SPDX-License-Identifier: Apache-2.0
// tenon-build whose n-th new program misbehaves as TENON_FAULT_PLAN says: "0 - 8 -" makes the first of each four fault 0
// of tests/measure/faults.h, the third fault 8, the others good. What a program does it does for ever: the folder
// TENON_FAULT_MEMORY remembers it.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <vector>

#include "measure/build.h"
#include "measure/faults.h"
#include "support/hash.h"

namespace tenon::measure {
namespace {

namespace fs = std::filesystem;

constexpr int kGood = -1;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<int> plan() {
  std::istringstream words(variable("TENON_FAULT_PLAN"));
  std::vector<int> faults;
  for (std::string word; words >> word;) {
    faults.push_back(word == "-" ? kGood : std::atoi(word.c_str()));
  }
  return faults;
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool create(const fs::path& path) {
  const int fd = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

// Which one it is among those that were seen, by files that only one process can make.
int number_of(const std::string& program) {
  const fs::path folder = variable("TENON_FAULT_MEMORY");
  const fs::path known = folder / fmt::format("p{:016x}", Hasher().add(program).value());
  if (const std::string n = read(known); !n.empty()) return std::atoi(n.c_str());
  int n = 0;
  while (!create(folder / fmt::format("n{}", n))) ++n;
  const fs::path mine = folder / fmt::format("t{}", getpid());
  std::ofstream(mine) << n;
  fs::rename(mine, known);
  return n;
}

// The definition, which programs are compared with, is always good.
int fault_of(const Message& request) {
  const std::vector<int> faults = plan();
  if (faults.empty() || request.back() == "[]") return kGood;
  return faults[static_cast<size_t>(number_of(request[1] + request.back())) % faults.size()];
}

[[noreturn]] void eat_memory() {
  std::vector<std::unique_ptr<char[]>> eaten;
  for (;;) eaten.push_back(std::make_unique_for_overwrite<char[]>(size_t{16} << 20));
}

void limit_files(rlim_t bytes) {
  rlimit limit = {};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  setrlimit(RLIMIT_FSIZE, &limit);
}

// Files can be written while a program is new, and none when it is built again.
void fill_disk(const Message& request) {
  const fs::path folder = variable("TENON_FAULT_MEMORY");
  const auto program = Hasher().add(request[1] + request.back()).value();
  limit_files(RLIM_INFINITY);
  if (create(folder / fmt::format("b{:016x}", program))) return;
  signal(SIGXFSZ, SIG_IGN);
  limit_files(0);
}

std::optional<Message> misbehave(const Message& request) {
  limit_files(RLIM_INFINITY);
  switch (fault_of(request)) {
    case kCompilerHangs:
      for (;;) pause();
    case kCompilerEatsMemory:
      eat_memory();
    case kCompilerCrashes:
      std::abort();
    case kCompilerBabbles:
      return Message{"what", "is", "this"};
    case kNoRoomAgain:
      fill_disk(request);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// Its parameters stay, its code becomes that of faults.c.
void spoil(const Message& request, Message& answer) {
  const int fault = fault_of(request);
  if (fault == kGood || fault >= kCompilerHangs || answer[0] != kBuilt) return;
  answer[1] = read(fs::path(TENON_FAULTS) / fmt::format("fault{}.so", fault));
}

}  // namespace
}  // namespace tenon::measure

int main(int argc, char** argv) {
  return tenon::measure::serve_builds(argc, argv, tenon::measure::misbehave, tenon::measure::spoil);
}
