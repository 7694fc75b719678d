// SPDX-License-Identifier: Apache-2.0
// Options that were not given on the command line but elsewhere: TENON_* in the environment, then ./tenon.toml, then
// $XDG_CONFIG_HOME/tenon/config.toml. They become arguments in front of the user's own.
//
//   TENON_THREADS=2 tenon bench m.onnx   =>   tenon bench --threads=2 m.onnx
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tenon::tools {

// Long option (without dashes) -> its value; what has no entry has no setting.
using Settings = std::map<std::string, std::string>;

// Who wrote a file decides what it may say: one that lies in the current folder came with it, from anybody.
struct SettingsFile {
  std::string path;
  bool from_here = false;
  std::string own_path;  // of the user's own file; empty: there is none
};

// Keys at the top of the file hold for every command that has the option, keys of [COMMAND] for that one. A key that
// is no option of anything, or of its command, is a UserError with the file's name and the nearest option; so is one
// that a file of the current folder may not set, because it names a file, a folder or a program.
Settings read_settings_file(const SettingsFile& file, const std::string& text, const CLI::App& root,
                            const std::string& command);

using GetEnv = std::function<const char*(const char*)>;

// `args` without the program's name, with what the surroundings say about options of the command that it names.
std::vector<std::string> with_settings(const std::vector<std::string>& args, const CLI::App& root,
                                       const GetEnv& env);

}  // namespace tenon::tools
