// SPDX-License-Identifier: Apache-2.0
// What somebody meets who tries tenon for the first time: wrong files, odd names, inputs that must become constants.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "files/array_files.h"
#include "files/file.h"
#include "onnx/limits.h"
#include "onnx/text_model.h"
#include "runtime/pool.h"
#include "tools/tenon_command.h"

namespace tenon::testing {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;
using onnx::testing::node;
using onnx::testing::value;

// add: x + y of shape n x 3; other: relu of z, 2x5; sized: x reshaped by shape.
class Newcomer : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    fs::remove_all(dir());
    fs::create_directories(dir());
    write("add", value("input", "x", "n 3") + value("input", "y", "n 3") + node("Add", "x y", "z") +
                     value("output", "z", "n 3"));
    write("other", value("input", "z", "2 5") + node("Relu", "z", "r") + node("Neg", "z", "q") +
                       value("output", "r", "2 5") + value("output", "q", "2 5"));
    write("sized", value("input", "x", "6") + value("input", "shape", "2", 7) +
                       node("Abs", "shape", "Abs_0_C") + node("Reshape", "x Abs_0_C", "y") +
                       value("output", "y", "a b"));
    compile("add", "add", {"--dims", "n=2"});
    compile("other", "other", {});
  }
  static void write(const std::string& name, const std::string& graph,
                    const std::string& header = "") {
    files::write_file(file(name), onnx::testing::model_bytes(header + "graph {\n" + graph + "}\n"));
  }
  static Outcome compile(const std::string& name, const std::string& folder, const Args& more) {
    Args args = {"compile", file(name), "-o", in_dir(folder)};
    args.insert(args.end(), more.begin(), more.end());
    Outcome o = tenon(args);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    return o;
  }
  static std::string dir() { return ::testing::TempDir() + "tenon_newcomer"; }
  static std::string in_dir(const std::string& name) { return dir() + "/" + name; }
  static std::string file(const std::string& name) { return in_dir(name + ".onnx"); }
};

TEST_F(Newcomer, CompareRefusesWhatDoesNotBelongTogether) {
  expect_user_error(tenon({"compare", file("add"), in_dir("other"), "--dims", "n=2"}),
                    "/add.onnx has 2 inputs and " + in_dir("other") + " has 1 input: they cannot");
  expect_user_error(tenon({"compare", file("add"), in_dir("add"), "--dims", "n=4"}),
                    "input 'x' is f32 4x3 in " + file("add") + " and f32 2x3 in " + in_dir("add"));
  expect_user_error(tenon({"compare", in_dir("other"), in_dir("add")}), "takes 1 inputs, not 2");
  EXPECT_EQ(tenon({"compare", file("add"), in_dir("add")}).exit_code, 0);
}

TEST_F(Newcomer, CompareRefusesOtherOutputs) {
  write("fewer", value("input", "z", "2 5") + node("Relu", "z", "r") + value("output", "r", "2 5"));
  compile("fewer", "fewer", {});
  expect_user_error(tenon({"compare", file("other"), in_dir("fewer")}), "has 2 outputs and");
  expect_user_error(tenon({"compare", in_dir("other"), in_dir("fewer")}), "has 2 outputs and");
}

TEST_F(Newcomer, FoldersAndArchivesWithoutInputsAreRefused) {
  fs::create_directories(in_dir("nothing"));
  files::write_npz(in_dir("nothing.npz"), {}, files::Compression::kStored);
  expect_user_error(tenon({"run", in_dir("add"), "--inputs", in_dir("nothing")}),
                    "the folder holds no input of the model");
  expect_user_error(tenon({"run", in_dir("add"), "--inputs", in_dir("nothing.npz")}),
                    "there is no array in it");
}

TEST_F(Newcomer, AFolderOfResultsIsAFolderOfInputs) {
  fs::create_directories(in_dir("arrays"));
  files::write_npy(in_dir("arrays/x.npy"), ir::Array(ir::kF32, {2, 3}));
  files::write_npy(in_dir("arrays/y.npy"), ir::Array(ir::kF32, {2, 3}));
  const Outcome o = tenon({"run", in_dir("add"), "--inputs", in_dir("arrays"), "--json"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(Json::parse(o.out)["outputs"][0]["max"], 0);
}

TEST_F(Newcomer, InputsAreWrittenByHand) {
  const Args run = {"run", in_dir("add"), "--inputs", "x=[[1,2,3],[4,5,6]]", "--inputs"};
  const auto with = [&](const std::string& y) {
    Args args = run;
    args.insert(args.end(), {y, "--json"});
    return tenon(args);
  };
  const Outcome o = with("y=[[0,0,0],[0,0,4]]");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(Json::parse(o.out)["outputs"][0]["max"], 10);
  expect_user_error(with("y=5"), "one value does not fit input 'y', which is 2x3");
  expect_user_error(with("w=5"), "the model has no input 'w'");
}

TEST_F(Newcomer, NamesOfTheSystemAreLeftAlone) {
  fs::copy_file(file("other"), file("m"));
  fs::copy_file(file("other"), file("string"));
  const Outcome m = compile("m", "libs", {});
  EXPECT_TRUE(contains(m.err, "name     m_model: libm.so is a library of the system")) << m.err;
  EXPECT_TRUE(fs::exists(in_dir("libs/libm_model.so")) && !fs::exists(in_dir("libs/libm.so")));
  EXPECT_TRUE(contains(files::read_file(in_dir("libs/m_model.h")), "m_model_create"));
  const Outcome s = compile("string", "headers", {});
  EXPECT_TRUE(contains(s.err, "string.h is a header of the system")) << s.err;
  expect_user_error(tenon({"compile", file("other"), "--name", "pthread", "-o", in_dir("never")}),
                    "libpthread.so is a library of the system ('pthread_model' can)");
}

TEST_F(Newcomer, LongNamesAreShortened) {
  const std::string name(240, 'n');
  fs::copy_file(file("other"), file(name));
  const Outcome o = compile(name, "long", {});
  EXPECT_TRUE(contains(o.err, "it has 240 letters")) << o.err;
  EXPECT_EQ(tenon({"verify", in_dir("long")}).exit_code, 0);
  expect_user_error(
      tenon({"compile", file("other"), "--name", std::string(300, 'n'), "-o", in_dir("never")}),
      "it has 300 letters, and file names have room for 200");
}

TEST_F(Newcomer, ArtifactsOfOtherMachinesAreExplained) {
  compile("other", "arm", {"--target", "aarch64"});
  const Outcome list = tenon({"explain", in_dir("arm")});
  ASSERT_EQ(list.exit_code, 0) << list.err;
  EXPECT_TRUE(contains(list.out, "k0_")) << list.out;
  const std::string kernel = list.out.substr(list.out.find("k0_"));
  const Outcome task = tenon(
      {"explain", in_dir("arm"), "--task", kernel.substr(0, kernel.find(' ')), "--show", "asm"});
  EXPECT_EQ(task.exit_code, 0) << task.err;
  for (const char* command : {"run", "bench", "profile"}) {
    expect_user_error(tenon({command, in_dir("arm")}),
                      "arm/libother.so is for aarch64 and does not run on this machine");
  }
  EXPECT_EQ(tenon({"verify", in_dir("arm")}).exit_code, 0);
}

TEST_F(Newcomer, OnlyCommandsThatTakeArtifactsPromiseThem) {
  for (const char* command : {"check", "compile", "tune"}) {
    EXPECT_FALSE(contains(tenon({command, "-h"}).out, "or artifact")) << command;
    expect_user_error(tenon({command, in_dir("add")}), "folder or a manifest");
  }
  for (const char* command : {"run", "bench", "compare", "profile", "explain"}) {
    EXPECT_TRUE(contains(tenon({command, "-h"}).out, "or artifact")) << command;
  }
}

TEST_F(Newcomer, ModelsWithoutOpenSizesSaySo) {
  expect_user_error(tenon({"check", file("other"), "--dims", "n=2"}),
                    "the model has no dimension 'n' (all of its sizes are fixed)");
}

TEST_F(Newcomer, WhatWasAskedWronglyEndsInTwo) {
  const struct {
    Args args;
    const char* message;
  } rows[] = {
      {{"--dims", "n=1,m=2"}, "the model has no dimension 'm'"},
      {{"--dims", "n=1,m=2..3"}, "no input of the model has a dimension 'm' that is open"},
      {{"--dims", "n=1..99999999"}, "'1..99999999' are 99999999 sizes, more than the 65536"},
      {{"--dims", "n=8..1"}, "'8..1' is no range of sizes"},
      {{"--shape", "x:2x4"}, "input 'x': shape 2x4 does not fit n x 3"},
      {{"--shape", "q:2x4"}, "the model has no input 'q'"},
      {{"--bind", "x"}, "NAME=VALUE or NAME=@FILE.npy expected"},
      {{"--bind", "q=1"}, "the model has no input 'q'"},
      {{"--bind", "x=1"}, "one value does not fit input 'x', which is n x 3"},
      {{"--bind", "x=[[1,2,3],[1,2]]"}, "has lists of different lengths"},
      {{"--bind", "x=[[1,2,x]]"}, "'x' is no f32, which input 'x' has"},
      {{"--bind", "x=[[1,2,3]"}, "is not complete"},
      {{"--bind", "x=@nowhere.npy"}, "nowhere.npy: cannot be read"},
  };
  for (const auto& row : rows) {
    Args args = {"check", file("add")};
    args.insert(args.end(), row.args.begin(), row.args.end());
    expect_user_error(tenon(args), row.message);
  }
}

TEST_F(Newcomer, ScalarsThatDoNotFitAreCalledScalars) {
  files::write_npy(in_dir("scalar.npy"), ir::Array(ir::kF32, {}));
  expect_user_error(tenon({"check", file("add"), "--bind", "x=@" + in_dir("scalar.npy")}),
                    "input 'x': a scalar does not fit n x 3");
  files::write_npy(in_dir("ints.npy"), ir::Array(ir::kI64, {2, 3}));
  expect_user_error(tenon({"check", file("add"), "--bind", "x=@" + in_dir("ints.npy")}),
                    "input 'x': bound to elements of i64, f32 is wanted");
}

TEST_F(Newcomer, HintsNameInputsAndValuesBindThem) {
  const Outcome open = tenon({"check", file("sized")});
  EXPECT_EQ(open.exit_code, 3);
  EXPECT_TRUE(contains(open.err,
                       "must be known when compiling and depends on input 'shape'  hint: "
                       "make it a constant: --bind shape=N,N"))
      << open.err;
  EXPECT_FALSE(contains(open.err, "Abs_0_C")) << open.err;
  const Outcome o = tenon({"run", file("sized"), "--bind", "shape=3,-2", "--json"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(Json::parse(o.out)["outputs"][0]["shape"], Json({3, 2}));
}

TEST_F(Newcomer, WordsThatStandAloneAreExplained) {
  expect_user_error(tenon({}), "a command is wanted (tenon -h lists them)");
  expect_user_error(tenon({"net.onnx"}), "tenon check net.onnx looks at a model");
  expect_user_error(tenon({"compile", file("other"), "out"}), "-o out writes there");
  expect_user_error(tenon({"run", in_dir("add"), "x.npy"}), "given with --inputs x.npy");
  expect_user_error(tenon({"compare", file("other"), "--rtol", "-1"}), "'-1' is no tolerance");
}

TEST_F(Newcomer, OnlyOneAnswerGoesToStandardOutput) {
  expect_user_error(tenon({"run", in_dir("add"), "--json", "--outputs", "-"}),
                    "only one of --json and --outputs - can go to standard output");
}

TEST_F(Newcomer, WeightsOfConstantNodesAreParameters) {
  const std::string weight =
      "attribute { name: \"value\" type: TENSOR t { dims: 3 data_type: 1 float_data: [1, 2, 3] } }";
  write("constants", value("input", "x", "2 3") + node("Constant", "", "w", weight) +
                         node("Add", "x w", "z") + value("output", "z", "2 3"));
  const Outcome o = tenon({"check", file("constants")});
  EXPECT_TRUE(contains(o.out, "2 nodes  3 parameters")) << o.out << o.err;
  EXPECT_TRUE(contains(o.out, "-> 1 step of 1 distinct task\n")) << o.out;
}

TEST_F(Newcomer, OpsetsThatAreNotThereAreNotNamed) {
  write("foreign",
        value("input", "x", "2 ?") + node("QuickGelu", "x", "y", "domain: \"com.microsoft\"") +
            value("output", "y", "2 3"),
        "opset_import { domain: \"com.microsoft\" version: 1 }\n");
  const Outcome open = tenon({"check", file("foreign")});
  EXPECT_EQ(open.exit_code, 3);
  EXPECT_FALSE(contains(open.out + open.err, "opset 0")) << open.out << open.err;
  const Json answer =
      Json::parse(tenon({"check", file("foreign"), "--json", "--shape", "x:2x3"}).out);
  EXPECT_TRUE(answer["opset"].is_null()) << answer.dump();
}

TEST_F(Newcomer, VerboseSaysMore) {
  const Outcome quiet = compile("other", "quiet", {});
  const Outcome some = compile("other", "some", {"-v"});
  const Outcome all = compile("other", "all", {"-vv"});
  EXPECT_EQ(quiet.err, "");
  EXPECT_TRUE(contains(some.err, "kernel   k0_") && contains(some.err, "plan     ")) << some.err;
  EXPECT_TRUE(contains(all.err, "  nodes  ") && !contains(some.err, "  nodes  ")) << all.err;
  EXPECT_TRUE(contains(tenon({"run", in_dir("add"), "-v"}).err, "artifact "));
  const Outcome checked = tenon({"check", file("other"), "-v"});
  EXPECT_TRUE(contains(checked.err, "import   2 nodes in ")) << checked.err;
  EXPECT_TRUE(contains(checked.err, "task     relu  1 call: ")) << checked.err;
  EXPECT_EQ(tenon({"check", file("other")}).err, "");
}

// Words of a text with one blank between them: docs break their lines elsewhere.
std::string in_one_line(const std::string& text) {
  std::istringstream words(text);
  std::string line, word;
  while (words >> word) line += (line.empty() ? "" : " ") + word;
  return line;
}

TEST_F(Newcomer, OpsetsAreTheSameInProgramAndDocs) {
  const int64_t next = onnx::kNewestOpset + 1;
  const std::string told = onnx::supported_opsets();
  EXPECT_TRUE(contains(told, "7 to " + std::to_string(onnx::kNewestOpset) + " are read")) << told;
  write("newer", value("input", "x", "2") + node("Relu", "x", "y") + value("output", "y", "2"),
        "opset_import { version: " + std::to_string(next) + " }\n");
  const Outcome o = tenon({"check", file("newer")});
  EXPECT_EQ(o.exit_code, 3);
  EXPECT_TRUE(contains(o.err, "opset " + std::to_string(next) + " is not supported: " + told))
      << o.err;
  for (const char* page : {"ops.md", "models.md"}) {
    const std::string docs =
        in_one_line(files::read_file(std::string(TENON_EXAMPLES "/../docs/") + page));
    EXPECT_TRUE(contains(docs, told)) << page;
  }
}

TEST_F(Newcomer, OneIsNoPlural) {
  const Args bench = {"bench", in_dir("other"), "--iterations", "1", "--duration", "0", "--warmup",
                      "0"};
  const Outcome one = tenon(bench);
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_TRUE(one.out.starts_with("1 run  ")) << one.out;
  const Outcome streams = tenon({"bench", in_dir("other"), "--streams", "1", "--threads", "1",
                                 "--duration", "0.02", "--warmup", "0"});
  ASSERT_EQ(streams.exit_code, 0) << streams.err;
  EXPECT_TRUE(contains(streams.out, "1 stream x   1 thread  throughput")) << streams.out;
  EXPECT_TRUE(contains(streams.out, " us\n")) << streams.out;  // ten numbers take no millisecond
  write("lone", value("input", "x", "2") + node("Abs", "x", "y") + value("output", "y", "2"));
  EXPECT_TRUE(contains(compile("lone", "lone", {"--lock", in_dir("other")}).err,
                       "has no schedule for the task of this model"));
}

TEST_F(Newcomer, BenchSaysHowManyThreadsRun) {
  const Outcome o = tenon({"bench", in_dir("other"), "--iterations", "2", "--warmup", "0",
                           "--duration", "0", "--threads", "999", "--json"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(Json::parse(o.out)["threads"], runtime::plan_pool(999).threads);
  const Outcome s = tenon({"bench", in_dir("other"), "--streams", "1", "--duration", "0.02",
                           "--warmup", "0", "--threads", "999", "--json"});
  ASSERT_EQ(s.exit_code, 0) << s.err;
  EXPECT_EQ(Json::parse(s.out)["rows"][0]["threads"], runtime::plan_pool(999).threads);
}

TEST_F(Newcomer, NativeIsTheHost) {
  const Json host = Json::parse(compile("other", "h", {"--target", "host", "--json"}).out);
  const Json native = Json::parse(compile("other", "n", {"--target", "native", "--json"}).out);
  EXPECT_EQ(host["target"], native["target"]);
}

TEST_F(Newcomer, IndicesThatNobodyChecksAreTold) {
  write("rows", value("input", "table", "5 2") + value("input", "at", "3", 7) +
                    node("Gather", "table at", "y", "name: \"pick\"") +
                    value("output", "y", "3 2"));
  const Outcome o = tenon({"check", file("rows")});
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_TRUE(contains(o.err, "note     pick: indices are known when the model runs only"))
      << o.err;
  EXPECT_EQ(Json::parse(tenon({"check", file("rows"), "--json"}).out)["unchecked_indices"],
            Json({"pick"}));
  compile("rows", "rows", {});
  EXPECT_TRUE(contains(files::read_file(in_dir("rows") + "/rows.h"),
                       "one outside of what it reads means the nearest place"));
}

TEST_F(Newcomer, WhatDecidesAboutSizesIsNotToBeBound) {
  const std::string image = value("input", "image", "1 3 4 4");
  const std::string y = value("output", "y", "n", 7);
  write("marks", image + node("NonZero", "image", "y") + y);
  write("colours", image + node("Unique", "image", "y") + y);
  write("bright", image + node("Cast", "image", "on", "attribute { name: \"to\" type: INT i: 9 }") +
                      node("Compress", "image on", "y") + y);
  for (const auto& [name, what] :
       {std::pair{"marks", "operand"}, {"colours", "operand"}, {"bright", "condition"}}) {
    const Outcome o = tenon({"check", file(name)});
    EXPECT_EQ(o.exit_code, 3) << name;
    EXPECT_TRUE(contains(o.err, fmt::format("depends on the {}, that is on 'image'", what)))
        << o.err;
    EXPECT_TRUE(contains(o.err, "end the model before this node")) << o.err;
    EXPECT_FALSE(contains(o.err, "--bind")) << o.err;
    const bool inside = name == std::string("bright");
    EXPECT_EQ(contains(o.err, "with 'on' as an output"), inside) << "where to cut: " << o.err;
  }
}

// The same holds where any other size depends on data.
TEST_F(Newcomer, AnImageThatDecidesAboutASizeIsNotToBeBound) {
  const std::string axis =
      "attribute { name: \"axis\" type: INT i: 3 } attribute { name: \"keepdims\" type: INT i: 0 }";
  write("stretched", value("input", "image", "1 3 4 4") + value("input", "x", "1 3 1") +
                         node("ArgMax", "image", "at", axis) + node("Expand", "x at", "y") +
                         value("output", "y", "n"));
  const Outcome o = tenon({"check", file("stretched")});
  EXPECT_EQ(o.exit_code, 3);
  EXPECT_TRUE(contains(o.err, "must be known when compiling and depends on input 'image'"))
      << o.err;
  EXPECT_TRUE(contains(o.err, "end the model before this node, with 'at' as an output")) << o.err;
  EXPECT_FALSE(contains(o.err, "--bind")) << o.err;
}

// Two switches are a setting of the model, and a library for one setting is of use.
TEST_F(Newcomer, SettingsThatDecideAboutSizesCanBeBound) {
  write("kept",
        value("input", "image", "2 3") + value("input", "keep", "2", 9) +
            node("Compress", "image keep", "y", "attribute { name: \"axis\" type: INT i: 0 }") +
            value("output", "y", "n 3"));
  const Outcome open = tenon({"check", file("kept")});
  EXPECT_EQ(open.exit_code, 3);
  EXPECT_TRUE(contains(open.err, "make it a constant: --bind keep=true,true")) << open.err;
  const Outcome bound = tenon({"check", file("kept"), "--bind", "keep=false,true", "--json"});
  ASSERT_EQ(bound.exit_code, 0) << bound.err;
  EXPECT_EQ(Json::parse(bound.out)["outputs"][0]["shape"], Json({1, 3}));
}

TEST_F(Newcomer, TargetsAreListed) {
  const Outcome o = tenon({"targets"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  for (const char* name : {"host", "x86-64-v3", "x86-64-v4-bf16", "aarch64", "cuda sm_90"}) {
    EXPECT_TRUE(contains(o.out, name)) << name;
  }
  const Json answer = Json::parse(tenon({"targets", "--json"}).out);
  EXPECT_EQ(answer["schema"], "tenon.targets/1");
  EXPECT_EQ(answer["targets"][0]["runs_here"], true);
  for (const Json& t : answer["targets"]) {
    if (t["name"] == "cuda") continue;  // needs a card
    const Outcome c = tenon({"explain", file("other"), "--target", t["name"]});
    EXPECT_EQ(c.exit_code, 0) << t["name"] << c.err;
  }
}

// The first number of each line of a table, up to an empty line.
std::set<int> codes(const std::string& text, const std::string& heading, size_t indent) {
  std::set<int> found;
  std::istringstream lines(text.substr(text.find(heading) + heading.size()));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() && !found.empty()) break;
    if (line.size() > indent && std::isdigit(static_cast<unsigned char>(line[indent])) != 0) {
      found.insert(std::stoi(line.substr(indent)));
    }
  }
  return found;
}

TEST_F(Newcomer, DocsAndHelpNameTheSameExitCodes) {
  const std::string docs = files::read_file(TENON_EXAMPLES "/../docs/cli.md");
  const std::string help = tenon({"run", "--help"}).out;
  const std::set<int> told = codes(help, "exit codes:", 2);
  EXPECT_EQ(told, (std::set<int>{0, 1, 2, 3, 4, 5, 6, 8, 130, 141})) << help;
  EXPECT_EQ(codes(docs, "## Exit codes", 2), told);
}

TEST_F(Newcomer, HelpSaysHowShapesAreWritten) {
  for (const Args& args : {Args{"compile", "--help"}, Args{"db", "why-miss", "--help"}}) {
    const Outcome o = tenon(args);
    EXPECT_TRUE(contains(o.out, "--shape NAME[SHAPE] ")) << o.out;
  }
}

TEST_F(Newcomer, IndicesOutsideOfTablesAreRefused) {
  const std::string ids =
      "initializer { name: \"ids\" data_type: 7 dims: 2 int64_data: [511, 512] }\n";
  write("table", ids + value("input", "t", "512 4") + node("Gather", "t ids", "y") +
                     value("output", "y", "2 4"));
  const Outcome o = tenon({"check", file("table")});
  EXPECT_EQ(o.exit_code, 3);
  EXPECT_TRUE(contains(o.err, "index 512 is outside of 512 places")) << o.err;
}

}  // namespace
}  // namespace tenon::testing
