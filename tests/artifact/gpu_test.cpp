// SPDX-License-Identifier: Apache-2.0
// Libraries for GPUs, written, loaded and run on the driver that runs kernels on this machine's processor.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "artifact/commands.h"
#include "artifact/gpu_programs.h"
#include "artifact/model.h"
#include "artifact/programs.h"
#include "artifact/verify.h"
#include "artifact/write.h"
#include "runtime/cuda/driver.h"
#include "support/check.h"

namespace tenon::artifact {
namespace {

constexpr int64_t kElements = 1000;

const target::Target& simt() { return target::gpu_targets().back(); }

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TENON_CUDA_LIBRARY", TENON_SIMT, 1);
    write(program_, {.directory = out_, .outputs = parse_outputs("so,a,h")});
  }
  void check(Session& session, uint64_t seed) const {
    const ir::Array x = random_array(ir::kF32, {kElements}, seed);
    EXPECT_EQ(difference(branching_answer(program_, x), session.run({x})), "") << seed;
  }
  ScratchFolder folder_;
  std::string out_ = folder_ / "out";
  Program program_ = branching_program("net", simt(), kElements);
};

TEST_F(Gpu, RunsOnArraysOfTheHost) {
  const Model model = Model::load(out_);
  EXPECT_TRUE(model.is_for_gpu());
  EXPECT_EQ(model.target(), "cuda simt");
  EXPECT_EQ(verify(out_).problems(), 0U);
  EXPECT_EQ(verify(out_).not_loaded, "");
  Session session(model);
  for (uint64_t seed = 0; seed < 3; ++seed) check(session, seed);
}

TEST_F(Gpu, AHookSeesEveryStep) {
  Session session(Model::load(out_));
  int calls = 0;
  session.set_hook([&](int step, bool after) { EXPECT_EQ(calls++, 2 * step + (after ? 1 : 0)); });
  check(session, 1);
  EXPECT_EQ(calls, 10);
}

TEST_F(Gpu, TwoSessionsAtOnce) {
  const Model model = Model::load(out_);
  std::vector<std::jthread> threads;
  for (uint64_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      Session session(model);
      for (uint64_t round = 0; round < 10; ++round) check(session, 10 * t + round);
    });
  }
}

TEST_F(Gpu, ManySessionsLeaveNoMemory) {
  char sentence[runtime::kSentenceBytes];
  const runtime::cuda::Driver* driver = runtime::cuda::open_driver(sentence);
  ASSERT_NE(driver, nullptr) << sentence;
  const Model model = Model::load(out_);
  const auto free_bytes = [&] {
    size_t free = 0;
    size_t total = 0;
    driver->MemGetInfo(&free, &total);
    return free;
  };
  const size_t before = free_bytes();
  for (uint64_t i = 0; i < 200; ++i) {
    Session session(model);
    EXPECT_LT(free_bytes(), before);
    if (i % 50 == 0) check(session, i);
  }
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(Gpu, RunsOnMemoryOfTheCard) {
  char sentence[runtime::kSentenceBytes];
  const runtime::cuda::Driver* driver = runtime::cuda::open_driver(sentence);
  ASSERT_NE(driver, nullptr) << sentence;
  Session session(Model::load(out_));
  uint64_t memory[3] = {};
  for (uint64_t& at : memory) ASSERT_EQ(driver->MemAlloc(&at, kElements * 4), 0);
  const ir::Array x = random_array(ir::kF32, {kElements}, 3);
  driver->MemcpyHtoD(memory[0], x.data(), static_cast<size_t>(x.bytes()));
  for (int i = 0; i < 2; ++i) session.run_device(memory, memory + 1, nullptr);
  std::vector<ir::Array> got;
  for (int i = 1; i < 3; ++i) {
    got.emplace_back(ir::kF32, x.shape());
    driver->MemcpyDtoH(got.back().data(), memory[i], static_cast<size_t>(x.bytes()));
  }
  EXPECT_EQ(difference(branching_answer(program_, x), got), "");
  const uint64_t odd[] = {memory[0] + 4};
  EXPECT_THROW(session.run_device(odd, memory + 1, nullptr), UserError);
  for (const uint64_t at : memory) driver->MemFree(at);
}

TEST_F(Gpu, TheManifestTellsLaunches) {
  const auto j = nlohmann::json::parse(text_of(out_ + "/net.json"));
  EXPECT_EQ(j.at("target").at("gpu"), "simt");
  const auto& launches = j.at("kernels").at(2).at("launches");
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(launches[1].at("kernel"), "net_k_thrice_1");
  EXPECT_EQ(launches[1].at("grid"), (std::vector<int64_t>{16, 1, 1}));
  EXPECT_EQ(launches[1].at("block"), (std::vector<int64_t>{64, 1, 1}));
  EXPECT_EQ(j.at("kernels").at(2).at("workspace_bytes"), 4096);
  EXPECT_EQ(j.at("memory").at("scratch_bytes"), 4096);
}

TEST_F(Gpu, TheSameProgramGivesTheSameBytes) {
  write(program_, {.directory = folder_ / "other", .outputs = parse_outputs("so,a,h")});
  for (const char* name : {"libnet.so", "libnet.a", "net.h", "net.json", "net.weights"}) {
    EXPECT_EQ(text_of(folder_.path() / "out" / name), text_of(folder_.path() / "other" / name))
        << name;
  }
}

TEST_F(Gpu, WithoutADriverThereIsASentence) {
  setenv("TENON_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
  const Model model = Model::load(out_);  // loads, but has not opened a driver yet
  try {
    Session session(model);
    FAIL() << "no driver is needed";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("there is no CUDA driver"), std::string::npos) << e.what();
  }
}

TEST_F(Gpu, CardsByNumber) {
  const Model model = Model::load(out_);
  SessionOptions options;
  options.device = 7;
  EXPECT_THROW(Session(model, options), UserError);
}

// The library of a CPU says that it has no device memory.
TEST_F(Gpu, LibrariesForCpusHaveNoDevice) {
  const Chain net = small_network("cpu", target::host_target());
  write(net.program(), {.directory = folder_ / "cpu"});
  const Model model = Model::load(folder_ / "cpu");
  EXPECT_FALSE(model.is_for_gpu());
  Session session(model, 1);
  EXPECT_THROW(session.run_device(nullptr, nullptr, nullptr), UserError);
}

TEST_F(Gpu, PtxForACardThatIsNotHere) {
  const Program p = branching_program("net", target::gpu_targets().front(), kElements);
  write(p, {.directory = folder_ / "sm", .outputs = parse_outputs("so,h,asm")});
  EXPECT_NE(text_of(folder_ / "sm/asm/thrice.ptx").find(".target sm_80"), std::string::npos);
  const Model model = Model::load(folder_ / "sm");
  try {
    Session session(model);
    FAIL() << "this card runs no PTX";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("the library net was compiled for sm_80, and the card 0"),
              std::string::npos)
        << e.what();
  }
}

// The examples with a stand-in for the header that CUDA's toolkit brings.
class Examples : public Gpu {
 protected:
  // Compiles an example into the folder of the library.
  std::string compile(Words args, const std::string& source) const {
    const std::string program = out_ + "/" + std::filesystem::path(source).stem().string();
    const std::string driver = std::filesystem::path(TENON_SIMT).parent_path();
    const std::string sanitizers = TENON_SANITIZE;  // which the driver was built with
    // A program in C must bring what the driver, which is C++, needs of them.
    if (!sanitizers.empty())
      args.insert(args.end(), {"-fsanitize=" + sanitizers, "-fsanitize-link-c++-runtime"});
    args.insert(args.end(), {"-I", out_, "-I", TENON_CUDA_HEADER, "-Wl,-rpath," + out_,
                             "-Wl,-rpath," + driver, std::string(TENON_EXAMPLES) + source, "-o",
                             program, out_ + "/libnet.so", TENON_SIMT});
    if (!sanitizers.empty()) args.push_back("-lstdc++");
    run_ok(args);
    return program;
  }
};

TEST_F(Examples, InC) {
  const std::string program = compile(
      {TENON_CC, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"}, "/gpu_c_api/main.c");
  ir::Array ones(ir::kF32, {kElements});
  for (int64_t i = 0; i < kElements; ++i) ones.set_double(i, 1);
  const double first = branching_answer(program_, ones)[0].get_double(0);
  const std::string output = output_of({program});
  EXPECT_EQ(output.find(fmt::format("y: {:.5f} ", first)), 0U) << output;
  EXPECT_NE(output.find("the same on memory of the card"), std::string::npos) << output;
}

TEST_F(Examples, InCpp) {
  const std::string program =
      compile({TENON_CXX, "-std=c++17", "-Wall", "-Wextra", "-Werror"}, "/gpu_cpp_api/main.cpp");
  const std::string output = output_of({program, "20"});
  EXPECT_EQ(output.find("20 runs, "), 0U) << output;
}

TEST_F(Gpu, TheHeaderIsPlainCAndCpp) {
  run_ok({TENON_CC, "-fsyntax-only", "-x", "c", out_ + "/net.h"}, kStrictC);
  run_ok({TENON_CXX, "-fsyntax-only", "-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic",
          "-Werror", out_ + "/net.h"});
  const std::string header = text_of(out_ + "/net.h");
  EXPECT_NE(header.find("int net_run_device(net_ctx* ctx"), std::string::npos);
  EXPECT_EQ(header.find("tenon_model"), std::string::npos);
}

}  // namespace
}  // namespace tenon::artifact
