// SPDX-License-Identifier: Apache-2.0
// The device of GPUs on a driver that does as told (told_driver.cpp): nothing here needs a card.
#include "measure/run/cuda.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "backend/gpu_module.h"
#include "measure/run/job.h"
#include "measure/run_process.h"
#include "support/check.h"

namespace tenon::run {
namespace {

using measure::Message;
using measure::RunJob;
using task::Outcome;

constexpr int64_t kFloats = 1000;  // no multiple of a block of memory

RunJob job_of(const std::string& kernel, bool check = false) {
  backend::GpuModule m;
  m.launches.push_back({.kernel = kernel,
                        .grid = {10, 1, 1},
                        .block = {100, 1, 1},
                        .shared_bytes = 64,
                        .arguments = {0, 1, backend::kWorkspaceArgument}});
  m.workspace_bytes = 100;
  m.ptx = "code";
  RunJob job;
  job.device = "cuda";
  job.library = backend::to_bytes(m);
  job.workspace_bytes = 100;
  job.params = {{'c', "f32", 4 * kFloats}, {'o', "f32", 4 * kFloats}};
  job.min_run_s = 0.005;
  job.check = check;
  return job;
}

RunJob changed(RunJob job, void (*change)(backend::GpuModule&)) {
  backend::GpuModule m = backend::gpu_module_from(job.library);
  change(m);
  job.library = backend::to_bytes(m);
  return job;
}

class CudaDevice : public testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("TENON_CUDA_LIBRARY", TENON_TOLD_DRIVER, 1); }
  static void TearDownTestSuite() { unsetenv("TENON_CUDA_LIBRARY"); }

  Message run(const RunJob& job, std::vector<float>* shared = nullptr) {
    char* bytes = shared != nullptr ? reinterpret_cast<char*>(shared->data()) : nullptr;
    return run_job(job, *device_, bytes, kept_);
  }
  std::unique_ptr<Device> device_ = open_cuda();
  Operands kept_;
};

TEST_F(CudaDevice, MemoryKeepsBytesBetweenZones) {
  const auto b = device_->allocate(10000, Place::kBack);
  b->fill({1, 2, 3});
  std::vector<char> got(10000);
  b->get(got.data(), 10000, 0);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], static_cast<char>(1 + i % 3)) << i;
  const char nine = 9;
  b->put(&nine, 1, 9999);
  b->get(got.data(), 2, 9998);
  EXPECT_EQ(got[0], 1 + 9998 % 3);
  EXPECT_EQ(got[1], 9);
  EXPECT_TRUE(b->intact());
  EXPECT_TRUE(device_->allocate(0, Place::kFront)->intact());
  EXPECT_THROW(device_->allocate(int64_t{1} << 40, Place::kFront), std::bad_alloc);
}

TEST_F(CudaDevice, AProgramIsRunOnInputs) {
  std::vector<float> shared(2 * 1024, 0);
  const RunJob job = job_of("twice", true);
  for (size_t i = 0; i < kFloats; ++i) shared[i] = static_cast<float>(i);
  EXPECT_EQ(run(job, &shared), Message{"ok"});
  const auto out = static_cast<size_t>(measure::offsets(job.params)[1] / 4);
  for (size_t i = 0; i < kFloats; ++i) ASSERT_EQ(shared[out + i], 2 * static_cast<float>(i));
}

TEST_F(CudaDevice, TimesArePositiveColdAndWarm) {
  for (const bool cold : {true, false}) {
    RunJob job = job_of("twice");
    job.cold = cold;
    const Message m = run(job);
    ASSERT_EQ(m[0], "ok") << m[1];
    EXPECT_GE(m.size(), 4U);
    for (size_t i = 1; i < m.size(); ++i) {
      EXPECT_GT(std::atof(m[i].c_str()), 0) << m[i];
      EXPECT_LT(std::atof(m[i].c_str()), 1e-3) << m[i];
    }
  }
}

TEST_F(CudaDevice, WhatIsWrittenElsewhereIsFound) {
  const Message behind = {"wrong", "wrote outside of parameter 1"};
  EXPECT_EQ(run(job_of("behind")), behind);
  EXPECT_EQ(run(job_of("before")), behind);
  std::vector<float> shared(2 * 1024, 0);
  EXPECT_EQ(run(job_of("behind", true), &shared), behind);
  const Message input = {"wrong", "wrote to input 0"};
  EXPECT_EQ(run(job_of("writes_input", true), &shared), input);
}

TEST_F(CudaDevice, AModuleThatCannotBeUsedIsRefused) {
  RunJob job = job_of("twice");
  job.library = "rubbish";
  EXPECT_EQ(run(job), (Message{"failed", "these bytes are not a module for GPUs"}));
  EXPECT_EQ(run(job_of("nowhere")),
            (Message{"failed", "finding a kernel: CUDA_ERROR_NOT_FOUND: as told"}));
  const auto refusal = [&](void (*change)(backend::GpuModule&)) {
    return run(changed(job_of("twice"), change))[1];
  };
  EXPECT_EQ(refusal([](auto& m) { m.ptx = "none"; }).substr(0, 23), "line 1: this is no code");
  EXPECT_EQ(refusal([](auto& m) { m.launches[0].arguments[1] = 2; }),
            "kernel twice asks for a parameter that is not there");
  EXPECT_EQ(refusal([](auto& m) { m.launches[0].block[1] = 5000; }),
            "kernel twice has no possible number of threads");
  EXPECT_EQ(refusal([](auto& m) { m.workspace_bytes = 101; }), "the workspace is too small");
  EXPECT_EQ(refusal([](auto& m) { m.launches[0].shared_bytes = 1 << 20; }).substr(0, 24),
            "asking for shared memory");
}

TEST_F(CudaDevice, CodeForAnotherCardGivesWayToPtx) {
  const RunJob job =
      changed(job_of("twice"), [](backend::GpuModule& m) { m.image = "another card's"; });
  EXPECT_EQ(run(job)[0], "ok");
  const RunJob alone = changed(job, [](backend::GpuModule& m) { m.ptx = ""; });
  EXPECT_EQ(run(alone)[0], "failed");
}

// ---- in a process of its own ----------------------------------------------------------------------------------------

class CudaProcess : public CudaDevice {
 protected:
  measure::DeviceOptions options_ = [] {
    measure::DeviceOptions o;
    o.run_tool = TENON_RUN;
    o.on_card = true;
    o.run_limit_s = 0.2;
    return o;
  }();
  measure::RunProcess process_{options_};
  measure::Ran time(const std::string& kernel) { return process_.time(job_of(kernel), 0, 0.002); }
};

TEST_F(CudaProcess, AnErrorOfTheCardIsTheOutcomeOfOneJob) {
  EXPECT_EQ(time("twice").outcome, Outcome::kOk);
  const measure::Ran bad = time("illegal");
  EXPECT_EQ(bad.outcome, Outcome::kRunCrash);
  EXPECT_EQ(bad.error, "running: CUDA_ERROR_ILLEGAL_ADDRESS: as told");
  const measure::Ran good = time("twice");
  EXPECT_EQ(good.outcome, Outcome::kOk) << good.error;
}

TEST_F(CudaProcess, ALaunchWithoutEndIsStopped) {
  EXPECT_EQ(time("twice").outcome, Outcome::kOk);
  EXPECT_EQ(time("hangs").outcome, Outcome::kRunTimeout);
  EXPECT_EQ(time("twice").outcome, Outcome::kOk);
}

TEST_F(CudaProcess, AMachineWithoutADriverDecidesNothing) {
  setenv("TENON_CUDA_LIBRARY", "/nowhere/libcuda.so", 1);
  const measure::Ran r = time("twice");
  setenv("TENON_CUDA_LIBRARY", TENON_TOLD_DRIVER, 1);
  EXPECT_EQ(r.outcome, Outcome::kUndecided);
  EXPECT_EQ(r.error.find("there is no CUDA driver"), 0U) << r.error;
}

TEST_F(CudaDevice, TheCardAtHandIsATarget) {
  const target::Target t = target::parse_target("cuda");
  EXPECT_EQ(t.name, "cuda");
  EXPECT_EQ(t.machine, "a pretended card");
  EXPECT_EQ(t.gpu().processor, "simt");
  EXPECT_EQ(t.gpu().multiprocessors, 7);
  EXPECT_EQ(t.gpu().l2_bytes, 1 << 16);
  EXPECT_TRUE(target::runs_here(t));
  const target::Target row = target::parse_target("cuda simt");
  EXPECT_TRUE(target::runs_here(row));
  EXPECT_FALSE(target::runs_here(target::parse_target("cuda sm_90")));
  EXPECT_EQ(measure::measured_target(t), t.fingerprint());
  EXPECT_EQ(measure::measured_target(row), row.fingerprint() + " on " + t.fingerprint());
  EXPECT_EQ(target::target_from_text(target::to_text(t)).fingerprint(), t.fingerprint());
}

}  // namespace
}  // namespace tenon::run
