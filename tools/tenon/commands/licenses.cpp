// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/licenses.h"

#include <fmt/format.h>

#include <memory>

#include "tools/tenon/command.h"
#include "tools/tenon/json.h"

namespace tenon::tools {
namespace {

std::string table_text() {
  std::string text;
  for (const License& row : license_rows()) {
    text += fmt::format("{:<17} {:<34} {}\n", row.name, row.license, row.use);
  }
  return text + "tenon licenses --full prints the notices\n";
}

std::string full_text() {
  std::string text;
  for (const License& row : license_rows()) {
    text += fmt::format("==== {} ({})\n\n{}\n", row.name, row.license, row.text);
  }
  return text;
}

Json to_json(bool full) {
  Json parts = Json::array();
  for (const License& row : license_rows()) {
    Json part = {{"name", row.name}, {"license", row.license}, {"use", row.use}};
    if (full) {
      part["text"] = row.text;
    }
    parts.push_back(part);
  }
  return {{"schema", "tenon.licenses/1"}, {"parts", parts}};
}

}  // namespace

Run add_licenses(CLI::App& command, Console& console) {
  const auto full = std::make_shared<bool>(false);
  command.add_flag("--full", *full, "The notices themselves");
  return [full, &console] {
    if (console.json()) {
      console.answer(to_text(to_json(*full)));
    } else {
      console.answer(*full ? full_text() : table_text());
    }
    return kExitOk;
  };
}

}  // namespace tenon::tools
