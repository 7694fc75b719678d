// SPDX-License-Identifier: Apache-2.0
// Kernels that the backend makes for GPUs, run and timed on this machine through the device of GPUs.
#include <gtest/gtest.h>

#include <cstdlib>

#include "backend/backend.h"
#include "backend/gpu_kernels.h"
#include "measure/run/cuda.h"
#include "measure/run/job.h"
#include "measure/run_process.h"

namespace tenon::run {
namespace {

using measure::Message;
using measure::RunJob;

RunJob job_of(const ir::Function& f, bool check) {
  const target::Target t = target::parse_target("cuda simt");
  const auto compiler = backend::make_compiler(t);
  const backend::Code code = compiler->emit(f, backend::Emit::kObject);
  RunJob job;
  job.device = t.device;
  job.library = compiler->link(code.bytes, f.name, measure::kEntry, ".");
  job.workspace_bytes = code.workspace_bytes;
  for (size_t i = 0; i < f.params.size(); ++i) {
    const ir::Buffer& b = f.params[i];
    int64_t bytes = b.dtype().bytes();
    for (const int64_t e : b.shape()) bytes *= e;
    job.params.push_back({i < f.num_inputs ? 'i' : 'o', ir::to_string(b.dtype()), bytes});
  }
  job.check = check;
  job.min_run_s = 0.002;
  return job;
}

class SimtDevice : public testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("TENON_CUDA_LIBRARY", TENON_SIMT_LIBRARY, 1); }
};

TEST_F(SimtDevice, IsTheCardOfItsTarget) {
  const target::Target t = target::parse_target("cuda");
  EXPECT_EQ(t.gpu().processor, "simt");
  EXPECT_TRUE(target::runs_here(target::parse_target("cuda simt")));
  EXPECT_FALSE(target::runs_here(target::parse_target("cuda sm_80")));
}

// Two launches, the second of which reads what the first left in the workspace.
TEST_F(SimtDevice, LaunchesRunInTheirOrder) {
  const auto device = open_cuda();
  const RunJob job = job_of(backend::split_sum_gpu(), true);
  EXPECT_GT(job.workspace_bytes, 0);
  std::vector<float> shared(64 * 11);
  for (size_t i = 0; i < 64 * 10; ++i) shared[i] = static_cast<float>(i % 7);
  const std::vector<float> in = shared;
  Operands kept;
  ASSERT_EQ(run_job(job, *device, reinterpret_cast<char*>(shared.data()), kept), Message{"ok"});
  for (size_t c = 0; c < 64; ++c) {
    float sum = 0;
    for (size_t k = 0; k < 10; ++k) sum += in[k * 64 + c];
    ASSERT_EQ(shared[640 + c], sum) << c;
  }
}

TEST_F(SimtDevice, ProgramsAreTimedInAnotherProcess) {
  measure::DeviceOptions options;
  options.run_tool = TENON_RUN;
  options.on_card = true;
  measure::RunProcess process(options);
  for (const ir::Function& f : {backend::matmul_gpu(64, 64, 32), backend::split_sum_gpu()}) {
    const measure::Ran r = process.time(job_of(f, false), 0, 0.002);
    ASSERT_EQ(r.outcome, task::Outcome::kOk) << f.name << ": " << r.error;
    for (const double s : r.seconds) EXPECT_GT(s, 0) << f.name;
  }
}

}  // namespace
}  // namespace tenon::run
