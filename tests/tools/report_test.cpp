// SPDX-License-Identifier: Apache-2.0
// tenon report, on a run that is made up.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/sample_run.h"
#include "tools/tenon_command.h"

namespace tenon::testing {
namespace {

using Json = nlohmann::json;

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class Report : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    db_ = std::make_unique<report::SampleDatabase>();
    first_ = report::add_sample_run(**db_, report::Kind::kNoRounds);
    last_ = report::add_sample_run(**db_, report::Kind::kWhole);
  }
  static void TearDownTestSuite() { db_.reset(); }
  static Outcome report(Args args) {
    args.insert(args.begin(), {"report", "--db", db_->file()});
    return tenon(args);
  }
  static std::string file(const std::string& name) { return db_->file() + "." + name; }

  inline static std::unique_ptr<report::SampleDatabase> db_;
  inline static std::string first_, last_;
};

TEST_F(Report, WritesWhatIsAskedFor) {
  const Outcome plain = report({});
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_TRUE(contains(plain.out, "# Tuning run " + last_)) << plain.out;
  EXPECT_EQ(report({"--md"}).out, plain.out);
  EXPECT_EQ(report({"--md", "last"}).out, plain.out) << "--md takes no word after it";
  EXPECT_EQ(report({last_.substr(0, 12)}).out, plain.out);
  EXPECT_TRUE(contains(report({first_}).out, "# Tuning run " + first_));

  const Outcome page = report({"--html", file("html")});
  EXPECT_EQ(page.exit_code, 0) << page.err;
  EXPECT_EQ(page.out, "");
  EXPECT_TRUE(contains(read(file("html")), "<!doctype html>"));
  EXPECT_EQ(report({"--html", "-"}).out, read(file("html")));

  const Outcome all = report({"--html", file("html"), "--md=" + file("md"), "--json"});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(read(file("md")), plain.out);
  const Json json = Json::parse(all.out);
  EXPECT_EQ(json["schema"], "tenon.report/1");
  EXPECT_EQ(json["run"], last_);
  EXPECT_GT(json["models"][0]["network"]["ratio"], 1.2);
}

TEST_F(Report, Mistakes) {
  expect_user_error(report({"zzz"}), "there is no run 'zzz'");
  expect_user_error(report({"--html", "-", "--json"}), "only one of");
  expect_user_error(report({"--html", "/no/such/folder/x.html"}), "/no/such/folder/x.html");
  expect_user_error(tenon({"report", "--db", "/no/such/file.db"}), "/no/such/file.db");
}

// What the page offers to be pasted into a shell builds and runs the very program.
TEST_F(Report, TheCommandOfAFailureRuns) {
  const Json json = Json::parse(report({"--json"}).out);
  ASSERT_FALSE(json["failures"].empty());
  const std::string tool = TENON_BINARY;
  std::string command = json["failures"][0]["command"];
  ASSERT_EQ(command.rfind("tenon bench ", 0), 0u) << command;
  command.replace(0, 5, tool);
  command.insert(command.find(" --threads"), " --duration 0.01 --target x86-64");
  const Outcome o = run_command({"/bin/bash", "-c", command});
  // The made up failure is of a trace that is right: it runs, or asks for more registers than this target has.
  EXPECT_TRUE(o.exit_code == 0 || contains(o.err, "registers")) << command << "\n"
                                                                << o.err << o.out;
}

}  // namespace
}  // namespace tenon::testing
