// SPDX-License-Identifier: Apache-2.0
// The part of finished libraries that does not depend on the model.
#include "runtime/model.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "runtime/by_hand.h"
#include "runtime/cpu_check.h"

namespace tenon::runtime {
namespace {

TEST(Model, RunsWithAnyAlignmentAndAnyNumberOfThreads) {
  const WeightsFile file;
  for (const int32_t threads : {1, 2, 5}) {
    const Ctx ctx = create(with_weights(file, threads));
    EXPECT_EQ(tenon_model_threads(ctx.get()), threads);
    for (const size_t shift : {0U, 8U, 64U, 24U}) {
      const Buffers b(shift);
      fill_and_check(ctx.get(), b, 3);
      fill_and_check(ctx.get(), b, -1);
    }
  }
}

TEST(Model, EightThreadsWithAContextEach) {
  const WeightsFile file;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&file, t] {
      const Ctx ctx = create(with_weights(file, 1 + t % 3));
      const Buffers b(t % 2 == 0 ? 0 : 8);
      for (int round = 0; round < 20; ++round) {
        fill_and_check(ctx.get(), b, static_cast<float>(t + round));
      }
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
}

TEST(Model, AnOutputMayLieInTheMemoryOfAnInput) {
  const WeightsFile file;
  const Ctx ctx = create(with_weights(file));
  const Buffers b(0);
  for (int64_t i = 0; i < kElements; ++i) {
    b.x[i] = 1;
  }
  const void* inputs[] = {b.x, nullptr};
  void* outputs[] = {b.x, b.n};
  ASSERT_EQ(tenon_model_run(ctx.get(), inputs, outputs), 0);
  for (int64_t i = 0; i < kElements; ++i) {
    ASSERT_EQ(b.x[i], 2 * static_cast<float>(i + 1)) << i;
  }
}

TEST(Model, NullPointersAreReported) {
  const WeightsFile file;
  const Ctx ctx = create(with_weights(file));
  const Buffers b(0);
  *b.n = -1;
  const void* inputs[] = {nullptr, nullptr};
  void* outputs[] = {b.y, b.n};
  EXPECT_EQ(tenon_model_run(ctx.get(), inputs, outputs), 1);
  inputs[0] = b.x;
  outputs[0] = nullptr;
  EXPECT_EQ(tenon_model_run(ctx.get(), inputs, outputs), 1);
  EXPECT_EQ(tenon_model_run(ctx.get(), nullptr, outputs), 1);
  EXPECT_EQ(*b.n, -1);
}

TEST(Model, TheCallersWorkspaceIsUsedAndNotOverrun) {
  const WeightsFile file;
  const size_t bytes = tenon_model_workspace_bytes();
  EXPECT_GE(bytes, static_cast<size_t>(kArenaBytes) + 64 + 2 * kBytes + sizeof(double));
  auto* memory = static_cast<unsigned char*>(std::aligned_alloc(64, (bytes + 64 + 63) / 64 * 64));
  std::memset(memory, 0x5C, bytes + 64);
  {
    tenon_model_options o = with_weights(file);
    o.workspace = memory;
    const Ctx ctx = create(o);
    fill_and_check(ctx.get(), Buffers(8), 1);
    EXPECT_NE(memory[0] + memory[1] + memory[2] + memory[3], 4 * 0x5C);
    for (size_t i = 0; i < 64; ++i) {
      EXPECT_EQ(memory[bytes + i], 0x5C);
    }
    o.workspace = memory + 8;
    EXPECT_EQ(refusal(o), "the workspace is not aligned to 64 bytes");
  }
  std::free(memory);
}

TEST(Model, TheCallersThreadsAreUsed) {
  const WeightsFile file;
  int calls = 0;
  tenon_runtime mine{[](const tenon_runtime* rt, tenon_body body, void* closure, int64_t n) {
                       ++*static_cast<int*>(rt->pool);
                       for (int64_t i = n; i > 0; --i) {
                         body(closure, i - 1, i);
                       }
                     },
                     &calls, 3};
  tenon_model_options o = with_weights(file);
  o.runtime = &mine;
  const Ctx ctx = create(o);
  EXPECT_EQ(tenon_model_threads(ctx.get()), 3);
  fill_and_check(ctx.get(), Buffers(0), 1);
  EXPECT_EQ(calls, 1);
}

TEST(Model, TheHookSeesEveryStep) {
  const WeightsFile file;
  const Ctx ctx = create(with_weights(file));
  std::string seen;
  tenon_model_set_hook(
      ctx.get(),
      [](void* user, int32_t step, int32_t after) {
        *static_cast<std::string*>(user) +=
            std::string(after != 0 ? ">" : "<") + tenon_model_step_name(step);
      },
      &seen);
  const Buffers b(0);
  fill_and_check(ctx.get(), b, 1);
  EXPECT_EQ(seen, "<add>add<twice>twice");
  tenon_model_set_hook(ctx.get(), nullptr, nullptr);
  fill_and_check(ctx.get(), b, 1);
  EXPECT_EQ(seen.size(), 20U);
}

TEST(Model, TellsAboutItself) {
  EXPECT_EQ(tenon_model_input_count(), 2);
  EXPECT_EQ(tenon_model_output_count(), 2);
  EXPECT_STREQ(tenon_model_input(1)->name, "empty");
  EXPECT_STREQ(tenon_model_output(1)->dtype, "f64");
  EXPECT_EQ(tenon_model_input(2), nullptr);
  EXPECT_EQ(tenon_model_output(-1), nullptr);
  EXPECT_EQ(tenon_model_step_count(), 2);
  EXPECT_EQ(tenon_model_step_name(2), nullptr);
  EXPECT_STREQ(tenon_model_manifest(), "{}");
  EXPECT_EQ(tenon_model_interface(), TENON_MODEL_INTERFACE);
  EXPECT_EQ(tenon_model_weights_bytes(), sizeof(WeightsFile));
  tenon_model_destroy(nullptr);
}

TEST(Model, WeightsInMemoryMustBeTheRightOnes) {
  struct Row {
    const char* what;
    void (*spoil)(WeightsFile&, tenon_model_options&);
    const char* sentence;
  } rows[] = {
      {"magic", [](WeightsFile& f, tenon_model_options&) { f.trailer.magic[0] = 'X'; },
       "are not a weights file of this version"},
      {"version", [](WeightsFile& f, tenon_model_options&) { f.trailer.version = 9; },
       "are not a weights file of this version"},
      {"size", [](WeightsFile&, tenon_model_options& o) { o.weights_bytes -= 64; },
       "have 4032 bytes instead of 4096"},
      {"no header", [](WeightsFile&, tenon_model_options& o) { o.weights_bytes = 63; },
       "are too short"},
      {"hash", [](WeightsFile& f, tenon_model_options&) { f.trailer.sha256[31] ^= 1; },
       "belong to another build of the model (their hash differs)"},
      {"alignment",
       [](WeightsFile&, tenon_model_options& o) {
         o.weights = static_cast<const char*>(o.weights) + 8;
       },
       "are not aligned to 64 bytes"},
  };
  for (const Row& row : rows) {
    WeightsFile file;
    tenon_model_options o = with_weights(file);
    row.spoil(file, o);
    EXPECT_EQ(refusal(o), std::string("the weights in memory ") + row.sentence +
                              "; the library by_hand needs the file that was written with it")
        << row.what;
  }
}

TEST(Model, WeightsComeFromAFile) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("tenon-model-test-" + std::to_string(getpid()) + ".weights");
  const WeightsFile file;
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(&file), sizeof file);
  tenon_model_options o{};
  o.size = sizeof o;
  o.threads = 2;
  o.weights_path = path.c_str();
  {
    const Ctx one = create(o);
    const Ctx two = create(o);
    std::filesystem::remove(path);  // what is mapped stays
    fill_and_check(one.get(), Buffers(0), 2);
    fill_and_check(two.get(), Buffers(8), 3);
  }
  EXPECT_NE(refusal(o).find("are not there"), std::string::npos);
  o.weights_path = nullptr;  // beside this program there are none
  EXPECT_NE(refusal(o).find("by_hand.weights are not there"), std::string::npos) << refusal(o);
}

TEST(Model, ThreadsMustNotBeNegative) {
  const WeightsFile file;
  EXPECT_EQ(refusal(with_weights(file, -2)),
            "-2 threads cannot be started: give 0 (one per core) or more");
}

TEST(CpuCheck, NothingIsAlwaysThere) {
  char sentence[512] = "";
  EXPECT_TRUE(check_cpu(0, sentence, sizeof sentence));
}

#if defined(__x86_64__)
TEST(CpuCheck, AgreesWithTheCompilersOwnTest) {
  char sentence[512] = "";
  const auto has = [&](const char* name) {
    for (size_t i = 0; i < std::size(kX86Features); ++i) {
      if (std::strcmp(kX86Features[i].name, name) == 0) {
        return check_cpu(uint64_t{1} << i, sentence, sizeof sentence);
      }
    }
    ADD_FAILURE() << name;
    return false;
  };
  EXPECT_EQ(has("sse4.2"), __builtin_cpu_supports("sse4.2") != 0);
  EXPECT_EQ(has("avx2"), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(has("fma"), __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(has("bmi2"), __builtin_cpu_supports("bmi2") != 0);
  EXPECT_EQ(has("avx512f"), __builtin_cpu_supports("avx512f") != 0);
  EXPECT_EQ(has("avx512vl"), __builtin_cpu_supports("avx512vl") != 0);
  EXPECT_EQ(has("avx512vnni"), __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_EQ(has("avx512bf16"), __builtin_cpu_supports("avx512bf16") != 0);
}
#endif

}  // namespace
}  // namespace tenon::runtime
