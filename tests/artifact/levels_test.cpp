// SPDX-License-Identifier: Apache-2.0
// One library for several instruction sets: each of those that this machine has gives the right answer.
#include "artifact/levels.h"

#include <gtest/gtest.h>

#include "artifact/commands.h"
#include "artifact/manifest.h"
#include "artifact/model.h"
#include "artifact/programs.h"
#include "artifact/verify.h"
#include "artifact/write.h"

namespace tenon::artifact {
namespace {

#if defined(__x86_64__)

// Runs each target that it is given, as far as the CPU has it.
constexpr const char* kEachTarget = R"(
#include <stdio.h>
#include <string.h>
#include <net.h>
static float in[51], out[87];
int main(int argc, char** argv) {
  const char* why = "";
  for (int i = 0; i < 51; ++i) in[i] = 1;
  printf("loaded %s\n", net_target());
  for (int i = 1; i < argc; ++i) {
    if (net_use_target(argv[i], &why) != 0) { printf("%s: %s\n", argv[i], why); continue; }
    net_ctx* ctx = net_create(2, &why);
    if (ctx == NULL) { printf("%s: %s\n", argv[i], why); continue; }
    const void* inputs[] = {in};
    void* outputs[] = {out};
    if (net_run(ctx, inputs, outputs) != 0) return 1;
    printf("%s %s:", argv[i], net_target());
    for (int k = 0; k < 5; ++k) printf(" %.5f", (double)out[k]);
    printf("\n");
    if (i == 1 && net_use_target(argv[2], &why) != 8) return 2;
    if (i == 1) printf("%s\n", why);
    net_destroy(ctx);
  }
  return 0;
}
)";

std::vector<Program> levels_of(const std::vector<const char*>& targets) {
  std::vector<Program> programs;
  for (const char* t : targets) {
    programs.push_back(small_network("net", target::parse_target(t)).program());
  }
  return programs;
}

const std::vector<const char*> kTargets = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

TEST(Levels, EachOfThemIsRight) {
  const ScratchFolder folder;
  const std::string out = folder / "out";
  const Chain net = small_network("net", target::parse_target("x86-64-v2"));
  const std::vector<Program> levels = join_levels(levels_of(kTargets));
  write(levels, {out, parse_outputs("so,a,h")});
  EXPECT_EQ(verify(out).problems(), 0U);
  std::string best;
  for (const char* t : kTargets) best = target::runs_here(target::parse_target(t)) ? t : best;
  const Model model = Model::load(out);
  EXPECT_EQ(model.target(), best);
  const auto inputs = net.random_inputs(5);
  EXPECT_EQ(difference(net.expected(inputs), Session(model, 2).run(inputs)), "");

  write_text(folder / "each.c", kEachTarget);
  const std::string numbers = expected_print(net).substr(expected_print(net).find(':'));
  for (const Words& link : {Words{out + "/libnet.so", "-Wl,-rpath," + out},
                            Words{out + "/libnet.a", "-lm", "-lpthread"}}) {
    Words args = {TENON_CC, folder / "each.c", "-I", out, "-o", out + "/each"};
    args.insert(args.end(), link.begin(), link.end());
    run_ok(args, kStrictC);
    const std::string said =
        output_of({out + "/each", "x86-64-v2", "x86-64-v3", "x86-64-v4", "z80"});
    EXPECT_EQ(said.find("loaded " + best + "\n"), 0U) << said;
    EXPECT_NE(said.find("only while there is no context"), std::string::npos) << said;
    EXPECT_NE(said.find("z80: this library has no code for z80"), std::string::npos) << said;
    for (const std::string t : kTargets) {
      if (!target::runs_here(target::parse_target(t))) {
        EXPECT_NE(said.find(t + ": this library needs "), std::string::npos) << said;
      } else {
        EXPECT_NE(said.find(t + " " + t + numbers), std::string::npos) << said << numbers;
      }
    }
  }
}

// Packed alike they lie in the file once.
TEST(Levels, EqualWeightsAreStoredOnce) {
  const std::vector<Program> apart = levels_of(kTargets);
  std::vector<Program> same = apart;
  for (Program& p : same) p.weights = apart[0].weights;
  const std::vector<Program> joined = join_levels(same);
  EXPECT_EQ(joined[2].weights.size(), apart[0].weights.size());
  EXPECT_EQ(joined[2].weights_bytes, align_up(apart[0].weights_bytes));
  EXPECT_EQ(joined[0].weights_bytes, joined[2].weights_bytes);
  for (const Program& p : join_levels(apart)) p.check();
}

TEST(Levels, MustBeInOrderAndOfOneArchitecture) {
  for (const std::vector<const char*>& wrong : {std::vector{"x86-64-v3", "x86-64-v2"},
                                                {"x86-64-v3", "x86-64-v3"},
                                                {"x86-64-v3", "aarch64"}}) {
    EXPECT_THROW(join_levels(levels_of(wrong)), UserError) << wrong[0] << wrong[1];
  }
}

#endif

}  // namespace
}  // namespace tenon::artifact
