// SPDX-License-Identifier: Apache-2.0
#include "report/run/html.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "report/run/json.h"
#include "report/run/markdown.h"
#include "report/sample_network.h"
#include "report/sample_run.h"

namespace tenon::report {
namespace {

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

// Made once each: a database waits for the disk.
const RunStory& sample_story(Kind kind) {
  static const std::map<Kind, RunStory> kStories = [] {
    SampleDatabase db;
    std::map<Kind, RunStory> all;
    for (const Kind k : kKinds) all[k] = read_story(*db, add_sample_run(*db, k));
    return all;
  }();
  return kStories.at(kind);
}

class EveryKind : public testing::TestWithParam<Kind> {};

TEST_P(EveryKind, ThePageIsOneFileWithOneScript) {
  const std::string page = to_html(sample_story(GetParam()));
  EXPECT_EQ(page.find("<!doctype html>"), 0u);
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_EQ(count(page, "<script"), 1u) << "of labels and errors no script may come";
  EXPECT_EQ(count(page, "http://") + count(page, "https://") + count(page, "@import") +
                count(page, "src=") + count(page, "<link"),
            0u);
  EXPECT_NE(page.find("script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(count(page, "<section"), count(page, "</section>"));
  EXPECT_EQ(count(page, "<details"), count(page, "</details>"));
  EXPECT_EQ(count(page, "<svg"), count(page, "</svg>"));
  for (const char* word : {">nan", ">inf", "\"nan", "\"inf", "NaN", "-nan"}) {
    EXPECT_EQ(count(page, word), 0u) << word;
  }
}

TEST_P(EveryKind, MarkdownAndJsonAreWhole) {
  const RunStory& s = sample_story(GetParam());
  const std::string text = to_markdown(s);
  EXPECT_EQ(text.find("# Tuning run "), 0u);
  EXPECT_EQ(count(text, "<script"), count(text, "\\<script"))
      << "outside of code, markup is escaped";
  const auto json = nlohmann::json::parse(to_json(s));
  EXPECT_EQ(json["schema"], "tenon.report/1");
  EXPECT_EQ(json["run"], s.id);
  EXPECT_EQ(json["tasks"].size(), s.tasks.size());
}

INSTANTIATE_TEST_SUITE_P(Runs, EveryKind, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(name_of(kind.param)); });

TEST(Html, AWholeRunHasItsParts) {
  const std::string page = to_html(sample_story(Kind::kWhole));
  for (const char* part : {"× faster",
                           "95 % interval",
                           "mobilenet_v2",
                           "AuthenticAMD 25/17/1",
                           "id=\"progress\"",
                           "class=\"tasks\"",
                           "conv bias relu",
                           "1x64x28x28",
                           "id=\"wall\"",
                           "part-measure",
                           "id=\"ranking\"",
                           "id=\"layouts\"",
                           "class=\"tries\"",
                           "as it was <mark>taken by 6 calls</mark>",
                           "mobilenet_v2 keeps its layouts",
                           "X: N C 3+H W",
                           "id=\"failures\"",
                           "run-timeout",
                           "needs 36 vector registers",
                           "tenon bench --threads 2 --trace",
                           "loop-vectorized",
                           "<h4>default",
                           "<h4>tuned",
                           "&lt;script&gt;document.title",
                           "signal 11 &lt;b&gt;at&lt;/b&gt;"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

TEST(Html, SaysWhatANumberRestsOn) {
  const std::string page = to_html(sample_story(Kind::kWhole));
  for (const char* part :
       {"layer1/Conv, layer1/Relu and 1 more", "Measured while the machine was not quiet",
        "load: 6.9 on 2 CPUs", "not taken: "}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  const std::string markdown = to_markdown(sample_story(Kind::kWhole));
  EXPECT_NE(markdown.find("the machine was not quiet"), std::string::npos);
}

TEST(Html, ThePictureOfTheArtifactIsPartOfIt) {
  RunStory s = sample_story(Kind::kWhole);
  s.models[0].picture = sample_network(20);
  EXPECT_NE(to_html(s).find("<svg class=\"flow\""), std::string::npos);
  EXPECT_NE(to_markdown(s).find("k12_relay"), std::string::npos);
  const auto json = nlohmann::json::parse(to_json(s));
  EXPECT_EQ(json["models"][0]["picture"]["nodes"].size(), 21u);
  EXPECT_EQ(json["layouts"].size(), 3u);
  EXPECT_EQ(json["layouts"][0]["tries"].size(), 9u);
  EXPECT_EQ(to_html(sample_story(Kind::kCutOff)).find("id=\"layouts\""), std::string::npos);
}

TEST(Html, OddRunsSayWhatTheyLack) {
  const struct {
    Kind kind;
    const char* says;
  } kCases[] = {{Kind::kCutOff, "cut off, or still going on"},
                {Kind::kCutOff, "the whole network was not compared"},
                {Kind::kNoRounds, "the run has no round of tuning"},
                {Kind::kOnlyFailures, "none of 5 programs could be measured"},
                {Kind::kOnlyFailures, "run-crash"},
                {Kind::kEmpty, "The run names no task."},
                {Kind::kTwoModels, "in 2 parts"}};
  for (const auto& c : kCases) {
    const std::string page = to_html(sample_story(c.kind));
    EXPECT_NE(page.find(c.says), std::string::npos) << name_of(c.kind) << ": " << c.says;
  }
}

}  // namespace
}  // namespace tenon::report
