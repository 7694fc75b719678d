// SPDX-License-Identifier: Apache-2.0
// Libraries as people use them: from C and C++, shared and static, by other compilers.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "artifact/c_sources.h"
#include "artifact/commands.h"
#include "artifact/manifest_file.h"
#include "artifact/model.h"
#include "artifact/programs.h"
#include "artifact/write.h"
#include "te/ops.h"

namespace tenon::artifact {
namespace {

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteOptions options;
    options.directory = out_;
    options.outputs = parse_outputs("so,a,h,o");
    write(net_.program(), options);
  }
  ScratchFolder folder_;
  std::string out_ = folder_ / "out";
  Chain net_ = small_network("net", target::host_target());
};

TEST_F(CApi, TheHeaderIsPlainCAndCpp) {
  const std::string header = out_ + "/net.h";
  for (const char* compiler : {TENON_CC, "gcc-12"}) {
    std::vector<std::string> args = {compiler, "-fsyntax-only", "-x", "c", header};
    run_ok(args, kStrictC);
  }
  for (const char* compiler : {TENON_CXX, "g++-12"}) {
    run_ok({compiler, "-fsyntax-only", "-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic",
            "-Werror", header});
  }
  std::ifstream in(header);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  EXPECT_EQ(text.find("tenon_model"), std::string::npos);
  EXPECT_NE(text.find(" *   inputs[0]  x  f32 3x17, 204 bytes\n"), std::string::npos) << text;
}

TEST_F(CApi, TheHeaderGoesTogetherWithTheRuntimes) {
  for (const char* order : {"#include \"net.h\"\n#include \"tenon/runtime.h\"\n",
                            "#include \"tenon/runtime.h\"\n#include \"net.h\"\n"}) {
    write_text(
        folder_ / "both.c",
        std::string(order) + "const tenon_runtime* (*create)(int32_t) = tenon_runtime_create;\n");
    run_ok({TENON_CC, "-c", folder_ / "both.c", "-I", out_, "-I", TENON_INCLUDE, "-o",
            folder_ / "both.o"},
           kStrictC);
  }
}

TEST_F(CApi, TheExampleRunsWithTheSharedAndTheStaticLibrary) {
  const std::string source = std::string(TENON_EXAMPLES) + "/c_api/main.c";
  const std::string expected = expected_print(net_);
  const struct {
    const char* name;
    std::vector<std::string> link;
  } rows[] = {
      {"shared", {out_ + "/libnet.so", "-Wl,-rpath," + out_}},
      {"static", {out_ + "/libnet.a", "-lm", "-lpthread"}},
      {"object", {out_ + "/net.o", "-lm", "-lpthread"}},
  };
  for (const auto& row : rows) {
    const std::string program = out_ + "/" + row.name;  // beside the weights
    std::vector<std::string> args = {TENON_CC, source, "-I", out_, "-o", program};
    args.insert(args.end(), row.link.begin(), row.link.end());
    run_ok(args, kStrictC);
    EXPECT_EQ(output_of({program}), expected) << row.name;
    EXPECT_EQ(output_of({program, "3"}), expected) << row.name;
  }
}

TEST_F(CApi, TheExampleThatServesGivesEqualAnswersFromAllContexts) {
  const std::string program = out_ + "/serving";
  run_ok({TENON_CC, std::string(TENON_EXAMPLES) + "/serving/main.c", "-I", out_, "-o", program,
          out_ + "/libnet.so", "-Wl,-rpath," + out_, "-lpthread"},
         kStrictC);
  EXPECT_NE(output_of({program, "5", "40"}).find(": 200 of 200 runs are equal"), std::string::npos);
}

TEST_F(CApi, TwoLibrariesShareOnePool) {
  WriteOptions options;
  options.directory = folder_ / "other";
  options.outputs = parse_outputs("so,h");
  write(small_network("other", target::host_target()).program(), options);
  write_text(folder_ / "two.c", kModelsOnOnePool);
  const std::string program = folder_ / "two", other = folder_ / "other";
  run_ok({TENON_CC, folder_ / "two.c", "-I", out_, "-I", other, "-o", program, out_ + "/libnet.so",
          other + "/libother.so", "-Wl,-rpath," + out_ + ":" + other, "-lpthread"});
  EXPECT_EQ(output_of({program}), "equal on 3 threads\n");
}

TEST_F(CApi, ARuntimeOfTheCallersIsUsedOrRefused) {
  Chain wide("net", target::host_target());  // large enough for its loops to be parallel
  wide.input("x", ir::kF32, {512, 400});
  wide.output("y", ir::kF32, {512, 400});
  te::Builder b;
  b.output(te::relu(b, "Y", b.input("X", ir::kF32, {512, 400})));
  te::ComputeDag dag = b.finish();
  dag.name = "relu";
  wide.step(dag, {"x"}, {"y"});
  write(wide.program(), {.directory = out_});
  write_text(folder_ / "own.c", kOwnThreads);
  const std::string program = folder_ / "own";
  Words args = {TENON_CC,
                folder_ / "own.c",
                "-I",
                out_,
                "-o",
                program,
                out_ + "/libnet.so",
                "-Wl,-rpath," + out_};
  run_ok(args, kStrictC);
  const std::string said = output_of({program});
  EXPECT_NE(said.find("its `parallel` is NULL: give the function that runs a loop"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("its `threads` is 0: give 1 or more"), std::string::npos) << said;
  EXPECT_NE(said.find("equal, by loops in turn"), std::string::npos) << said;
}

TEST_F(CApi, NothingIsAllocatedAfterCreation) {
  write_text(folder_ / "count.c", kCountAllocations);
  const std::string program = folder_ / "count";
  run_ok({TENON_CC, folder_ / "count.c", "-I", out_, "-o", program, out_ + "/libnet.so",
          "-Wl,-rpath," + out_});
  run_ok({program});
}

TEST_F(CApi, AfterForkTheChildIsToldAndNeverHangs) {
  write_text(folder_ / "forks.c", kForks);
  const std::string shared = folder_ / "forks";
  const std::string linked = out_ + "/forks_static";  // beside the weights
  run_ok({TENON_CC, folder_ / "forks.c", "-I", out_, "-o", shared, out_ + "/libnet.so",
          "-Wl,-rpath," + out_});
  run_ok({TENON_CC, folder_ / "forks.c", "-I", out_, "-o", linked, out_ + "/libnet.a", "-lm",
          "-lpthread"});
  for (const std::string& program : {shared, linked}) {
    EXPECT_NE(output_of({program}).find("create the context after fork"), std::string::npos);
  }
}

TEST_F(CApi, TwoThreadsWithOneContextNeverGetWrongNumbers) {
  write_text(folder_ / "share.c", kShareContext);
  const std::string program = folder_ / "share";
  run_ok({TENON_CC, folder_ / "share.c", "-I", out_, "-o", program, out_ + "/libnet.so",
          "-Wl,-rpath," + out_, "-lpthread"});
  EXPECT_NE(output_of({program}).find("one context per thread"), std::string::npos);
}

// What tenon wrote before a library could say the version of its interface.
TEST_F(CApi, ALibraryOfAnotherVersionIsRefused) {
  const struct {
    const char* source;
    const char* says;
  } rows[] = {
      {"int net_run(void) { return 0; }\n", "does not define net_interface"},
      {"int net_interface(void) { return 99; }\n", "has version 99 of the C interface"},
  };
  for (const auto& row : rows) {
    write_text(folder_ / "old.c", row.source);
    run_ok({TENON_CC, "-shared", "-fPIC", folder_ / "old.c", "-o", out_ + "/libnet.so"});
    const std::string manifest = read_small_file(out_ + "/net.json");
    write_text(out_ + "/net.json", with_files(manifest, {describe_file(out_, "libnet.so")}));
    try {
      Model::load(out_);
      ADD_FAILURE() << row.says;
    } catch (const UserError& e) {
      const std::string sentence = e.what();
      EXPECT_NE(sentence.find(row.says), std::string::npos) << sentence;
      EXPECT_NE(sentence.find("compile the model again"), std::string::npos) << sentence;
    }
  }
}

TEST_F(CApi, DependsOnLibcAndLibmAndShowsItsInterfaceOnly) {
  const std::string library = out_ + "/libnet.so";
  std::set<std::string> needed;
  std::istringstream lines(output_of({"readelf", "-d", library}));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(NEEDED)") != std::string::npos) {
      needed.insert(line.substr(line.find('[')));
    }
    EXPECT_EQ(line.find("PATH)"), std::string::npos) << line;
    EXPECT_EQ(line.find("TEXTREL"), std::string::npos) << line;
  }
  EXPECT_EQ(needed, (std::set<std::string>{"[libc.so.6]", "[libm.so.6]"}));

  std::set<std::string> shown;
  std::istringstream symbols(output_of({"nm", "-D", "--defined-only", library}));
  for (std::string address, kind, name; symbols >> address >> kind >> name;) {
    shown.insert(name);
  }
  EXPECT_EQ(
      shown,
      (std::set<std::string>{
          "net_create",         "net_create_with", "net_destroy",        "net_dim_count",
          "net_dimension",      "net_error",       "net_input",          "net_input_count",
          "net_input_now",      "net_output_now",  "net_output_given",   "net_set_shape",
          "net_interface",      "net_manifest",    "net_output",         "net_output_count",
          "net_refused",        "net_run",         "net_runtime_create", "net_runtime_destroy",
          "net_set_hook",       "net_step_count",  "net_step_name",      "net_target",
          "net_threads",        "net_use_target",  "net_version",        "net_weights_bytes",
          "net_workspace_bytes"}));
  // Nor do the objects show more to a program they are linked into.
  std::istringstream inside(output_of({"nm", "-g", "--defined-only", out_ + "/net.o"}));
  for (std::string address, kind, name; inside >> address >> kind >> name;) {
    EXPECT_TRUE(name.starts_with("net_")) << name;
  }
}

TEST_F(CApi, NoPathsAndNoTimesInside) {
  std::ifstream in(out_ + "/libnet.so", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  EXPECT_EQ(bytes.find(folder_.path().string()), std::string::npos);
  EXPECT_EQ(bytes.find(TENON_INCLUDE), std::string::npos);
}

TEST(CApiTwo, TwoModelsInOneProgram) {
  const ScratchFolder folder;
  const std::string out = folder / "out";
  for (const char* name : {"one", "two"}) {
    WriteOptions options;
    options.directory = out;
    options.outputs = parse_outputs("a,h,so");
    write(small_network(name, target::host_target()).program(), options);
  }
  write_text(folder / "two.c", kTwoModels);
  run_ok({TENON_CC, folder / "two.c", "-I", out, out + "/libone.a", out + "/libtwo.a", "-lm",
          "-lpthread", "-o", out + "/static"},
         kStrictC);
  run_ok({TENON_CC, folder / "two.c", "-I", out, out + "/libone.so", out + "/libtwo.so",
          "-Wl,-rpath," + out, "-o", out + "/shared"},
         kStrictC);
  const std::string printed = output_of({out + "/static"});
  EXPECT_EQ(output_of({out + "/shared"}), printed);
  std::istringstream lines(printed);
  int count = 0;
  for (std::string a, b; lines >> a >> b; ++count) {
    EXPECT_EQ(a, b);
  }
  EXPECT_EQ(count, 87);
}

}  // namespace
}  // namespace tenon::artifact
