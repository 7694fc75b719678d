// SPDX-License-Identifier: Apache-2.0
// Commands on models and artifacts with open sizes, as a user sees them.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/array_files.h"
#include "files/file.h"
#include "onnx/text_model.h"
#include "tools/tenon_command.h"

namespace tenon::testing {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;
using onnx::testing::node;
using onnx::testing::value;

// softmax(x + y) of batch x seq, and a model whose inputs say little.
class SizedModels : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    fs::remove_all(dir());
    fs::create_directories(dir());
    write("net", value("input", "x", "batch seq") + value("input", "y", "batch seq") +
                     node("Add", "x y", "s") + node("Softmax", "s", "z") +
                     value("output", "z", "batch seq"));
    write("odd", value("input", "pixels", "? 3 ? ?") + value("input", "ids", "n tokens", 7) +
                     value("input", "sound", "n samples") + node("Relu", "pixels", "p") +
                     node("Neg", "ids", "i") + node("Relu", "sound", "w") +
                     value("output", "p", "? 3 ? ?") + value("output", "i", "n tokens", 7) +
                     value("output", "w", "n samples"));
    const Outcome o =
        tenon({"compile", file("net"), "-o", artifact(), "--dims", "batch=1..4,seq=3,8"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    EXPECT_TRUE(contains(o.out, "sizes    batch 1..4, seq 3, 8; 8 compiled")) << o.out;
  }
  static void write(const std::string& name, const std::string& graph) {
    files::write_file(file(name), onnx::testing::model_bytes("graph {\n" + graph + "}\n"));
  }
  static std::string dir() { return ::testing::TempDir() + "tenon_sizes"; }
  static std::string file(const std::string& name) { return dir() + "/" + name + ".onnx"; }
  static std::string artifact() { return dir() + "/net"; }
};

TEST_F(SizedModels, CheckNamesAllThatIsOpenAtOnce) {
  const Outcome o = tenon({"check", file("odd")});
  EXPECT_EQ(o.exit_code, 3);
  for (const char* part : {"\"pixels\": shape ?x3x?x? is open",
                           "\"ids\": dimension 'tokens' of shape n x tokens is open",
                           "\"sound\": dimension 'samples' of shape n x samples is open",
                           "tokens=128", "samples=16000", "--shape pixels:1..8x3x224x224"}) {
    EXPECT_TRUE(contains(o.err, part)) << part << "\n" << o.err;
  }
}

// Only what counts items is a batch that need not be asked for.
TEST_F(SizedModels, TimeAndNumbersOfSamplesAreNoBatch) {
  const auto proposal = [](const std::string& shape) {
    write("one", value("input", "x", shape) + node("Relu", "x", "y") + value("output", "y", shape));
    const Outcome o = tenon({"compile", file("one"), "-o", dir() + "/one"});
    return o.exit_code == 0 ? "" : o.err;
  };
  for (const auto& [shape, part] : {std::pair{"T 4", "--dims T=100"},
                                    {"time_steps 4", "--dims time_steps=100"},
                                    {"1 n", "--dims n=128"},
                                    {"batch n", "--dims n=128"},
                                    {"L N 4", "--dims L=128"}}) {
    const std::string said = proposal(shape);
    EXPECT_TRUE(contains(said, part)) << shape << ": " << said;
    EXPECT_TRUE(contains(said, "1 input needs sizes\n")) << "of no other size: " << said;
  }
  EXPECT_EQ(proposal("N 4"), "");
}

// How many parts there are does not depend on the tensor that is cut, which may have no elements at all.
TEST_F(SizedModels, PartsOfAnOpenTensorAreCounted) {
  write("parts", value("input", "x", "n") + value("input", "split", "3", 7) +
                     node("SplitToSequence", "x split", "s") + node("SequenceLength", "s", "many") +
                     value("output", "many", "", 7));
  const Outcome made =
      tenon({"compile", file("parts"), "-o", dir() + "/parts", "--dims", "n=0..3"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  for (const char* shape : {"x:0", "x:2", "x:3"}) {
    const Outcome o = tenon({"run", dir() + "/parts", "--shape", shape, "--json"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    EXPECT_EQ(Json::parse(o.out)["outputs"][0]["max"], 3) << shape;
  }
}

TEST_F(SizedModels, CheckTellsTheSizesThatCompileWouldTake) {
  const Outcome o = tenon({"check", file("net"), "--dims", "seq=5", "--json"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const Json answer = Json::parse(o.out);
  EXPECT_EQ(answer["sizes"][0]["name"], "batch");
  EXPECT_EQ(answer["sizes"][0]["values"].size(), 8U);
  EXPECT_EQ(answer["inputs"][0]["shape"], Json({8, 5}));
}

TEST_F(SizedModels, CommandsTakeASizeOfAnArtifact) {
  const Json largest = Json::parse(tenon({"run", artifact(), "--json"}).out);
  EXPECT_EQ(largest["outputs"][0]["shape"], Json({4, 8}));
  for (const Args& sizes : {Args{"--dims", "batch=3,seq=3"}, Args{"--shape", "x:3x3"}}) {
    Args args = {"run", artifact(), "--json"};
    args.insert(args.end(), sizes.begin(), sizes.end());
    const Outcome o = tenon(args);
    ASSERT_EQ(o.exit_code, 0) << o.err;
    EXPECT_EQ(Json::parse(o.out)["outputs"][0]["shape"], Json({3, 3}));
  }
  EXPECT_EQ(tenon({"bench", artifact(), "--dims", "batch=1", "--iterations", "2"}).exit_code, 0);
  EXPECT_EQ(tenon({"profile", artifact(), "--dims", "batch=2,seq=3", "--runs", "2"}).exit_code, 0);
  EXPECT_EQ(tenon({"explain", artifact()}).exit_code, 0);
  EXPECT_EQ(tenon({"verify", artifact()}).exit_code, 0);
}

TEST_F(SizedModels, ArraysBringTheirSizes) {
  const std::string npy = dir() + "/x.npy";
  files::write_npy(npy, ir::Array(ir::kF32, {2, 8}));
  const Outcome o = tenon({"run", artifact(), "--inputs", "x=@" + npy, "--json"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(Json::parse(o.out)["outputs"][0]["shape"], Json({2, 8}));
  files::write_npy(npy, ir::Array(ir::kF32, {5, 8}));
  expect_user_error(tenon({"run", artifact(), "--inputs", "x=@" + npy}),
                    "input 'x' takes batch x seq, where batch is 1..4 and seq is 3, 8: not 5 x 8");
}

TEST_F(SizedModels, CompareChecksTheSizeThatIsAskedFor) {
  for (const Args& sizes : {Args{}, Args{"--dims", "batch=3,seq=8"}, Args{"--dims", "seq=3"}}) {
    Args args = {"compare", file("net"), artifact()};
    args.insert(args.end(), sizes.begin(), sizes.end());
    const Outcome o = tenon(args);
    EXPECT_EQ(o.exit_code, 0) << o.err << o.out;
  }
}

// Both artifacts have open sizes, or one of them has a single size.
TEST_F(SizedModels, BenchAgainstRunsBothAtTheSizeThatIsAskedFor) {
  const auto compiled = [](const std::string& name, const std::string& dims) {
    const std::string out = dir() + "/" + name;
    const Outcome o = tenon({"compile", file("net"), "-o", out, "--dims", dims, "--no-fuse"});
    EXPECT_EQ(o.exit_code, 0) << o.err;
    return out;
  };
  const auto sizes = [](const std::string& a, const std::string& b, const Args& more) {
    Args args = {"bench", a, "--against", b, "--duration", "0", "--threads", "1", "--json"};
    args.insert(args.end(), more.begin(), more.end());
    const Outcome o = tenon(args);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    const Json answer = Json::parse(o.out);
    EXPECT_LT(answer["difference"].get<double>(), 1e-5);
    EXPECT_GT(answer["b_s"].get<double>(), 0);
    return answer["sizes"];
  };
  const std::string wide = compiled("wide", "batch=1..8,seq=3,8");
  const std::string one = compiled("sole", "batch=2,seq=3");
  EXPECT_EQ(sizes(artifact(), wide, {}), Json({{"batch", 4}, {"seq", 8}}));
  const Json asked = {{"batch", 3}, {"seq", 3}};
  EXPECT_EQ(sizes(artifact(), wide, {"--dims", "batch=3,seq=3"}), asked);
  EXPECT_EQ(sizes(artifact(), wide, {"--shape", "x:3x3"}), asked);
  const Json only = {{"batch", 2}, {"seq", 3}};
  EXPECT_EQ(sizes(artifact(), one, {}), only);
  EXPECT_EQ(sizes(one, artifact(), {}), only);
  EXPECT_EQ(sizes(one, artifact(), {"--dims", "batch=2,seq=3"}), only);

  const Outcome text = tenon({"bench", file("net"), "--against", artifact(), "--dims",
                              "batch=1,seq=3", "--duration", "0", "--threads", "1"});
  EXPECT_TRUE(contains(text.out, "sizes    batch=1,seq=3\n")) << text.out << text.err;
  EXPECT_TRUE(contains(text.out, "us  " + file("net") + "\n")) << text.out;
}

TEST_F(SizedModels, BenchAgainstRefusesASizeThatOneOfTheTwoDoesNotKnow) {
  const std::string wide = dir() + "/wider";
  const Outcome o = tenon({"compile", file("net"), "-o", wide, "--dims", "batch=1..8,seq=3,8"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const std::string sentence =
      "input 'x' takes batch x seq, where batch is 1..4 and seq is 3, 8: not 8 x 3";
  expect_user_error(tenon({"bench", wide, "--against", artifact(), "--dims", "batch=8,seq=3"}),
                    artifact() + ": " + sentence);
  expect_user_error(tenon({"bench", artifact(), "--against", wide, "--dims", "batch=8,seq=3"}),
                    "takes batch = 1..4, not 8");
  expect_user_error(tenon({"bench", artifact(), "--against", wide, "--dims", "width=8"}),
                    "no open dimension 'width'");
  const std::string one = dir() + "/single";
  ASSERT_EQ(tenon({"compile", file("net"), "-o", one, "--dims", "batch=2,seq=3"}).exit_code, 0);
  expect_user_error(tenon({"bench", artifact(), "--against", one, "--dims", "batch=3,seq=3"}),
                    one + ": input 'x' is f32 2x3, not f32 3x3");
}

// A decoder's: the mask is as long as what was and what comes together.
TEST_F(SizedModels, WhatIsComputedIsNotAskedFor) {
  std::string mask = value("input", "mask", "batch SUM");
  mask.replace(mask.find("SUM"), 3, "past_length + 1");
  write("kv", value("input", "x", "batch 1") + mask + value("input", "past", "batch past_length") +
                  node("Concat", "past x", "all", "attribute { name: \"axis\" type: INT i: 1 }") +
                  node("Mul", "all mask", "y") + value("output", "y", "batch n"));
  const Outcome asked = tenon({"check", file("kv")});
  EXPECT_TRUE(contains(asked.err, "hint: give sizes: --dims past_length=128\n")) << asked.err;
  EXPECT_TRUE(contains(asked.err, "'past_length' of shape batch x past_length + 1 is open"))
      << asked.err;
  expect_user_error(tenon({"check", file("kv"), "--dims", "past_length + 1=4"}),
                    "'past_length + 1' is computed, and has no size of its own");
  expect_user_error(
      tenon({"check", file("kv"), "--dims", "batch=1,past_length=4", "--shape", "mask:1x4"}),
      "input 'mask': axis 1 is past_length + 1, which is 5 here, not 4");
  const std::string out = dir() + "/kv";
  const Outcome made =
      tenon({"compile", file("kv"), "-o", out, "--dims", "batch=2,past_length=1..3"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_TRUE(contains(made.out, "sizes    past_length 1..3; 3 compiled")) << made.out;
  const Json shown = Json::parse(files::read_file(out + "/kv.json"));
  EXPECT_EQ(shown["inputs"][1]["computed"]["1"], "past_length + 1");
  EXPECT_TRUE(contains(files::read_file(out + "/kv.h"), "2 x (past_length + 1)"));
  const Json ran = Json::parse(tenon({"run", out, "--dims", "past_length=2", "--json"}).out);
  EXPECT_EQ(ran["outputs"][0]["shape"], Json({2, 3}));
  EXPECT_EQ(tenon({"compare", file("kv"), out, "--dims", "batch=2,past_length=1"}).exit_code, 0);
  EXPECT_EQ(tenon({"compare", file("kv"), out}).exit_code, 0);
  const std::string npy = dir() + "/part.npy";
  files::write_npy(npy, ir::Array(ir::kF32, {2, 1}));
  EXPECT_EQ(tenon({"run", out, "--inputs", "past=@" + npy}).exit_code, 0);
  files::write_npy(npy, ir::Array(ir::kF32, {2, 4}));
  expect_user_error(tenon({"run", out, "--dims", "past_length=1", "--inputs", "mask=@" + npy}),
                    "input 'mask' has size 4 where past_length + 1 is 2 by the other inputs");
}

TEST_F(SizedModels, AxesWithoutNamesAreCalledByTheirPlace) {
  write("nameless",
        value("input", "x", "? ?") + node("Relu", "x", "y") + value("output", "y", "? ?"));
  const Outcome one = tenon({"check", file("nameless"), "--dims", "x.0=2,x.1=4", "--json"});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(Json::parse(one.out)["inputs"][0]["shape"], Json({2, 4}));
  const Outcome several = tenon({"check", file("nameless"), "--dims", "x.1=4..6", "--json"});
  ASSERT_EQ(several.exit_code, 0) << several.err;
  EXPECT_EQ(Json::parse(several.out)["sizes"][0]["name"], "batch");
  EXPECT_EQ(Json::parse(several.out)["sizes"][1]["name"], "x.1");
  EXPECT_EQ(Json::parse(several.out)["inputs"][0]["shape"], Json({8, 6}));
  expect_user_error(tenon({"check", file("nameless"), "--dims", "x.2=4"}), "dimension 'x.2'");
}

TEST_F(SizedModels, InputsOfWhatCannotBeImportedAreTold) {
  const Outcome o = tenon({"check", file("odd"), "--json"});
  EXPECT_EQ(o.exit_code, 3);
  const Json answer = Json::parse(o.out);
  EXPECT_EQ(answer["inputs"][0]["shape"], Json({nullptr, 3, nullptr, nullptr}));
  EXPECT_EQ(answer["inputs"][1]["shape"], Json({"n", "tokens"}));
  EXPECT_TRUE(contains(o.err, "odd.onnx: 3 inputs need sizes")) << o.err;
}

TEST_F(SizedModels, WhatIsWrongWithSizesSaysWhereAndHowItWasWritten) {
  expect_user_error(tenon({"check", file("net"), "--dims", "seq=4,batch"}),
                    "'--dims seq=4,batch': 'batch' is no size");
  write("table",
        value("input", "x", "seq 3") +
            "initializer { name: \"two\" data_type: 7 dims: 1 int64_data: 1 }\n"
            "initializer { name: \"axes\" data_type: 7 dims: 1 int64_data: 0 }\n" +
            node("Shape", "x", "shape") + node("Gather", "shape axes", "n") +
            node("Sub", "n two", "last") +
            "initializer { name: \"rows\" data_type: 1 dims: 4 float_data: [1, 2, 3, 4] }\n" +
            node("Gather", "rows last", "y") + value("output", "y", "1"));
  const Outcome o = tenon({"compile", file("table"), "-o", dir() + "/t", "--dims", "seq=3..6"});
  EXPECT_EQ(o.exit_code, 3);
  EXPECT_TRUE(contains(o.err, "1 node cannot be imported at seq=6")) << o.err;
}

TEST_F(SizedModels, SeveralTargetsTellSizesOnce) {
  const Outcome o = tenon({"compile", file("net"), "-o", dir() + "/levels", "--dims", "seq=3",
                           "--target", "x86-64-v2,x86-64-v3"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(o.err.find("sizes    batch=1..8"), o.err.rfind("sizes    batch=1..8")) << o.err;
  EXPECT_TRUE(contains(o.err, "sizes    batch=1..8")) << o.err;
  EXPECT_TRUE(contains(o.out, "of each size; ")) << o.out;
}

// Batches of several sizes may take other steps, which have nodes all the same.
TEST_F(SizedModels, ProfilesOfEverySizeNameNodes) {
  for (const char* sizes : {"batch=1,seq=3", "batch=4,seq=8"}) {
    const Outcome o = tenon({"profile", artifact(), "--dims", sizes, "--runs", "2", "--json"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    for (const Json& row : Json::parse(o.out)["rows"]) {
      EXPECT_FALSE(row["nodes"].empty()) << sizes << row;
    }
  }
}

TEST_F(SizedModels, AShapeShowsTheSizesOfItsNames) {
  const Outcome o = tenon({"check", file("net"), "--shape", "x:2x3..5", "--json"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const Json answer = Json::parse(o.out);
  ASSERT_EQ(answer["sizes"].size(), 1U) << answer;
  EXPECT_EQ(answer["sizes"][0]["name"], "seq");
  EXPECT_EQ(answer["inputs"][1]["shape"], Json({2, 5}));
}

TEST_F(SizedModels, HintsAreWrittenForAShell) {
  std::string odd = value("input", "x", "batch NAME");
  odd.replace(odd.find("NAME"), 4, "a long name");
  write("blank", odd + node("Relu", "x", "y") + value("output", "y", "batch n"));
  const Outcome o = tenon({"check", file("blank")});
  EXPECT_TRUE(contains(o.err, "give sizes: --dims 'a long name=128'\n")) << o.err;
}

TEST_F(SizedModels, WhatIsOutsideIsRefused) {
  expect_user_error(tenon({"run", artifact(), "--dims", "batch=5"}), "takes batch = 1..4, not 5");
  expect_user_error(tenon({"run", artifact(), "--dims", "width=5"}), "no open dimension 'width'");
  expect_user_error(tenon({"tune", file("net"), "--dims", "batch=1..2,seq=3", "-o", dir() + "/t"}),
                    "one size of 'batch' is wanted here");
  expect_user_error(tenon({"compile", file("net"), "--dims", "batch=1..2,seq=3", "--target",
                           "cuda sm_90", "-o", dir() + "/t"}),
                    "libraries for GPUs have one size of each dimension");
}

}  // namespace
}  // namespace tenon::testing
