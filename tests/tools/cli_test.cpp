// SPDX-License-Identifier: Apache-2.0
// The command line as a user sees it: exit code, stdout, one line on stderr.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/tenon_command.h"

namespace tenon::testing {
namespace {

std::string example(const std::string& name) { return std::string(TENON_EXAMPLES) + "/" + name; }

// A small program that a test can spoil.
constexpr const char* kTe =
    "input A: f32[7, 5]\nconst B: f32[5, 19]\n"
    "C[i: 7, j: 19] = sum(k: 5) A[i, k] * B[k, j]\noutput C\n";

TEST(Cli, BadCommandLines) {
  const struct {
    Args args;
    const char* message;
  } rows[] = {
      {{}, "a command is wanted"},
      {{"compute"}, "there is no command 'compute' (did you mean 'compare' or 'compile'?)"},
      {{"zebra"}, "there is no command 'zebra' (commands: check, compile, "},
      {{"version", "--jsno"}, "tenon version has no option '--jsno' (did you mean '--json'?)"},
      {{"version", "extra"}, "tenon version does not expect 'extra'"},
      {{"zoo", "wirte"}, "tenon zoo has no command 'wirte' (did you mean 'write'?)"},
      {{"zoo"}, "subcommand is required"},
      {{"zoo", "write", "resent50"}, "did you mean 'resnet50'?"},
      {{"help", "becnh"}, "did you mean 'bench'?"},
      {{"version", "--progress", "fast"}, "--progress"},
      {{"version", "--log-file", "no/such/folder/log"}, "no/such/folder/log: cannot be written"},
      {{"explain"}, "give either a model (or an artifact) or --te"},
      {{"explain", "--te"}, "--te"},
      {{"explain", "m.onnx", "--te", "-"}, "give either a model (or an artifact) or --te"},
      {{"explain", "--te", "-", "--trace", "x", "--template"}, "excludes"},
      {{"explain", "--te", "-", "--trace", "-"}, "cannot both be read from standard input"},
      {{"bench", "--te", "-", "--threads", "0"}, "--threads"},
      {{"bench", "--te", "-", "--duration", "soon"}, "--duration"},
  };
  for (const auto& row : rows) {
    expect_user_error(tenon(row.args), row.message);
  }
}

TEST(Cli, BadFiles) {
  const std::string matmul = example("matmul_relu.te");
  expect_user_error(tenon({"explain", "--te", "no/such.te"}),
                    "no/such.te: cannot be read: No such file");
  expect_user_error(tenon({"explain", "--te", TENON_EXAMPLES}), "cannot be read");
  expect_user_error(tenon({"explain", "--te", matmul, "--trace", "no/such.trace"}),
                    "no/such.trace: cannot be read: No such file");
  expect_user_error(tenon({"explain", "--te", matmul, "--trace", matmul}), "matmul_relu.te:2:1: ");
}

TEST(Cli, BadTensorExpressions) {
  const struct {
    const char* text;
    const char* message;
  } rows[] = {
      {"", "stdin:"},
      {"input A: f32[4]\nC[i: 4] = Q[i]\noutput C\n", "stdin:2:11: "},
      {"input A: f32[4]\nC[i: 9] = A[i]\noutput C\n", "stdin:"},
      {"input A: f99[4]\n", "stdin:1:10: "},
      {"input A: f32[4]\nC[i: 4] = A[i] +\noutput C\n", "stdin:"},
      {"\x01\x02\xff", "stdin:1:1: "},
  };
  for (const auto& row : rows) {
    expect_user_error(tenon({"explain", "--te", "-"}, row.text), row.message);
  }
}

TEST(Cli, BadTraces) {
  const std::string te = example("matmul_relu.te");
  const struct {
    const char* trace;
    const char* message;
  } rows[] = {
      {"splot C i [4]\n", "stdin:1:1: "},
      {"# fine\nsplit C q [4]\n", "stdin:2:"},
      {"split Q i [4]\n", "stdin:1:"},
      {"split C i [0]\n", "stdin:1:1: split C i [0]: factor 0 for loop i of C"},
      {"vectorize C k\nvectorize C k\n", "stdin:"},
      {"[[\"split\",99,0,[16],false]]", "stdin: step 1, "},
      {"[[\"split\"", "stdin:1:10: this is not JSON"},
      {"[[\"splot\",1]]", "stdin: step 1: unknown primitive \"splot\""},
  };
  for (const auto& row : rows) {
    expect_user_error(tenon({"explain", "--te", te, "--trace", "-"}, row.trace), row.message);
  }
}

TEST(Cli, BadChoices) {
  expect_user_error(tenon({"explain", "--te", "-", "--target", "x86-64-v9"}, kTe),
                    "there is no target 'x86-64-v9'");
  expect_user_error(tenon({"explain", "--te", "-", "--show", "loops,colour"}, kTe),
                    "--show: there is nothing called 'colour' (it is one of te, trace, ");
  expect_user_error(tenon({"explain", "--te", "-", "--show", "pass:polish"}, kTe),
                    "there is no pass 'polish' (passes: emit_loops, ");
  expect_user_error(tenon({"explain", "--te", "-", "--show", "pass:"}, kTe),
                    "nothing called 'pass:'");
  expect_user_error(tenon({"bench", "--te", "-"},
                          "input A: f32[1048576, 1000000]\nC[i: 4] = A[i, i]\noutput C\n"),
                    "its tensors take 3906.3 GiB");
#if defined(__x86_64__)
  expect_user_error(tenon({"bench", "--te", "-", "--target", "aarch64"}, kTe),
                    "target 'aarch64' does not run on this machine");
#endif
}

TEST(Cli, HelpGoesToStdout) {
  for (const Args& args :
       {Args{"--help"}, {"version", "--help"}, {"explain", "--help"}, {"bench", "-h"}}) {
    const Outcome o = tenon(args);
    EXPECT_EQ(o.exit_code, 0);
    EXPECT_TRUE(contains(o.out, "usage: tenon")) << o.out;
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

TEST(Explain, ShowsEachSection) {
  const struct {
    const char* section;
    const char* part;
  } rows[] = {
      {"te", "C[i: 7, j: 19] = sum(k: 5)"},
      {"loops", "reduce k in 5"},
      {"ir", "for "},
      {"pass:emit_loops", "for "},
      {"pass:flatten", "for "},
      {"llvm", "define"},
      {"llvm-opt", "define"},
      {"asm", ".globl"},
      {"summary", "machine code: "},
  };
  for (const auto& row : rows) {
    const Outcome o = tenon({"explain", "--te", "-", "--show", row.section}, kTe);
    EXPECT_EQ(o.exit_code, 0) << row.section << o.err;
    EXPECT_TRUE(contains(o.out, row.part)) << row.section << ":\n" << o.out;
    EXPECT_FALSE(contains(o.out, "== ")) << "one section needs no heading:\n" << o.out;
  }
}

TEST(Explain, ExampleTraceKeepsItsTileInRegisters) {
  const Outcome o = tenon({"explain", "--te", example("matmul_relu.te"), "--trace",
                           example("matmul_relu.trace"), "--target", "x86-64-v4", "--json"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const auto answer = nlohmann::json::parse(o.out);
  EXPECT_EQ(answer["schema"], "tenon.explain/1");
  const auto& summary = answer["sections"]["summary"];
  bool found = false;
  for (const auto& stage : summary["stages"]) {
    if (stage["name"] == "C.cache") {
      found = true;
      EXPECT_EQ(stage["place"], "inside D at j.0");
      EXPECT_EQ(stage["storage"], "16 registers");
      EXPECT_EQ(stage["loops"].back()["how"], "vectorised");
      EXPECT_EQ(stage["loops"].back()["extent"], 16);
    }
  }
  EXPECT_TRUE(found) << o.out;
  EXPECT_EQ(summary["hottest_block"]["multiply_adds"], 16);
  EXPECT_EQ(summary["code"]["spills"], 0);
  EXPECT_EQ(summary["code"]["reloads"], 0);
}

TEST(Explain, TraceRoundTripsThroughTheCommand) {
  const std::string te = example("matmul_relu.te");
  const Outcome first =
      tenon({"explain", "--te", te, "--trace", example("matmul_relu.trace"), "--show", "trace"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const Outcome second =
      tenon({"explain", "--te", te, "--trace", "-", "--show", "trace"}, first.out);
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(second.out, first.out);
}

TEST(Explain, CompilesForOtherMachines) {
  for (const char* target : {"x86-64-v2", "x86-64-v3", "aarch64"}) {
    const Outcome o = tenon({"explain", "--te", example("matmul_relu.te"), "--template", "--target",
                             target, "--show", "asm,summary"});
    EXPECT_EQ(o.exit_code, 0) << target << o.err;
    EXPECT_TRUE(contains(o.out, "machine code: ")) << target;
  }
}

TEST(Bench, EveryExampleIsRight) {
  for (const char* name : {"matmul_relu.te", "conv3x3.te", "softmax.te"}) {
    const Outcome o = tenon({"bench", "--te", example(name), "--template", "--duration", "0",
                             "--threads", "2", "--json"});
    ASSERT_EQ(o.exit_code, 0) << name << o.err;
    const auto answer = nlohmann::json::parse(o.out);
    EXPECT_EQ(answer["schema"], "tenon.bench/1");
    EXPECT_GT(answer["time_s"]["best"].get<double>(), 0);
    EXPECT_LT(answer["error"].get<double>(), 1e-5) << name;
    EXPECT_EQ(answer["threads"], 2);
  }
}

TEST(Bench, SaysWhatItMeasured) {
  const Outcome o = tenon({"bench", "--te", "-", "--duration", "0", "--threads", "1"}, kTe);
  EXPECT_EQ(o.exit_code, 0) << o.err;
  for (const char* part : {"right ", "time ", "speed ", "GFLOP/s"}) {
    EXPECT_TRUE(contains(o.out, part)) << o.out;
  }
  const Outcome unchecked = tenon({"bench", "--te", "-", "--duration", "0", "--no-check"}, kTe);
  EXPECT_EQ(unchecked.exit_code, 0) << unchecked.err;
  EXPECT_FALSE(contains(unchecked.out, "right ")) << unchecked.out;
}

}  // namespace
}  // namespace tenon::testing
