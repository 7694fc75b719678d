// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "bench/kernels/report.h"
#include "bench/kernels/run.h"
#include "bench/kernels/workload.h"

namespace tenon::bench {
namespace {

constexpr timing::Protocol kShort = {.rounds = 1, .turn_s = 0.0005, .settle_s = 0};

struct Runtime {
  const tenon_runtime* rt = tenon_runtime_create(1);
  Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime() { tenon_runtime_destroy(rt); }
};

Workload find(const std::string& op, const std::string& shape) {
  for (const Workload& w : all_workloads()) {
    if (w.op == op && w.shape == shape) {
      return w;
    }
  }
  ADD_FAILURE() << op << " " << shape;
  return {};
}

TEST(Workloads, AreDistinct) {
  std::set<std::string> names;
  for (const Workload& w : all_workloads()) {
    EXPECT_TRUE(names.insert(w.op + " " + w.shape).second) << w.op << " " << w.shape;
    EXPECT_GT(w.flops(), 0);
    EXPECT_GT(w.bytes(), 0);
  }
}

TEST(Workloads, CountWork) {
  struct Case {
    const char* op;
    const char* shape;
    double flops, bytes;
  };
  for (const Case& c :
       {Case{"matmul_packed", "128x768x3072", 603979776,
             4.0 * (128 * 768 + 768 * 3072 + 128 * 3072)},
        Case{"conv3x3", "64@56", 231211008, 4.0 * (2 * 64 * 56 * 56 + 64 * 64 * 9)},
        Case{"conv3x3_s2", "64->128@56", 115605504, 4.0 * (64 * 3136 + 128 * 784 + 64 * 128 * 9)},
        Case{"conv7x7_s2", "3->64@224", 236027904, 4.0 * (3 * 50176 + 64 * 12544 + 3 * 64 * 49)},
        Case{"depthwise3x3", "960@7", 846720, 4.0 * (2 * 960 * 49 + 960 * 9)},
        Case{"conv_transpose4x4_s2", "512->256@4", 67108864,
             4.0 * (512 * 16 + 256 * 64 + 512 * 256 * 16)},
        Case{"add_relu", "16M", 33554432, 201326592}}) {
    const Workload w = find(c.op, c.shape);
    EXPECT_EQ(w.flops(), c.flops) << c.op << " " << c.shape;
    EXPECT_EQ(w.bytes(), c.bytes) << c.op << " " << c.shape;
  }
}

TEST(Reference, SmallConvolutionsByHand) {
  Workload w;
  w.kind = Kind::kConv;
  w.in_channels = w.out_channels = 1;
  w.size = 3;
  w.kernel = 3;
  w.pad = 1;
  const Data data = make_data(w);
  const auto x = [&](int64_t y, int64_t z) {
    return double{data.inputs[0].values[static_cast<size_t>(y * 3 + z)]};
  };
  const auto f = [&](int64_t r, int64_t s) {
    return double{data.inputs[1].values[static_cast<size_t>(r * 3 + s)]};
  };
  EXPECT_NEAR(data.reference[0],
              x(0, 0) * f(1, 1) + x(0, 1) * f(1, 2) + x(1, 0) * f(2, 1) + x(1, 1) * f(2, 2), 1e-12);
  w.kind = Kind::kConvTranspose;
  w.stride = 2;
  const Data up = make_data(w);
  ASSERT_EQ(up.reference.size(), 25U);
  EXPECT_NEAR(up.reference[0], x(0, 0) * f(1, 1), 1e-12);
  EXPECT_NEAR(up.reference[1], x(0, 0) * f(1, 2) + x(0, 1) * f(1, 0), 1e-12);
}

TEST(ErrorOf, IsRelativeToTheLargestValue) {
  EXPECT_EQ(error_of({1, 2}, {1, 2}), 0);
  EXPECT_NEAR(error_of({1, 2.5}, {1, 2}), 0.25, 1e-12);
  EXPECT_TRUE(std::isinf(error_of({1}, {1, 2})));
  EXPECT_TRUE(std::isinf(error_of({1, std::numeric_limits<float>::quiet_NaN()}, {1, 2})));
}

// A contestant that gives `scale` times the right answer.
timing::Contestant pretend(const std::string& name, const Data& data, float scale) {
  return {.name = name,
          .run = [] {},
          .output =
              [&data, scale] {
                std::vector<float> out;
                for (const double v : data.reference) {
                  out.push_back(static_cast<float>(v) * scale);
                }
                return out;
              },
          .compile_ms = 12};
}

TEST(RunRow, EveryoneIsRightOnSmallOddShapes) {
  const Runtime runtime;
  std::vector<Workload> small = all_workloads();
  for (Workload& w : small) {
    w.m = w.m == 0 ? 0 : 5 * w.batch;
    w.n = w.n == 0 ? 0 : 17;
    w.k = w.k == 0 ? 0 : 7;
    w.in_channels = w.in_channels == 0 ? 0 : 5;
    w.out_channels = w.out_channels == 0 ? 0 : w.kind == Kind::kDepthwise ? 5 : 3;
    w.size = w.size == 0 ? 0 : 9;
    const Data data = make_data(w);
    const Row row = run_row(w, data, runtime.rt, kShort);
    for (const Entry& e : row.entries) {
      EXPECT_EQ(e.fault, "") << w.op << " " << e.name << " " << e.detail;
    }
    EXPECT_NE(row.find("tenon"), nullptr) << w.op;
  }
}

TEST(RunRow, AWrongContestantIsReportedAndNotTimed) {
  const Runtime runtime;
  const Workload w = find("norm2", "1024x1024");
  const Data data = make_data(w);
  const std::vector<SourceRow> sources = {
      {"tenon", "",
       [](const Workload&, const Data& d, const tenon_runtime*) {
         return std::vector{pretend("tenon", d, 1.001F)};
       }},
      {"onednn", "",
       [](const Workload&, const Data& d, const tenon_runtime*) {
         return std::vector{pretend("onednn", d, 1.0F)};
       }},
      {"loops", "",
       [](const Workload&, const Data&, const tenon_runtime*) -> std::vector<timing::Contestant> {
         throw std::runtime_error("no such kernel");
       }}};
  const Row row = run_row(w, data, runtime.rt, kShort, sources);
  EXPECT_TRUE(row.faulty());
  EXPECT_EQ(row.find("tenon"), nullptr);
  EXPECT_NE(row.find("onednn"), nullptr);
  const std::string text = row_text(row);
  EXPECT_NE(text.find("tenon: WRONG"), std::string::npos) << text;
  EXPECT_NE(text.find("loops: FAILED (no such kernel)"), std::string::npos) << text;
}

TEST(Report, JsonHasTheAgreedKeys) {
  Row row;
  row.workload = find("conv3x3", "64@56");
  row.threads = 2;
  row.peak_gflops = 200;
  Entry ours{.name = "tenon", .compile_ms = 34};
  ours.timing.best_s = ours.timing.median_s = row.workload.flops() / 100e9;
  Entry theirs = ours;
  theirs.name = "onednn";
  theirs.timing.best_s = 2 * ours.timing.best_s;
  row.entries = {ours, theirs};
  const auto j = nlohmann::json::parse(json_text({row}, kShort));
  EXPECT_EQ(j["peak_gflops"], 100);  // of one thread
  const auto& r = j["rows"][0];
  EXPECT_EQ(r["op"], "conv3x3");
  EXPECT_EQ(r["shape"], "64@56");
  EXPECT_EQ(r["threads"], 2);
  EXPECT_NEAR(r["gflops"], 100, 1e-9);
  EXPECT_NEAR(r["peak_share"], 0.5, 1e-9);
  EXPECT_NEAR(r["vs"]["onednn"], 2, 1e-9);
  EXPECT_FALSE(r["vs"].contains("openblas"));
  EXPECT_EQ(r["compile_ms"], 34);
}

}  // namespace
}  // namespace tenon::bench
