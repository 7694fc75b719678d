// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/completion.h"

#include <memory>

#include "tools/tenon/command.h"
#include "tools/tenon/json.h"

namespace tenon::tools {

Run add_completion(CLI::App& command, Console& console) {
  const auto shell = std::make_shared<std::string>();
  command.add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  return [&command, &console, shell] {
    const CLI::App& root = *command.get_parent();
    const std::string script = *shell == "bash"  ? bash_completion(root)
                               : *shell == "zsh" ? zsh_completion(root)
                                                 : fish_completion(root);
    console.answer(
        console.json()
            ? to_text(Json{{"schema", "tenon.completion/1"}, {"shell", *shell}, {"script", script}})
            : script);
    return kExitOk;
  };
}

}  // namespace tenon::tools
