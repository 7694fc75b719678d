// SPDX-License-Identifier: Apache-2.0
// tenon model as a user sees it, and what tenon tune begins with and leaves.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "files/file.h"
#include "tools/tenon_command.h"
#include "tools/tune_run.h"

namespace tenon::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const Args kSim = {"--sim", "--jsonl", "--trials", "48", "--round", "16"};

Args with(Args args, const Args& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

Json answer_of(const Outcome& o, const std::string& verb) {
  EXPECT_EQ(o.exit_code, 0) << o.err;
  const Json answer = Json::parse(o.out, nullptr, false);
  EXPECT_FALSE(answer.is_discarded()) << o.out;
  EXPECT_EQ(answer["schema"], "tenon.model/1");
  EXPECT_EQ(answer["verb"], verb);
  return answer;
}

// Streams without the runs' names, which are new ones each time.
std::string without_names(const std::string& stream) {
  std::string out;
  for (Json& e : events_of(stream)) {
    if (e["event"] == "run") e.erase("run");
    out += e.dump() + "\n";
  }
  return out;
}

fs::path only_model(const TuneFolder& f) {
  std::vector<fs::path> all;
  for (const auto& e : fs::directory_iterator(f.path("t.db.models"))) all.push_back(e.path());
  EXPECT_EQ(all.size(), 1U);
  return all.empty() ? fs::path() : all[0];
}

// One run on the pretend device.
class ModelCommands : public ::testing::Test {
 protected:
  void SetUp() override {
    const Outcome o = folder.run(kSim);
    ASSERT_EQ(o.exit_code, 0) << o.err;
    EXPECT_TRUE(of_kind(events_of(o.out), "history").empty());  // there was nothing to begin with
  }
  Outcome model(Args args) const {
    args.insert(args.begin(), "model");
    args.insert(args.end(), {"--db", folder.path("t.db").string()});
    return tenon(args);
  }
  // Those beside the database: others come with tenon.
  Json own_models() const {
    Json out = Json::array();
    const Json all = answer_of(model({"ls", "--json"}), "ls")["models"];
    for (const Json& m : all) {
      if (!m.value("shipped", false)) out.push_back(m);
    }
    return out;
  }
  const TuneFolder folder{"model_commands"};
};

TEST_F(ModelCommands, ARunLeavesAModelAndTheNextBeginsWithIt) {
  const Json listed = own_models();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0]["model"], "xgb");
  EXPECT_EQ(listed[0]["target"], "sim 1");
  EXPECT_EQ(listed[0]["records_since"], 0);
  EXPECT_GE(listed[0]["records"], 16);
  EXPECT_EQ(listed[0]["file"], only_model(folder).string());
  const Outcome plain = model({"ls"});
  EXPECT_TRUE(contains(plain.out, "sim 1")) << plain.out;

  const Outcome next = folder.run(kSim);
  const auto told = of_kind(events_of(next.out), "history");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0]["from"], "kept");
  EXPECT_EQ(told[0]["records"], listed[0]["records"]);
  EXPECT_TRUE(contains(next.err, "history  ")) << next.err;
  const std::string run = of_kind(events_of(next.out), "run")[0]["run"];
  const Outcome report = tenon({"report", run, "--md", "--db", folder.path("t.db").string()});
  EXPECT_TRUE(contains(report.out, "- history: ")) << report.out;
}

TEST_F(ModelCommands, HistoryOffNeitherReadsNorWrites) {
  const fs::path path = only_model(folder);
  fs::remove_all(path.parent_path());
  const Outcome o = folder.run(with(kSim, {"--history", "off"}));
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_TRUE(of_kind(events_of(o.out), "history").empty());
  EXPECT_FALSE(fs::exists(path.parent_path()));
}

TEST_F(ModelCommands, ADamagedModelIsSaidAndMadeAgain) {
  const fs::path path = only_model(folder);
  const std::string whole = files::read_file(path);
  files::write_file(path, whole.substr(0, whole.size() / 2));
  const Json listed = own_models();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_TRUE(contains(listed[0]["problem"], "damaged")) << listed;
  const Outcome o = folder.run(kSim);
  EXPECT_EQ(o.exit_code, 0) << o.err;
  const auto told = of_kind(events_of(o.out), "history");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0]["from"], "trained");
  EXPECT_TRUE(contains(told[0]["notes"][0], "damaged")) << told[0];
  EXPECT_TRUE(contains(o.err, path.string())) << o.err;
}

TEST_F(ModelCommands, TrainScoreAndExport) {
  fs::remove(only_model(folder));
  const Json trained = answer_of(model({"train", "--json"}), "train")["models"];
  ASSERT_EQ(trained.size(), 1U);
  EXPECT_EQ(trained[0]["file"], only_model(folder).string());
  EXPECT_GE(trained[0]["records"], 16);
  EXPECT_TRUE(contains(model({"train", "--target", "sim"}).out, "records"));

  const Json scored = answer_of(model({"score", "--json"}), "score");
  ASSERT_EQ(scored["models"].size(), 1U);
  EXPECT_EQ(scored["models"][0]["scores"], trained[0]["scores"]);

  const std::string file = folder.path("here.model").string();
  EXPECT_EQ(answer_of(model({"export", file, "--json"}), "export")["file"], file);
  EXPECT_EQ(files::read_file(file), files::read_file(only_model(folder)));
  const Json seen = answer_of(model({"score", file, "--json"}), "score")["models"];
  EXPECT_TRUE(seen[0]["scores"].is_null()) << seen;  // it learned from all that is there
  const Outcome used = folder.run(with(kSim, {"--cost-model", file}));
  EXPECT_EQ(used.exit_code, 0) << used.err;
  EXPECT_TRUE(of_kind(events_of(used.out), "history").empty());
  EXPECT_FALSE(of_kind(events_of(used.out), "round")[0]["ranking"].is_null());
}

TEST_F(ModelCommands, MistakesAreSentences) {
  expect_user_error(tenon({"model"}), "subcommand is required");
  expect_user_error(tenon({"model", "trian"}), "did you mean 'train'?");
  expect_user_error(model({"train", "--target", "nowhere"}), "no record answers to --target");
  expect_user_error(model({"train", "--cost-model", "random"}), "learns nothing");
  expect_user_error(model({"export", "x.model", "--target", "nowhere"}), "no such trained model");
  expect_user_error(model({"score", "/nowhere/x.model"}), "/nowhere/x.model");
  expect_user_error(tenon({"model", "ls", "--db", "/nowhere/t.db"}), "/nowhere/t.db");
  const std::string bad = folder.path("bad.model").string();
  const std::string whole = files::read_file(only_model(folder));
  for (const std::string& text : {whole.substr(0, 300), std::string("nonsense"),
                                  std::string("tenon cost model 2 xgb\nnonsense")}) {
    files::write_file(bad, text);
    expect_user_error(model({"score", bad}), bad);
    const Outcome o = folder.run(with(kSim, {"--cost-model", bad}));
    EXPECT_EQ(o.exit_code, 2);
    EXPECT_TRUE(contains(o.err, bad)) << o.err;
  }
}

// What lies beside the database is part of what a run begins with: with it, the same seed gives the same stream.
TEST(History, TheStreamIsTheSameForTheSameSeed) {
  std::vector<std::string> streams;
  for (const char* threads : {"1", "3"}) {
    const TuneFolder f("history_same");
    const Args args = with(kSim, {"--search-threads", threads});
    EXPECT_EQ(f.run(args).exit_code, 0);
    const Outcome kept = f.run(args);
    fs::remove(only_model(f));
    const Outcome trained = f.run(args);
    EXPECT_EQ(of_kind(events_of(kept.out), "history").size(), 1U) << kept.err;
    EXPECT_EQ(of_kind(events_of(trained.out), "history").size(), 1U) << trained.err;
    streams.push_back(without_names(kept.out) + without_names(trained.out));
  }
  EXPECT_EQ(streams[0], streams[1]);
}

}  // namespace
}  // namespace tenon::testing
