// SPDX-License-Identifier: Apache-2.0
#include "target/target.h"
#include "target/fingerprint.h"

#include <gtest/gtest.h>

#include <set>

#include "support/check.h"

namespace tenon::target {
namespace {

std::string error_of(const std::string& text) {
  try {
    parse_target(text);
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

TEST(Targets, RowsDescribeTheirVectors) {
  const struct {
    const char* name;
    int vector_bytes;
    int vector_registers;
    bool has_fma;
  } rows[] = {
      {"x86-64", 16, 16, false},        {"x86-64-v2", 16, 16, false},
      {"x86-64-v3", 32, 16, true},      {"x86-64-v4", 64, 32, true},
      {"x86-64-v4-vnni", 64, 32, true}, {"x86-64-v4-bf16", 64, 32, true},
      {"aarch64", 16, 32, true},        {"aarch64-dotprod", 16, 32, true},
  };
  EXPECT_EQ(known_targets().size(), std::size(rows));
  for (const auto& row : rows) {
    const Target t = parse_target(row.name);
    EXPECT_EQ(t.name, row.name);
    EXPECT_EQ(t.cpu().vector_bytes, row.vector_bytes) << row.name;
    EXPECT_EQ(t.cpu().vector_registers, row.vector_registers) << row.name;
    EXPECT_EQ(t.cpu().has_fma, row.has_fma) << row.name;
    EXPECT_EQ(t.cpu().lanes(4), row.vector_bytes / 4) << row.name;
    EXPECT_EQ(t.cpu().cores, 1) << row.name;
  }
}

TEST(ParseTarget, ReadsEveryKey) {
  const Target t = parse_target("  x86-64-v4  cores=12 l1d=48K l2=2M l3=33554432 vector_bytes=32 ");
  EXPECT_EQ(t.cpu().cores, 12);
  EXPECT_EQ(t.cpu().l1d_bytes, 48 << 10);
  EXPECT_EQ(t.cpu().l2_bytes, 2 << 20);
  EXPECT_EQ(t.cpu().l3_bytes, 32 << 20);
  EXPECT_EQ(t.cpu().vector_bytes, 32);
  EXPECT_EQ(t.cpu().vector_registers, 32);
  EXPECT_EQ(t.cpu().processor, "x86-64-v4");
  EXPECT_EQ(parse_target("aarch64 l3=0").cpu().l3_bytes, 0);
}

TEST(Targets, GpusAreNamedByTwoWords) {
  const struct {
    const char* name;
    int multiprocessors;
    int64_t shared_kib;
  } rows[] = {{"cuda sm_80", 108, 163},
              {"cuda sm_86", 84, 99},
              {"cuda sm_89", 128, 99},
              {"cuda sm_90", 132, 227},
              {"cuda simt", 4, 99}};
  EXPECT_EQ(gpu_targets().size(), std::size(rows));
  for (const auto& row : rows) {
    const Target t = parse_target(row.name);
    EXPECT_EQ(t.name, row.name);
    EXPECT_FALSE(t.is_cpu());
    EXPECT_EQ(t.gpu().multiprocessors, row.multiprocessors) << row.name;
    EXPECT_EQ(t.gpu().shared_bytes_per_block, row.shared_kib << 10) << row.name;
    EXPECT_EQ(t.backend, "nvptx") << row.name;
    EXPECT_EQ(t.device, "cuda") << row.name;
    EXPECT_EQ(t.line_bytes(), 128) << row.name;
  }
  EXPECT_EQ(parse_target("  cuda   sm_90 ").name, "cuda sm_90");
}

TEST(ParseTarget, RefusalsNameTheTextAndTheReason) {
  const struct {
    const char* text;
    const char* expected;
  } rows[] = {
      {"", "target '': no name given (known: host, x86-64, "},
      {"x86-64-v9", "target 'x86-64-v9': there is no target 'x86-64-v9' (known: host, "},
      {"X86-64", "there is no target 'X86-64'"},
      {"x86-64 cores", "'cores' is not key=value"},
      {"x86-64 core=4", "unknown key 'core' (keys: cores, "},
      {"x86-64 cores=", "cores= is not a number in 1..4096"},
      {"x86-64 cores=0", "cores=0 is not a number in 1..4096"},
      {"x86-64 cores=-3", "cores=-3 is not"},
      {"x86-64 cores=4K", "cores=4K is not"},
      {"x86-64 cores=4 cores=x", "cores=x is not"},
      {"x86-64 cores=99999999999999999999", "is not a number"},
      {"x86-64 l2=1G", "l2=1G is not a number in 1024.."},
      {"x86-64 l2=9223372036854775807M", "is not a number"},
      {"x86-64 l1d=0", "l1d=0 is not a number in 1024.."},
      {"x86-64-v3 vector_bytes=64", "vector_bytes=64 is not a number in 16..32"},
      {"x86-64-v3 vector_bytes=24", "vector_bytes=24 is not a power of two"},
      {"x86-64-v3 vector_bytes=8", "vector_bytes=8 is not a number in 16..32"},
      {"x86-64 =4", "unknown key ''"},
      {"x86-64 sm_90", "'sm_90' is not key=value"},
      {"cuda sm_70", "target 'cuda sm_70': there is no target 'cuda sm_70' (known: host, "},
      {"cuda sm_90 cores=4", "target 'cuda sm_90 cores=4': a GPU has no settings, so no 'cores=4'"},
      {"cuda sm_90 l2=4M", "a GPU has no settings, so no 'l2=4M'"},
  };
  for (const auto& row : rows) {
    const std::string error = error_of(row.text);
    EXPECT_NE(error.find(row.expected), std::string::npos) << row.text << ": " << error;
  }
}

TEST(Fingerprint, ChangesWithEverythingThatChangesTimes) {
  const std::set<std::string> texts = {
      parse_target("x86-64-v4").fingerprint(),
      parse_target("x86-64-v3").fingerprint(),
      parse_target("x86-64-v4 cores=2").fingerprint(),
      parse_target("x86-64-v4 l1d=48K").fingerprint(),
      parse_target("x86-64-v4 l2=4M").fingerprint(),
      parse_target("x86-64-v4 l3=4M").fingerprint(),
      parse_target("aarch64").fingerprint(),
      parse_target("x86-64-v4 vector_bytes=32").fingerprint(),
      parse_target("x86-64-v4 vector_bytes=16").fingerprint(),
  };
  EXPECT_EQ(texts.size(), 9U);
  EXPECT_EQ(parse_target("x86-64-v4").fingerprint(), parse_target("x86-64-v4").fingerprint());
  std::set<std::string> gpus;
  for (const Target& t : gpu_targets()) gpus.insert(t.fingerprint());
  EXPECT_EQ(gpus.size(), gpu_targets().size());
}

// Records say no more of the machine that they were measured on.
TEST(Fingerprint, TellsWhichMachineItWas) {
  const std::string xeon =
      "x86_64-unknown-linux-gnu;x86-64-v4;+avx512vnni;GenuineIntel 6/207/2;vector=64x32;cores=16;"
      "l1d=49152;l2=2097152;l3=314572800;line=64";
  const auto t = target_of_fingerprint(xeon);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->fingerprint(), xeon);
  EXPECT_EQ(t->machine, "GenuineIntel 6/207/2");
  EXPECT_EQ(t->cpu().rates, *known_rates(t->machine));
  for (const char* text : {"x86-64-v3 cores=4", "aarch64-dotprod", "x86-64-v4 vector_bytes=32"}) {
    const Target row = parse_target(text);
    const auto again = target_of_fingerprint(row.fingerprint());
    ASSERT_TRUE(again) << text;
    EXPECT_EQ(to_text(*again), to_text(row)) << text;
  }
  const Target host = host_target();
  const auto here = target_of_fingerprint(host.fingerprint());
  ASSERT_TRUE(here) << host.fingerprint();
  EXPECT_EQ(here->cpu().datapath_bytes, host.cpu().datapath_bytes);
  for (const char* text : {"", "sim 1", "x86_64-unknown-linux-gnu;x86-64-v4;;;vector=64x32",
                           "x86_64-unknown-linux-gnu;x86-64-v9;;;vector=64x32;cores=1;l1d=32768"}) {
    EXPECT_FALSE(target_of_fingerprint(text)) << text;
  }
}

// Records of a borrowed card are learned from on machines that have none.
TEST(Fingerprint, TellsWhichCardItWas) {
  const std::string card =
      "nvptx64-nvidia-cuda;sm_90;NVIDIA H200;multiprocessors=132;threads=1024x2048;"
      "registers=255x65536;shared=232448x233472;l2=62914560";
  const auto t = target_of_fingerprint(card);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->fingerprint(), card);
  EXPECT_EQ(t->name, "cuda");
  EXPECT_EQ(t->gpu().l2_bytes, 62914560);
  for (const Target& row : gpu_targets()) {
    const auto again = target_of_fingerprint(row.fingerprint());
    ASSERT_TRUE(again) << row.name;
    EXPECT_EQ(to_text(*again), to_text(row)) << row.name;
  }
  for (const char* text :
       {"nvptx64-nvidia-cuda;sm_90;NVIDIA H200;multiprocessors=132",
        "nvptx64-nvidia-cuda;sm_10;;multiprocessors=1;threads=1x1;registers=1x1;shared=1x1;l2=1"}) {
    EXPECT_FALSE(target_of_fingerprint(text)) << text;
  }
}

// Records, lock files and caches of other runs are found by these texts.
TEST(Fingerprint, OfRowsStaysAsItIs) {
  EXPECT_EQ(parse_target("x86-64-v3 cores=4").fingerprint(),
            "x86_64-unknown-linux-gnu;x86-64-v3;;;vector=32x16;cores=4;l1d=32768;l2=524288;l3=0;"
            "line=64");
  EXPECT_EQ(parse_target("aarch64-dotprod").fingerprint(),
            "aarch64-unknown-linux-gnu;generic;+dotprod;;vector=16x32;cores=1;l1d=32768;l2=524288;"
            "l3=0;line=64");
  EXPECT_EQ(parse_target("cuda sm_90").fingerprint(),
            "nvptx64-nvidia-cuda;sm_90;;multiprocessors=132;threads=1024x2048;registers=255x65536;"
            "shared=232448x233472;l2=52428800");
}

// Look-ups in tables of bytes alone use it, and programs without them are the same.
TEST(Fingerprint, StaysWithInstructionsForTables) {
  const Target plain = parse_target("x86-64-v4-vnni");
  Target more = plain;
  more.cpu().features = "+avx512vbmi," + plain.cpu().features;
  EXPECT_EQ(more.fingerprint(), plain.fingerprint());
  more.cpu().features = "+avx512vbmi";
  EXPECT_EQ(more.fingerprint(), parse_target("x86-64-v4").fingerprint());
}

Target some_gpu() {
  Gpu gpu;
  gpu.processor = "sm_90";
  gpu.multiprocessors = 132;
  return {.name = "some",
          .arch = Arch::kNvptx64,
          .triple = "nvptx64-nvidia-cuda",
          .machine = "a card",
          .backend = "none",
          .device = "none",
          .part = gpu};
}

TEST(Parts, AskingForTheOtherIsABug) {
  EXPECT_THROW(some_gpu().cpu(), InternalError);
  EXPECT_THROW(host_target().gpu(), InternalError);
  EXPECT_EQ(some_gpu().gpu().multiprocessors, 132);
  EXPECT_FALSE(runs_here(some_gpu()));
}

TEST(Rates, OfUnknownProcessorsFollowTheWidthOfTheirUnits) {
  EXPECT_TRUE(known_rates("AuthenticAMD 25/17/1"));
  EXPECT_TRUE(known_rates("AuthenticAMD 26/2/1"));
  EXPECT_TRUE(known_rates("GenuineIntel 6/207/2"));
  EXPECT_EQ(known_rates("GenuineIntel 6/20/7"), std::nullopt);
  EXPECT_EQ(guessed_rates(16), guessed_rates(32));
  EXPECT_GT(guessed_rates(64).flops_per_byte, guessed_rates(32).flops_per_byte);
  EXPECT_GT(guessed_rates(64).flops_per_cached_byte, guessed_rates(32).flops_per_cached_byte);
  EXPECT_EQ(parse_target("x86-64-v3").cpu().rates, guessed_rates(32));
  EXPECT_EQ(parse_target("x86-64-v4").cpu().rates, guessed_rates(64));
}

TEST(Text, OfAnyTargetIsReadBack) {
  std::vector<Target> all = known_targets();
  all.insert(all.end(), gpu_targets().begin(), gpu_targets().end());
  all.push_back(host_target());
  all.push_back(some_gpu());
  all.front().cpu().rates.flops_per_byte = 1.0 / 3;
  all.front().limits.local_bytes = 77;
  for (const Target& t : all) {
    const Target back = target_from_text(to_text(t));
    EXPECT_EQ(back.name, t.name);
    EXPECT_EQ(back.arch, t.arch) << t.name;
    EXPECT_EQ(back.fingerprint(), t.fingerprint());
    EXPECT_EQ(to_text(back), to_text(t));
  }
}

TEST(Text, AnUnknownArchitectureIsRefused) {
  std::string text = to_text(parse_target("aarch64"));
  text.replace(text.find("\naarch64\n"), 9, "\nriscv64\n");
  try {
    target_from_text(text);
    FAIL() << text;
  } catch (const UserError& e) {
    EXPECT_STREQ(e.what(), "there is no architecture 'riscv64'");
  }
}

}  // namespace
}  // namespace tenon::target
