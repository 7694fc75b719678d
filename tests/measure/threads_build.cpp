// SPDX-License-Identifier: Apache-2.0
// tenon-build whose programs with a parallel loop all are tells_threads.c; the others are compiled as asked.
#include "files/file.h"
#include "measure/build.h"

namespace tenon::measure {
namespace {

void tell_threads(const Message& request, Message& answer) {
  if (answer[0] == kBuilt && request.back().find("\"parallel\"") != std::string::npos)
    answer[1] = files::read_file(TENON_TELLS_THREADS);
}

}  // namespace
}  // namespace tenon::measure

int main(int argc, char** argv) {
  return tenon::measure::serve_builds(argc, argv, {}, tenon::measure::tell_threads);
}
