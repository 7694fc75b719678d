// SPDX-License-Identifier: Apache-2.0
#include "artifact/commands.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tools/run_command.h"

namespace tenon::artifact {

const Words kStrictC = {
    "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wstrict-prototypes", "-Werror"};

void run_ok(Words args, const Words& more) {
  args.insert(args.end(), more.begin(), more.end());
  output_of(std::move(args));
}

std::string output_of(Words args) {
  args.insert(args.begin(), "/usr/bin/env");
  const auto done = testing::run_command(args);
  EXPECT_EQ(done.exit_code, 0) << args[1] << "\n" << done.out << done.err;
  return done.out;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::string expected_print(const Chain& net) {
  std::vector<ir::Array> ones;
  for (const TensorInfo& t : net.program().inputs) {
    ones.emplace_back(t.dtype, t.shape);
    for (int64_t i = 0; i < ones.back().elements(); ++i) {
      ones.back().set_double(i, 1);
    }
  }
  std::string text;
  const auto results = net.expected(ones);
  for (size_t k = 0; k < results.size(); ++k) {
    text += net.program().outputs[k].name + ":";
    for (int64_t i = 0; i < 5; ++i) {
      text += fmt::format(" {:.5f}", results[k].get_double(i));
    }
    text += "\n";
  }
  return text;
}

}  // namespace tenon::artifact
