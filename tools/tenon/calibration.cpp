// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/calibration.h"

#include <filesystem>

#include "files/file.h"
#include "files/folder.h"
#include "support/check.h"
#include "tools/tenon/db_source.h"

namespace tenon::tools {

namespace fs = std::filesystem;

std::string calibration_file() {
  return (fs::path(default_db_file()).parent_path() / "calibration").string();
}

std::optional<timing::Calibration> saved_calibration() try {
  const std::string file = calibration_file();
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  return timing::read_calibration(files::read_file(file), target::host_target());
} catch (const UserError&) {
  return std::nullopt;  // no home, or a file that may not be read: as if nothing had been measured
}

void make_calibration_folder() {
  files::make_folder(fs::path(calibration_file()).parent_path(),
                     "set XDG_STATE_HOME to a folder that can be written");
}

void save(const timing::Calibration& c) {
  make_calibration_folder();
  files::write_file(calibration_file(), timing::to_text(c));
}

target::Target with_calibration(target::Target t) {
  if (t.name != "host") return t;
  if (const auto c = saved_calibration()) t.cpu().rates = timing::rates_of(*c);
  return t;
}

}  // namespace tenon::tools
