// SPDX-License-Identifier: Apache-2.0
// One program with three names. As tenon it is the command line; as tenon-build it compiles
// candidates for the tuner in a process of its own, and LLVM is on the disk and in memory once; as
// tenon-compare it times two artifacts against each other. Where files cannot have two names, in a
// wheel, the other name is the first argument: tenon tenon-build ...
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "measure/build.h"
#include "measure/network_compare.h"
#include "tools/tenon/cli.h"

namespace {

// A file that is opened later must not become the standard error of somebody who closed it. What is opened here is the
// wrong way round, so that an answer that nobody can read is still an error.
void fill_standard_descriptors() {
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int fd = 0; fd < 3; ++fd) {
    if (fcntl(fd, F_GETFD) == -1) {
      open("/dev/null", kModes[fd]);  // takes the lowest number that is free
    }
  }
}

// Whoever writes to a pipe that nobody reads is told by the result. A handler, unlike SIG_IGN, is not inherited.
void live_with_broken_pipes() {
  struct sigaction now = {};
  struct sigaction told = {};
  told.sa_handler = [](int) {};
  told.sa_flags = SA_RESTART;
  if (sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
    sigaction(SIGPIPE, &told, nullptr);
  }
}

bool is_called(const char* path, std::string_view name) {
  const std::string_view p(path == nullptr ? "" : path);
  return p.substr(p.rfind('/') + 1) == name;  // npos + 1 is 0
}

int run_tenon(int argc, char** argv) {
  using namespace tenon::tools;
  fill_standard_descriptors();
  live_with_broken_pipes();
  const auto env = [](const char* name) -> const char* { return std::getenv(name); };
  const auto is_set = [&](const char* name) {
    const char* value = env(name);
    return value != nullptr && *value != '\0';
  };
  ConsoleOptions surroundings;
  surroundings.stderr_is_terminal = isatty(STDERR_FILENO) != 0;
  surroundings.plain_terminal =
      is_set("NO_COLOR") || (is_set("TERM") && std::string(env("TERM")) == "dumb");
  if (const int columns = is_set("COLUMNS") ? std::atoi(env("COLUMNS")) : 0; columns >= 40) {
    surroundings.columns = columns;
    surroundings.columns_given = true;
  }
  return run_cli({argv + 1, argv + argc}, surroundings, env);
}

}  // namespace

int main(int argc, char** argv) {
  const bool named =
      argc > 1 && (is_called(argv[1], "tenon-build") || is_called(argv[1], "tenon-compare"));
  if (named && is_called(argv[0], "tenon")) {
    --argc;
    ++argv;
  }
  if (is_called(argv[0], "tenon-build")) return tenon::measure::serve_builds(argc, argv);
  if (is_called(argv[0], "tenon-compare")) return tenon::measure::serve_comparisons(argc);
  return run_tenon(argc, argv);
}
