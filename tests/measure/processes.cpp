// SPDX-License-Identifier: Apache-2.0
#include "measure/processes.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace tenon::testing {
namespace {

struct Status {
  char state = 'X';
  pid_t parent = 0;
};

// /proc/PID/stat: "pid (name) state parent ..."; the name may have anything in it.
Status status_of(const std::string& pid) {
  std::ifstream in("/proc/" + pid + "/stat");
  std::string line;
  std::getline(in, line);
  const size_t close = line.rfind(')');
  if (close == std::string::npos || close + 4 > line.size()) return {};
  return {line[close + 2], static_cast<pid_t>(std::atoi(line.c_str() + close + 4))};
}

}  // namespace

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> pids;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos &&
        status_of(name).parent == parent) {
      pids.push_back(static_cast<pid_t>(std::atoi(name.c_str())));
    }
  }
  return pids;
}

bool runs(pid_t pid) {
  const char state = status_of(std::to_string(pid)).state;
  return state != 'X' && state != 'Z';
}

bool gone_within(const std::vector<pid_t>& pids, double seconds) {
  for (int i = 0; i < static_cast<int>(seconds * 100); ++i) {
    if (std::none_of(pids.begin(), pids.end(), runs)) return true;
    usleep(10'000);
  }
  return false;
}

}  // namespace tenon::testing
