// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>

#include "tools/tenon/cli.h"

int main(int argc, char** argv) {
  using namespace tenon::tools;
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
