// SPDX-License-Identifier: Apache-2.0
// tenon compile --schedules instant and tenon explain --why, with a value function of random weights: whatever it says, the
// library is right.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "support/private_folder.h"
#include "tools/tenon_command.h"
#include "value/function.h"
#include "value/rows.h"

namespace tenon::testing {
namespace {

using Json = nlohmann::json;

struct Instant : ::testing::Test {
  void SetUp() override {
    ASSERT_EQ(tenon({"zoo", "write", "dqn", "-o", model, "-q"}).exit_code, 0);
    value::ValueModel m;
    m.network = cost::fresh_attention_network({value::row_columns(), 16, 2, 1}, 3);
    m.card = "random weights";
    write(file, value::to_bytes(m));
  }
  static void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  Outcome compile(const std::string& value) const {
    return tenon({"compile", model, "--schedules", "instant", "--value", value, "-o", library,
                  "--beam", "1", "--json"});
  }

  PrivateFolder folder = PrivateFolder::temporary("instant");
  std::string model = folder.path() / "net.onnx";
  std::string file = folder.path() / "x.value";
  std::string library = folder.path() / "out";
};

TEST_F(Instant, LibrariesAreRightWhateverTheFunctionSays) {
  const Outcome o = compile(file);
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  EXPECT_TRUE(Json::parse(o.out)["origins"].contains("instant")) << o.out;
  const Outcome same = tenon({"compare", model, library, "--json"});
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
}

TEST_F(Instant, AFunctionThatCannotBeUsedIsOneLineAndTemplatesInstead) {
  write(folder.path() / "cut.value", "tenon value function 2\n");
  write(folder.path() / "other.value", "something else");
  for (const char* name : {"cut.value", "other.value", "missing.value"}) {
    const Outcome o = compile(folder.path() / name);
    ASSERT_EQ(o.exit_code, 0) << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_TRUE(contains(o.err, "schedules are the templates'")) << o.err;
    EXPECT_FALSE(Json::parse(o.out)["origins"].contains("instant")) << o.out;
  }
}

TEST_F(Instant, ReasonsNameDecisionsAndWhatElseThereWas) {
  const Json tasks = Json::parse(tenon({"explain", model, "--json"}).out)["tasks"];
  const std::string key = tasks[0]["task"];
  const Outcome o =
      tenon({"explain", model, "--why", key, "--value", file, "--beam", "1", "--json"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const Json why = Json::parse(o.out);
  EXPECT_EQ(why["task"], key);
  ASSERT_FALSE(why["decisions"].empty());
  for (const Json& d : why["decisions"]) {
    EXPECT_GE(d["values"], 2);
    EXPECT_LE(d["worth"], 1);
  }
  const Outcome text = tenon({"explain", model, "--why", key, "--value", file, "--beam", "1"});
  EXPECT_TRUE(contains(text.out, "decision")) << text.out;
  expect_user_error(tenon({"explain", model, "--why", "nothing", "--value", file}), "no task");
}

}  // namespace
}  // namespace tenon::testing
