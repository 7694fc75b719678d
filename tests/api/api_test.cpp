// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "files/file.h"
#include "tenon/tenon.h"
#include "zoo/zoo.h"

namespace tenon::api {
namespace {

namespace fs = std::filesystem;

class Api : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tenon-api-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    files::write_file(model(), zoo::model_bytes(zoo::find("dqn"), {}));
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string model() const { return (folder_ / "dqn.onnx").string(); }
  std::string out() const { return (folder_ / "out").string(); }
  fs::path folder_;
};

TEST_F(Api, CompilesLoadsAndRuns) {
  EXPECT_TRUE(check(model()).empty());
  const auto files = compile(model(), out());
  EXPECT_FALSE(files.empty());
  const Library library = Library::load(out());
  EXPECT_EQ(library.name(), "dqn");
  ASSERT_EQ(library.inputs().size(), 1u);
  ASSERT_EQ(library.outputs().size(), 1u);
  std::vector<float> in(static_cast<size_t>(library.inputs()[0].bytes) / 4, 0.5f);
  std::vector<float> one(static_cast<size_t>(library.outputs()[0].bytes) / 4, -1.0f);
  std::vector<float> two(one.size(), -2.0f);
  Session(library, 1).run({in.data()}, {one.data()});
  Session session(library, 2);
  session.run({in.data()}, {two.data()});
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], two[i], 1e-5) << i;
  EXPECT_NE(one[0], one[1]);
  EXPECT_THROW(session.run({}, {two.data()}), Error);
}

TEST_F(Api, TheSameLockGivesTheSameBytes) {
  compile(model(), out());
  CompileOptions o;
  o.lock = out();
  o.frozen = true;
  const std::string second = (folder_ / "second").string();
  for (const std::string& file : compile(model(), second, o)) {
    EXPECT_TRUE(files::read_file(out() + "/" + file) == files::read_file(second + "/" + file))
        << file;
  }
}

TEST_F(Api, ProfilesItsSteps) {
  compile(model(), out());
  const Library library = Library::load(out());
  EXPECT_EQ(fs::path(library.folder()), fs::canonical(out()));
  EXPECT_FALSE(library.target().empty());
  const std::vector<StepTime> steps = library.profile({}, 1, 3);
  ASSERT_FALSE(steps.empty());
  double flops = 0;
  for (const StepTime& s : steps) {
    EXPECT_GT(s.seconds, 0) << s.kernel;
    flops += s.flops;
  }
  EXPECT_GT(flops, 0);
  const std::vector<float> in(static_cast<size_t>(library.inputs()[0].bytes) / 4, 0.5f);
  EXPECT_EQ(library.profile({in.data()}, 1, 1).size(), steps.size());
  EXPECT_THROW(library.profile({in.data(), in.data()}), Error);
  EXPECT_THROW(library.profile({}, 1, 0), Error);
}

TEST_F(Api, ErrorsAreSentences) {
  EXPECT_THROW(compile("no-such.onnx", out()), Error);
  EXPECT_THROW(Library::load((folder_ / "nothing").string()), Error);
  CompileOptions o;
  o.target = "pdp-11";
  try {
    compile(model(), out(), o);
    FAIL() << "an unknown target was taken";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("pdp-11"), std::string::npos) << e.what();
  }
  EXPECT_FALSE(fs::exists(out())) << "a failed compilation leaves nothing behind";
}

TEST_F(Api, TheExampleWorks) {
  const std::string command = std::string(TENON_CPP_API) + " " + model() + " " + out();
  FILE* p = ::popen(command.c_str(), "r");
  ASSERT_NE(p, nullptr);
  char line[200] = {};
  EXPECT_NE(std::fgets(line, sizeof line, p), nullptr);
  EXPECT_EQ(::pclose(p), 0);
  EXPECT_NE(std::string(line).find("dqn: element"), std::string::npos) << line;
}

}  // namespace
}  // namespace tenon::api
