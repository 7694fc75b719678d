// SPDX-License-Identifier: Apache-2.0
// Libraries for other machines: another architecture under an emulator, other levels of this one, and CPUs
// that lack what a library needs.
#include <gtest/gtest.h>

#include "artifact/commands.h"
#include "artifact/manifest.h"
#include "artifact/model.h"
#include "artifact/programs.h"
#include "artifact/write.h"
#include "runtime/cpu_check.h"
#include "tools/run_command.h"

namespace tenon::artifact {
namespace {

bool is_installed(const std::string& program) {
  return testing::run_command({"/usr/bin/env", program, "--version"}).exit_code == 0;
}

TEST(Targets, AArch64UnderAnEmulator) {
  if (!is_installed("aarch64-linux-gnu-gcc") || !is_installed("qemu-aarch64")) {
    GTEST_SKIP() << "needs gcc-aarch64-linux-gnu and qemu-user";
  }
  const ScratchFolder folder;
  const std::string out = folder / "out";
  const Chain net = small_network("net", target::parse_target("aarch64"));
  WriteOptions options;
  options.directory = out;
  options.outputs = parse_outputs("so,a,h");
  write(net.program(), options);
  const std::string source = std::string(TENON_EXAMPLES) + "/c_api/main.c";
  const struct {
    const char* name;
    Words link;
  } rows[] = {
      {"shared", {out + "/libnet.so", "-Wl,-rpath," + out}},
      {"static", {out + "/libnet.a", "-static", "-lm", "-lpthread"}},
  };
  for (const auto& row : rows) {
    const std::string program = out + "/" + row.name;
    Words args = {"aarch64-linux-gnu-gcc", source, "-I", out, "-o", program};
    args.insert(args.end(), row.link.begin(), row.link.end());
    run_ok(args, kStrictC);
    EXPECT_EQ(output_of({"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", program, "2"}),
              expected_print(net))
        << row.name;
  }
}

TEST(Targets, LevelsOfThisArchitecture) {
  const target::Target host = target::host_target();
  for (const target::Target& t : target::known_targets()) {
    if (t.arch != host.arch || !target::runs_here(t)) {
      continue;
    }
    const ScratchFolder folder;
    const Chain net = small_network("net", t);
    write(net.program(), {.directory = folder / "out"});
    const Model model = Model::load(folder / "out");
    EXPECT_EQ(model.target(), t.name);
    const auto inputs = net.random_inputs(1);
    EXPECT_EQ(difference(net.expected(inputs), Session(model, 2).run(inputs)), "") << t.name;
  }
}

#if defined(__x86_64__)

TEST(Targets, NeedsAreThoseOfTheLevel) {
  const auto count = [](const char* target) {
    return __builtin_popcountll(cpu_needs(target::parse_target(target)));
  };
  EXPECT_EQ(count("x86-64"), 0);
  EXPECT_EQ(count("x86-64-v2"), 7);
  EXPECT_EQ(count("x86-64-v3"), 15);
  EXPECT_EQ(count("x86-64-v4"), 20);
  EXPECT_EQ(count("aarch64"), 0);
  target::Target odd = target::parse_target("x86-64-v3");
  odd.cpu().features = "+avxvnni,+nonsense";
  EXPECT_THROW(cpu_needs(odd), UserError);
}

TEST(Targets, ACpuThatLacksAFeatureIsToldSo) {
  char sentence[512];
  // The last in the list: LLVM makes no code for avx512f alone with vectors of AVX2.
  std::string missing;
  for (size_t i = 0; i < std::size(runtime::kX86Features); ++i) {
    if (!runtime::check_cpu(uint64_t{1} << i, sentence, sizeof sentence)) {
      missing = runtime::kX86Features[i].name;
    }
  }
  if (missing.empty()) {
    GTEST_SKIP() << "this CPU has everything";
  }
  const ScratchFolder folder;
  target::Target t = target::host_target();
  t.cpu().features = "+" + missing;
  write(small_network("net", t).program(), {.directory = folder / "out"});
  const Model model = Model::load(folder / "out");
  try {
    const Session session(model, 1);
    FAIL() << "a library that needs " << missing << " was started";
  } catch (const UserError& e) {
    const std::string why = e.what();
    EXPECT_NE(why.find("this library needs "), std::string::npos) << why;
    EXPECT_NE(why.find(missing), std::string::npos) << why;
    EXPECT_NE(why.find(": compile with --target " + target::host_target().cpu().processor),
              std::string::npos)
        << why;
  }
}

TEST(Targets, ALibraryForAnotherArchitectureIsNotLoaded) {
  const ScratchFolder folder;
  write(small_network("net", target::parse_target("aarch64")).program(),
        {.directory = folder / "out"});
  try {
    Model::load(folder / "out");
    FAIL() << "loaded";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("is for aarch64 and does not run on this machine"),
              std::string::npos)
        << e.what();
  }
}

#endif

}  // namespace
}  // namespace tenon::artifact
