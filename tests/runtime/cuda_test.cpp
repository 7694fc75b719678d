// SPDX-License-Identifier: Apache-2.0
// The part of finished libraries for GPUs that does not depend on the model, on a driver that sees every call.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "runtime/by_hand_cuda.h"
#include "runtime/fake_cuda.h"

namespace tenon::runtime {
namespace {

using fake_cuda::Live;

class Cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TENON_CUDA_LIBRARY", TENON_FAKE_CUDA, 1);
    fake_cuda::reset();
    set_kernels();
  }
  void TearDown() override { EXPECT_EQ(fake_cuda::live(), Live{}) << "something leaks"; }

  std::string why_not(int32_t device = 0) {
    tenon_model_options o = options();
    o.device = device;
    return refusal(o);
  }
  int calls_of_creation(const char* symbol) const {
    const int before = fake_cuda::calls(symbol);
    const Ctx ctx = create(options());
    return fake_cuda::calls(symbol) - before;
  }
  tenon_model_options options() const {
    tenon_model_options o = with_weights(file_);
    o.trust_weights = 1;
    return o;
  }
  const WeightsFile file_;
};

TEST_F(Cuda, RunsWithMemoryOfTheHost) {
  const Ctx ctx = create(options());
  EXPECT_EQ(tenon_model_device(ctx.get()), 0);
  EXPECT_EQ(tenon_model_threads(ctx.get()), 1);
  for (const float first : {1.0F, -3.0F}) {
    Tensors t(first);
    ASSERT_EQ(t.run(ctx.get()), 0) << tenon_model_driver_error(ctx.get());
    EXPECT_TRUE(t.is_right()) << first;
  }
  EXPECT_EQ(fake_cuda::calls("cuGraphLaunch"), 2);
  EXPECT_EQ(fake_cuda::calls("cuGraphExecKernelNodeSetParams_v2"), 0);
  EXPECT_EQ(fake_cuda::calls("cuFuncSetAttribute"), 1);  // one kernel has much shared memory
  EXPECT_EQ(fake_cuda::programmatic_edges(), 1);         // one kernel may begin early
}

TEST_F(Cuda, IndependentStepsAreBranchesOfTheGraph) {
  const Ctx ctx = create(options());
  Tensors t(1);
  ASSERT_EQ(t.run(ctx.get()), 0);
  EXPECT_EQ(fake_cuda::order(), "add add_one thrice twice join ");
}

TEST_F(Cuda, AHookSeesEveryStep) {
  const Ctx ctx = create(options());
  std::vector<int> seen;
  tenon_model_set_hook(
      ctx.get(),
      [](void* user, int32_t step, int32_t after) {
        static_cast<std::vector<int>*>(user)->push_back(10 * step + after);
      },
      &seen);
  Tensors t(1);
  ASSERT_EQ(t.run(ctx.get()), 0);
  EXPECT_TRUE(t.is_right());
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 10, 11, 20, 21, 30, 31}));
  EXPECT_EQ(fake_cuda::order(), "add twice add_one thrice join ");
  tenon_model_set_hook(ctx.get(), nullptr, nullptr);
  ASSERT_EQ(t.run(ctx.get()), 0);
  EXPECT_EQ(seen.size(), 8U);
}

// Device memory of the caller, in a context that the caller has made current.
class OnDevice : public Cuda {
 protected:
  void SetUp() override {
    Cuda::SetUp();
    char sentence[kSentenceBytes];
    driver_ = cuda::open_driver(sentence);
    ASSERT_NE(driver_, nullptr) << sentence;
    driver_->DevicePrimaryCtxRetain(&context_, 0);
    driver_->CtxPushCurrent(context_);
    for (uint64_t& at : memory_) ASSERT_EQ(driver_->MemAlloc(&at, 8192), cuda::kSuccess);
  }
  void TearDown() override {
    for (const uint64_t at : memory_) driver_->MemFree(at);
    driver_->CtxPopCurrent(&context_);
    driver_->DevicePrimaryCtxRelease(0);
    Cuda::TearDown();
  }
  int run(tenon_model_ctx* ctx, uint64_t x, uint64_t y, uint64_t n) {
    const uint64_t inputs[] = {x, 0};
    const uint64_t outputs[] = {y, n};
    return tenon_model_run_device(ctx, inputs, outputs, nullptr);
  }
  void check(tenon_model_ctx* ctx, uint64_t x, uint64_t y, uint64_t n, float first) {
    Tensors t(first);
    driver_->MemcpyHtoD(x, t.x.data(), t.x.size() * sizeof(float));
    ASSERT_EQ(run(ctx, x, y, n), 0) << tenon_model_driver_error(ctx);
    driver_->MemcpyDtoH(t.y.data(), y, t.y.size() * sizeof(float));
    driver_->MemcpyDtoH(&t.n, n, sizeof t.n);
    EXPECT_TRUE(t.is_right()) << first;
  }
  const cuda::Driver* driver_ = nullptr;
  cuda::Context context_ = nullptr;
  uint64_t memory_[6] = {};
};

TEST_F(OnDevice, ArgumentsAreToldToTheGraphWhenTheyChange) {
  const Ctx ctx = create(options());
  const auto told = [] { return fake_cuda::calls("cuGraphExecKernelNodeSetParams_v2"); };
  check(ctx.get(), memory_[0], memory_[1], memory_[2], 1);
  EXPECT_EQ(told(), 2);  // the first step names the input, the last one the outputs
  check(ctx.get(), memory_[0], memory_[1], memory_[2], 2);
  EXPECT_EQ(told(), 2);
  check(ctx.get(), memory_[3], memory_[1], memory_[2], 3);
  EXPECT_EQ(told(), 3);
  check(ctx.get(), memory_[3], memory_[4], memory_[5], 4);
  EXPECT_EQ(told(), 4);
  Tensors t(5);
  ASSERT_EQ(t.run(ctx.get()), 0);  // back in memory of its own
  EXPECT_TRUE(t.is_right());
  EXPECT_EQ(told(), 6);
}

TEST_F(OnDevice, WrongPointersAreAnswers) {
  const Ctx ctx = create(options());
  EXPECT_EQ(run(ctx.get(), 0, memory_[1], memory_[2]), 1);
  EXPECT_EQ(run(ctx.get(), memory_[0], memory_[1], 0), 1);
  EXPECT_EQ(run(ctx.get(), memory_[0] + 4, memory_[1], memory_[2]), 4);
  EXPECT_EQ(run(ctx.get(), memory_[0], memory_[1] + 64, memory_[2]), 4);
  EXPECT_EQ(run(nullptr, memory_[0], memory_[1], memory_[2]), 1);
  EXPECT_EQ(tenon_model_run_device(ctx.get(), nullptr, nullptr, nullptr), 1);
  EXPECT_EQ(fake_cuda::calls("cuGraphLaunch"), 0);
  // A refusal of the driver is no reason to give up, and what was told in part is told again.
  fake_cuda::fail("cuGraphExecKernelNodeSetParams_v2", 2, cuda::kInvalidValue);
  EXPECT_EQ(run(ctx.get(), memory_[0], memory_[1], memory_[2]), 5);
  EXPECT_STREQ(tenon_model_driver_error(ctx.get()), "CUDA_ERROR_OF_THE_TEST: as told");
  check(ctx.get(), memory_[0], memory_[1], memory_[2], 1);
}

TEST_F(Cuda, ContextsShareKernelsAndWeights) {
  const Ctx first = create(options());
  tenon_model_options without{};  // the weights are there already
  without.size = sizeof without;
  const Ctx second = create(without);
  EXPECT_EQ(fake_cuda::calls("cuModuleLoadDataEx"), 2);
  EXPECT_EQ(fake_cuda::calls("cuMemAlloc_v2"), 3);
  Tensors a(1);
  Tensors b(2);
  ASSERT_EQ(a.run(first.get()), 0);
  ASSERT_EQ(b.run(second.get()), 0);
  EXPECT_TRUE(a.is_right() && b.is_right());
}

TEST_F(Cuda, ThreadsWithAContextEach) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int round = 0; round < 10; ++round) {
        const Ctx ctx = create(options());
        Tensors tensors(static_cast<float>(t + round));
        EXPECT_EQ(tensors.run(ctx.get()), 0);
        EXPECT_TRUE(tensors.is_right());
      }
      EXPECT_EQ(fake_cuda::live().pushed, 0);
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST_F(Cuda, ManyContextsLeaveNothing) {
  for (int i = 0; i < 200; ++i) {
    const Ctx ctx = create(options());
    Tensors t(static_cast<float>(i));
    ASSERT_EQ(t.run(ctx.get()), 0);
  }
  EXPECT_EQ(fake_cuda::live(), Live{});
}

TEST_F(Cuda, EveryFailingCallOfCreationIsASentenceAndLeavesNothing) {
  for (const char* symbol :
       {"cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuModuleLoadDataEx",
        "cuModuleGetFunction", "cuFuncSetAttribute", "cuMemAlloc_v2", "cuMemcpyHtoD_v2",
        "cuCtxSynchronize", "cuMemHostAlloc", "cuStreamCreate", "cuGraphCreate",
        "cuGraphAddKernelNode_v2", "cuGraphAddDependencies_v2", "cuGraphInstantiateWithFlags"}) {
    const int calls = calls_of_creation(symbol);
    ASSERT_GT(calls, 0) << symbol;
    for (int n = 1; n <= calls; ++n) {
      fake_cuda::fail(symbol, n, cuda::kNotSupported);
      const std::string why = why_not();
      EXPECT_NE(why.find("the card 0 ("), std::string::npos) << symbol << ": " << why;
      EXPECT_EQ(fake_cuda::live(), Live{}) << symbol << " " << n;
    }
  }
}

TEST_F(Cuda, OutOfMemorySaysWhatIsFree) {
  fake_cuda::fail("cuMemAlloc_v2", 1, cuda::kOutOfMemory);
  EXPECT_EQ(why_not(),
            "the card 0 (Fake GPU, sm_90) has no memory for the weights of the model by_hand: 4096 "
            "bytes are wanted, 1000 of 2000 are free");
  fake_cuda::fail("cuMemAlloc_v2", 2, cuda::kOutOfMemory);
  EXPECT_NE(why_not().find("has no memory for a context of the model by_hand"), std::string::npos);
}

TEST_F(Cuda, CardsThatAreNotThere) {
  EXPECT_EQ(why_not(1), "there is no card 1: the CUDA driver finds 1, from 0 on");
  EXPECT_EQ(why_not(-1), "there is no card -1: the CUDA driver finds 1, from 0 on");
  fake_cuda::set_cards(2);
  tenon_model_options o = options();
  o.device = 1;
  const Ctx ctx = create(o);
  EXPECT_EQ(tenon_model_device(ctx.get()), 1);
}

TEST_F(Cuda, PtxServesCardsThatMachineCodeIsNotFor) {
  fake_cuda::set_takes_images(false);
  {
    const Ctx ctx = create(options());
    EXPECT_EQ(fake_cuda::calls("cuModuleLoadDataEx"), 4);
    Tensors t(1);
    EXPECT_EQ(t.run(ctx.get()), 0);
    EXPECT_TRUE(t.is_right());
  }
  fake_cuda::fail("cuModuleLoadDataEx", 2, cuda::kInvalidPtx);
  EXPECT_EQ(why_not(),
            "the library by_hand was compiled for sm_90, and the card 0 (Fake GPU, sm_90) cannot "
            "run that: compile it with --target \"cuda sm_90\"");
  fake_cuda::fail("cuModuleLoadDataEx", 2, cuda::kUnsupportedPtxVersion);
  EXPECT_EQ(why_not(),
            "the CUDA driver (version 12.4) is too old for the code of the library by_hand");
}

TEST_F(Cuda, WeightsOfAnotherBuildAreRefused) {
  WeightsFile other;
  other.trailer.sha256[0] = 7;
  const std::string why = refusal(with_weights(other));
  EXPECT_NE(why.find("belong to another build"), std::string::npos) << why;
}

TEST_F(Cuda, AFailingKernelEndsItsContext) {
  const Ctx ctx = create(options());
  const Ctx other = create(options());
  fake_cuda::fail_kernel(3, cuda::kIllegalAddress);
  Tensors t(1);
  EXPECT_EQ(t.run(ctx.get()), 6);
  EXPECT_STREQ(tenon_model_driver_error(ctx.get()),
               "CUDA_ERROR_OF_THE_TEST: an illegal memory access was encountered");
  EXPECT_EQ(t.n, -1);  // nothing was written
  const int calls = fake_cuda::calls("cuGraphLaunch");
  EXPECT_EQ(t.run(ctx.get()), 6);
  EXPECT_EQ(fake_cuda::calls("cuGraphLaunch"), calls);
  EXPECT_EQ(t.run(other.get()), 6);
  EXPECT_NE(std::string(tenon_model_error(6)).find("a kernel failed"), std::string::npos);
}

TEST_F(Cuda, RefusalsOfRunsAreAnswers) {
  const Ctx ctx = create(options());
  for (const char* symbol : {"cuCtxPushCurrent_v2", "cuMemcpyHtoDAsync_v2", "cuGraphLaunch",
                             "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"}) {
    fake_cuda::fail(symbol, 1, cuda::kLaunchOutOfResources);
    Tensors t(1);
    EXPECT_EQ(t.run(ctx.get()), 5) << symbol;
    EXPECT_EQ(t.n, -1) << symbol;
    EXPECT_EQ(t.run(ctx.get()), 0) << symbol;
    EXPECT_TRUE(t.is_right()) << symbol;
  }
  for (int code = 0; code <= 6; ++code) {
    EXPECT_STRNE(tenon_model_error(code), tenon_model_error(7)) << code;
  }
}

TEST_F(Cuda, NullPointersAndBusyContexts) {
  const Ctx ctx = create(options());
  Tensors t(1);
  const void* inputs[] = {nullptr, nullptr};
  void* outputs[] = {t.y.data(), &t.n};
  EXPECT_EQ(tenon_model_run(ctx.get(), inputs, outputs), 1);
  EXPECT_EQ(tenon_model_run(nullptr, inputs, outputs), 1);
  struct Inner {
    tenon_model_ctx* ctx;
    Tensors tensors{1};
    int answer = 0;
  } inner{ctx.get()};
  tenon_model_set_hook(
      ctx.get(),
      [](void* user, int32_t, int32_t) {
        auto& i = *static_cast<Inner*>(user);
        i.answer = i.tensors.run(i.ctx);
      },
      &inner);
  EXPECT_EQ(t.run(ctx.get()), 0);
  EXPECT_EQ(inner.answer, 2);
  EXPECT_EQ(tenon_model_refused(ctx.get()), 8);
}

TEST_F(Cuda, AChildOfForkIsToldSo) {
  const Ctx ctx = create(options());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Tensors t(1);
    const char* why = "";
    const tenon_model_options o = options();
    const bool right = t.run(ctx.get()) == 3 && tenon_model_create_with(&o, &why) == nullptr &&
                       std::string(why).find("child of fork()") != std::string::npos;
    const int before = fake_cuda::calls("cuMemFree_v2");
    tenon_model_destroy(ctx.get());  // calls no driver
    _exit(right && fake_cuda::calls("cuMemFree_v2") == before ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tenon::runtime
