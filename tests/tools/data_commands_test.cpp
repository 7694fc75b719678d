// SPDX-License-Identifier: Apache-2.0
// tenon data as a user sees it, on records of the pretend device.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "files/array_files.h"
#include "files/file.h"
#include "files/packed.h"
#include "tools/tenon_command.h"
#include "tools/tune_run.h"

namespace tenon::testing {
namespace {

using Json = nlohmann::json;

class DataCommands : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new TuneFolder("data_commands");
    const Outcome o =
        tenon({"gather", "--sim", "--random", "4", "--min-flops", "1e4", "--max-flops", "1e6",
               "--programs", "30", "--population", "32", "-q", "--db", path("g.db")});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    ASSERT_EQ(tenon({"db", "export", path("g.jsonl.zst"), "--db", path("g.db")}).exit_code, 0);
  }
  static void TearDownTestSuite() { delete folder; }
  static std::string path(const std::string& name) { return folder->path(name).string(); }
  static Json answer(const Args& args, int exit_code = 0) {
    const Outcome o = tenon(args);
    EXPECT_EQ(o.exit_code, exit_code) << o.err;
    Json j = Json::parse(o.out, nullptr, false);
    EXPECT_FALSE(j.is_discarded()) << o.out;
    return j;
  }
  static TuneFolder* folder;
};
TuneFolder* DataCommands::folder = nullptr;

TEST_F(DataCommands, LsCountsExportsAndDatabasesAlike) {
  const Json packed = answer({"data", "ls", path("g.jsonl.zst"), "--json"});
  const Json database = answer({"data", "ls", "--db", path("g.db"), "--json"});
  EXPECT_EQ(packed["machines"], database["machines"]);
  ASSERT_EQ(packed["machines"].size(), 1U);
  const Json& m = packed["machines"][0];
  EXPECT_EQ(m["tasks"], 4);
  EXPECT_EQ(m["programs"], 120);
  int64_t tasks = 0;
  for (const auto& [kind, count] : m["kinds"].items()) tasks += count["tasks"].get<int64_t>();
  EXPECT_EQ(tasks, 4);
  // The same records twice are the same records.
  EXPECT_EQ(answer({"data", "ls", path("g.jsonl.zst"), path("g.db"),
                    "--json"})["machines"][0]["programs"],
            120);
}

TEST_F(DataCommands, CheckPassesWhatIsSoundAndTellsWhatIsNot) {
  const Json sound = answer({"data", "check", path("g.jsonl.zst"), "--json"});
  EXPECT_TRUE(sound["sound"]) << sound.dump(1);
  EXPECT_EQ(sound["machines"][0]["stale_choices"], 0);
  std::string text = files::read_maybe_packed(path("g.jsonl.zst"));
  const size_t at = text.find("\"median_s\":");
  ASSERT_NE(at, std::string::npos);
  const size_t end = text.find_first_of(",}", at);
  text.replace(at, end - at, "\"median_s\":-1.0");
  files::write_file(path("bad.jsonl"), text);
  const Json bad = answer({"data", "check", path("bad.jsonl"), "--json"}, 5);
  EXPECT_FALSE(bad["sound"]);
  EXPECT_FALSE(bad["machines"][0]["faults"].empty());
}

TEST_F(DataCommands, AgreeTellsHowFarTimesCanBeTrusted) {
  const Json same = answer({"data", "agree", path("g.jsonl.zst"), path("g.db"), "--json"});
  const Json& m = same["machines"][0];
  EXPECT_GT(m["programs"], 100);
  EXPECT_EQ(m["deviation"], 0.0);
  EXPECT_EQ(m["scores"]["top1"], 1.0);
  EXPECT_EQ(m["scores"]["pairwise"], 1.0);
  EXPECT_EQ(m["scores"]["held_out"], 4);
  EXPECT_EQ(tenon({"data", "agree", path("g.db")}).exit_code, 2);
}

TEST_F(DataCommands, ScoreComparesModelsOnTheSameRecords) {
  const Json j =
      answer({"data", "score", path("g.jsonl.zst"), "--cost-model", "random,xgb", "--json"});
  const Json& models = j["machines"][0]["models"];
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0]["asked"], models[1]["asked"]);
  EXPECT_TRUE(models[1]["trained"]);
  for (const char* score : {"top1_mean", "top5_mean", "top1_pooled", "top5_pooled", "pairwise"}) {
    const double v = models[1][score];
    EXPECT_GT(v, 0) << score;
    EXPECT_LE(v, 1) << score;
  }
  // A model may learn from fewer records, and from those of one file alone.
  const Json few = answer({"data", "score", path("g.db"), "--records", "40", "--learn-from",
                           path("g.jsonl.zst"), "--fold", "1", "--json"});
  EXPECT_EQ(few["fold"], 1);
  const Json& learned = few["machines"][0]["models"][0]["learned"];
  EXPECT_GE(learned, 10);
  EXPECT_LE(learned, 40);
  EXPECT_EQ(few["machines"][0]["models"][0]["asked"].get<int64_t>() % 30, 0);
  const Outcome text = tenon({"data", "score", path("g.db"), "--cost-model", "xgb"});
  EXPECT_TRUE(contains(text.out, "pooled")) << text.out;
}

TEST_F(DataCommands, EncodeWritesArraysThatBelongTogether) {
  const std::string file = path("x.npz");
  const Json j = answer({"data", "encode", path("g.jsonl.zst"), "-o", file, "--json"});
  EXPECT_EQ(j["model"], "tlp");
  EXPECT_EQ(j["tasks"].size(), 4U);
  const files::NamedArrays arrays = files::read_npz(file);
  const auto shape = [&](const char* name) { return files::find_array(arrays, name)->shape(); };
  const int64_t programs = j["programs"];
  EXPECT_GT(programs, 100);
  EXPECT_EQ(shape("sizes"), (std::vector<int64_t>{programs}));
  EXPECT_EQ(shape("tasks"), (std::vector<int64_t>{programs}));
  EXPECT_EQ(shape("seconds"), (std::vector<int64_t>{programs, 1}));
  int64_t rows = 0;
  const ir::Array& sizes = *files::find_array(arrays, "sizes");
  for (int64_t i = 0; i < programs; ++i) rows += static_cast<int64_t>(sizes.get_double(i));
  EXPECT_EQ(shape("rows"), (std::vector<int64_t>{rows, j["columns"].get<int64_t>()}));
}

TEST_F(DataCommands, MistakesAreSentences) {
  expect_user_error(tenon({"data"}), "subcommand is required");
  expect_user_error(tenon({"data", "ls", "/nowhere.jsonl"}), "/nowhere.jsonl");
  expect_user_error(tenon({"data", "score", path("g.db"), "--cost-model", "nonsense"}), "nonsense");
  expect_user_error(tenon({"data", "encode", path("g.db")}), "--output");
  expect_user_error(tenon({"data", "score", path("g.db"), "--fold", "5"}), "--fold");
  expect_user_error(tenon({"data", "score", path("g.db"), "--learn-from", "/nowhere.jsonl"}),
                    "/nowhere.jsonl");
  std::string cut = files::read_file(path("g.jsonl.zst"));
  cut.resize(cut.size() / 2);
  files::write_file(path("cut.zst"), cut);
  expect_user_error(tenon({"data", "ls", path("cut.zst")}), "cut off");
  expect_user_error(tenon({"model", "train", "--also", "x", "--db", path("g.db")}), "tlp");
}

}  // namespace
}  // namespace tenon::testing
