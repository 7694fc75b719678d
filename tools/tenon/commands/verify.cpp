// SPDX-License-Identifier: Apache-2.0
#include "artifact/verify.h"

#include <fmt/format.h>

#include <memory>

#include "support/text.h"
#include "tools/tenon/command.h"
#include "tools/tenon/json.h"

namespace tenon::tools {
namespace {

Json to_json(const artifact::Verified& v) {
  Json files = Json::array();
  for (const artifact::FileState& f : v.files) {
    files.push_back({{"name", f.name}, {"bytes", f.bytes}, {"problem", f.problem}});
  }
  return {{"schema", "tenon.verify/1"}, {"model", v.name},
          {"manifest", v.manifest},     {"files", files},
          {"problems", v.problems()},   {"not_loaded", v.not_loaded}};
}

std::string to_text(const artifact::Verified& v) {
  std::string text;
  for (const artifact::FileState& f : v.files) {
    text += f.problem.empty() ? fmt::format("{}: {} bytes, as written\n", f.name, grouped(f.bytes))
                              : fmt::format("{} {}\n", f.name, f.problem);
  }
  if (!v.not_loaded.empty()) {
    text += fmt::format("the library was not asked: {}\n", v.not_loaded);
  }
  return text;
}

int run_command(const std::string& path, const Console& console) {
  const artifact::Verified v = artifact::verify(path);
  console.answer(console.json() ? tools::to_text(to_json(v)) : to_text(v));
  if (v.problems() > 0) {
    throw UserError(
        v.manifest.string(), 0, 0,
        fmt::format("{} of {} files are not as they were written", v.problems(), v.files.size()),
        "compile the model again");
  }
  return kExitOk;
}

}  // namespace

Run add_verify(CLI::App& command, Console& console) {
  const auto path = std::make_shared<std::string>();
  command.add_option("artifact", *path, "Folder of an artifact, or its manifest")
      ->required()
      ->type_name("DIR");
  return [path, &console] { return run_command(*path, console); };
}

}  // namespace tenon::tools
