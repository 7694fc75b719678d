// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/compare/reference_command.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "support/check.h"

namespace tenon::tools {

void run_reference_command(const std::string& command, const std::string& inputs,
                           const std::string& outputs) {
  std::string line = command;
  bool named = false;
  for (const auto& [hole, file] : {std::pair{"{inputs}", &inputs}, {"{outputs}", &outputs}}) {
    for (size_t at = line.find(hole); at != std::string::npos; at = line.find(hole)) {
      line.replace(at, std::string_view(hole).size(), *file);
      named = true;
    }
  }
  if (!named) {
    line += " " + inputs + " " + outputs;
  }
  // Its stdout must not mix with the answer.
  const int status = std::system(("( " + line + " ) 1>&2").c_str());
  if (status != 0) {
    throw UserError(fmt::format("the reference command failed with code {}: {}",
                                WIFEXITED(status) ? WEXITSTATUS(status) : -1, command));
  }
  if (!std::filesystem::exists(outputs)) {
    throw UserError(fmt::format("the reference command wrote no {}", outputs),
                    "it is given the names of two .npz files: inputs to read and outputs to write");
  }
}

}  // namespace tenon::tools
