// SPDX-License-Identifier: Apache-2.0
// The C++ interface with models for GPUs, on the driver that runs kernels on this machine's processor.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "files/file.h"
#include "runtime/cuda/driver.h"
#include "tenon/tenon.h"
#include "zoo/zoo.h"

namespace tenon::api {
namespace {

namespace fs = std::filesystem;
using Floats = std::vector<float>;

class GpuApi : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TENON_CUDA_LIBRARY", TENON_SIMT_LIBRARY, 1);
    folder_ = fs::temp_directory_path() / ("tenon-gpu-api-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    files::write_file((folder_ / "dqn.onnx").string(), zoo::model_bytes(zoo::find("dqn"), {}));
    CompileOptions options;
    options.target = "cuda simt";
    compile((folder_ / "dqn.onnx").string(), out(), options);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string out() const { return (folder_ / "out").string(); }

  static Floats filled(const Tensor& t, float value) {
    return Floats(static_cast<size_t>(t.bytes) / sizeof(float), value);
  }
  static std::string refusal(const Library& library, const SessionOptions& options) {
    try {
      const Session session(library, options);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  fs::path folder_;
};

TEST_F(GpuApi, RunsOnMemoryOfTheHostAndOfTheCard) {
  const Library library = Library::load(out());
  EXPECT_TRUE(library.is_for_gpu());
  const Floats in = filled(library.inputs()[0], 0.5F);
  Floats on_host = filled(library.outputs()[0], -1.0F);
  Floats on_card = filled(library.outputs()[0], -2.0F);
  Session session(library, SessionOptions{});
  session.run({in.data()}, {on_host.data()});

  char sentence[runtime::kSentenceBytes];
  const runtime::cuda::Driver* driver = runtime::cuda::open_driver(sentence);
  ASSERT_NE(driver, nullptr) << sentence;
  uint64_t from = 0;
  uint64_t to = 0;
  ASSERT_EQ(driver->MemAlloc(&from, in.size() * sizeof(float)), 0);
  ASSERT_EQ(driver->MemAlloc(&to, on_card.size() * sizeof(float)), 0);
  driver->MemcpyHtoD(from, in.data(), in.size() * sizeof(float));
  session.run_device({from}, {to});
  driver->CtxSynchronize();
  driver->MemcpyDtoH(on_card.data(), to, on_card.size() * sizeof(float));
  EXPECT_EQ(on_host, on_card);
  EXPECT_NE(on_host[0], on_host[1]);

  EXPECT_THROW(session.run_device({}, {to}), Error);
  EXPECT_THROW(session.run_device({from + 4}, {to}), Error);  // no multiple of 256
  driver->MemFree(from);
  driver->MemFree(to);
}

TEST_F(GpuApi, CardsByNumber) {
  const Library library = Library::load(out());
  EXPECT_EQ(refusal(library, {0, 0}), "");
  EXPECT_NE(refusal(library, {0, 7}).find("there is no card 7"), std::string::npos);
}

TEST_F(GpuApi, OfCpusThereIsNoCard) {
  const std::string folder = (folder_ / "cpu").string();
  compile((folder_ / "dqn.onnx").string(), folder);
  const Library library = Library::load(folder);
  EXPECT_FALSE(library.is_for_gpu());
  Session session(library, 1);
  EXPECT_THROW(session.run_device({256}, {512}), Error);
}

}  // namespace
}  // namespace tenon::api
