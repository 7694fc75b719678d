// SPDX-License-Identifier: Apache-2.0
// The command line as a user sees it: exit code, stdout, one line on stderr.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/run_command.h"

namespace tenon::testing {
namespace {

Outcome tenon(std::vector<std::string> args, const std::string& in = "") {
  args.insert(args.begin(), TENON_BINARY);
  return run_command(args, in);
}

TEST(Cli, BadCommandLines) {
  const struct {
    std::vector<std::string> args;
    const char* message;
  } rows[] = {
      {{}, "subcommand is required"},
      {{"compute"}, "there is no command 'compute' (commands: version"},
      {{"version", "--jsno"}, "--jsno"},
      {{"version", "extra"}, "extra"},
  };
  for (const auto& row : rows) {
    const Outcome o = tenon(row.args);
    EXPECT_EQ(o.exit_code, 2) << row.message;
    EXPECT_EQ(o.out, "") << row.message;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_EQ(o.err.rfind("tenon: error: ", 0), 0U) << o.err;
    EXPECT_NE(o.err.find(row.message), std::string::npos) << o.err;
  }
}

TEST(Cli, HelpGoesToStdout) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"--help"}, {"version", "--help"}}) {
    const Outcome o = tenon(args);
    EXPECT_EQ(o.exit_code, 0);
    EXPECT_NE(o.out.find("--help"), std::string::npos);
    EXPECT_EQ(o.err, "");
  }
}

TEST(Cli, Version) {
  const Outcome text = tenon({"version"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_EQ(text.out.rfind("tenon 0.", 0), 0U) << text.out;
  const Outcome json = tenon({"version", "--json"});
  EXPECT_EQ(json.exit_code, 0);
  const auto answer = nlohmann::json::parse(json.out);
  EXPECT_EQ(answer["schema"], "tenon.version/1");
  EXPECT_GE(answer["host"]["cores"].get<int>(), 1);
  EXPECT_EQ(json.err, "");
}

}  // namespace
}  // namespace tenon::testing
