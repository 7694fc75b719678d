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
                           "\"ids\": dimension 'tokens' of shape nxtokens is open",
                           "\"sound\": dimension 'samples' of shape nxsamples is open",
                           "tokens=128", "samples=16000", "--shape pixels:1..8x3x224x224"}) {
    EXPECT_TRUE(contains(o.err, part)) << part << "\n" << o.err;
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
