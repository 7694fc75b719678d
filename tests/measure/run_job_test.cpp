// SPDX-License-Identifier: Apache-2.0
// What a job says of a device and of a kernel that do as told.
#include "measure/run/job.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>

#include "measure/run/guarded.h"
#include "measure/run/timing.h"
#include "measure/run/values.h"

namespace tenon::run {
namespace {

using measure::Message;
using measure::RunJob;

char* data(const Arguments& a, size_t i) { return static_cast<Guarded&>(*a.params[i]).data(); }

class ToldDevice : public Device {
 public:
  std::function<void(const Arguments&)> kernel;
  TimingRules asked;

  std::unique_ptr<Buffer> allocate(int64_t bytes, Place place) override {
    return std::make_unique<Guarded>(bytes, place);
  }
  std::unique_ptr<Kernel> load(const std::string& module, int) override {
    if (module == "unable") throw Unable("no room");
    if (module == "unfit") throw Unfit("no kernel");
    return std::make_unique<Told>(*this);
  }

 private:
  class Told : public Kernel {
   public:
    explicit Told(ToldDevice& d) : d_(d) {}
    void launch(const Arguments& a) override { d_.kernel(a); }
    std::vector<double> time(const Arguments& a, const TimingRules& rules) override {
      d_.asked = rules;
      d_.kernel(a);
      return {0.5, 0.25};
    }

   private:
    ToldDevice& d_;
  };
};

RunJob two_floats(bool check) {
  RunJob job;
  job.library = "any";
  job.params = {{'i', "f32", 8}, {'o', "f32", 8}};
  job.workspace_bytes = 100;
  job.check = check;
  return job;
}

void doubles(const Arguments& a) {
  float v[2];
  std::memcpy(v, data(a, 0), sizeof v);
  for (float& x : v) x *= 2;
  std::memcpy(data(a, 1), v, sizeof v);
}

// Nothing is kept from job to job.
Message once(const RunJob& job, Device& d, char* shared) {
  Operands none;
  return run_job(job, d, shared, none);
}

TEST(RunJob, TimesAreTheDevices) {
  ToldDevice d;
  d.kernel = doubles;
  EXPECT_EQ(once(two_floats(false), d, nullptr), (Message{"ok", "0.5", "0.25"}));
  EXPECT_EQ(d.asked.flushed, (std::vector<bool>{false, true}));
}

TEST(RunJob, AChecksOutputsLieInTheSharedMemory) {
  ToldDevice d;
  d.kernel = doubles;
  alignas(64) char shared[128] = {};
  const float in[2] = {1.5F, -4};
  std::memcpy(shared, in, sizeof in);
  EXPECT_EQ(once(two_floats(true), d, shared), Message{"ok"});
  float out[2];
  std::memcpy(out, shared + 64, sizeof out);
  EXPECT_EQ(out[0], 3);
  EXPECT_EQ(out[1], -8);
}

TEST(RunJob, WhatIsNotTheKernelsIsWrong) {
  ToldDevice d;
  alignas(64) char shared[128] = {};
  d.kernel = [](const Arguments& a) { data(a, 0)[3] = 1; };
  EXPECT_EQ(once(two_floats(true), d, shared), (Message{"wrong", "wrote to input 0"}));
  d.kernel = [](const Arguments& a) { data(a, 1)[8] = 1; };
  for (const bool check : {false, true})
    EXPECT_EQ(once(two_floats(check), d, shared),
              (Message{"wrong", "wrote outside of parameter 1"}));
  d.kernel = [](const Arguments& a) { static_cast<Guarded&>(*a.workspace).data()[100] = 1; };
  EXPECT_EQ(once(two_floats(false), d, nullptr),
            (Message{"wrong", "wrote outside of the workspace"}));
}

TEST(RunJob, OutputsArePoisonedAndInputsAreQuickValues) {
  ToldDevice d;
  RunJob job = two_floats(false);
  job.params[0].bytes = job.params[1].bytes = 200000;  // several chunks, the last one not whole
  job.poison = 0x55;
  d.kernel = [](const Arguments& a) {
    for (int64_t i = 0; i < a.params[1]->bytes(); ++i) ASSERT_EQ(data(a, 1)[i], 0x55);
    for (int64_t i = 0; i < a.params[0]->bytes(); i += 4) {
      float v = 0;
      std::memcpy(&v, data(a, 0) + i, 4);
      ASSERT_TRUE(std::abs(v) >= 0.5F && std::abs(v) < 1) << v;
    }
  };
  EXPECT_EQ(once(job, d, nullptr)[0], "ok");
}

// Those of the job before serve the next one that has the same; what was damaged does not.
TEST(RunJob, OperandsAreKept) {
  ToldDevice d;
  Operands kept;
  std::vector<const Buffer*> seen;
  d.kernel = [&](const Arguments& a) { seen.push_back(a.params[0].get()); };
  RunJob job = two_floats(false);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run_job(job, d, nullptr, kept)[0], "ok");
  job.workspace_bytes = 5000;  // is each program's own
  EXPECT_EQ(run_job(job, d, nullptr, kept)[0], "ok");
  EXPECT_EQ(seen, std::vector<const Buffer*>(3, seen[0]));
  job.params[1].bytes = 12;
  d.kernel = [](const Arguments& a) {
    EXPECT_EQ(a.params[1]->bytes(), 12);
    data(a, 1)[12] = 1;
  };
  EXPECT_EQ(run_job(job, d, nullptr, kept)[0], "wrong");
  d.kernel = [](const Arguments&) {};
  EXPECT_EQ(run_job(job, d, nullptr, kept)[0], "ok") << "they are new, with zones that are whole";
}

TEST(Timing, WhatIsClearlySlowerIsRepeatedLess) {
  int calls = 0;
  const auto kernel = [&] {
    ++calls;
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(500);
    while (std::chrono::steady_clock::now() < end) {
    }
  };
  const auto nothing = [] {};
  CoreProbe quiet([] { return 1.0; });
  TimingRules rules{.min_run_s = 0.02, .best_s = 1e-6, .cold = true, .flushed = {}};
  EXPECT_EQ(repeat(kernel, nothing, rules, quiet).size(), 3U);
  rules.best_s = 0;  // there is none yet
  EXPECT_GT(repeat(kernel, nothing, rules, quiet).size(), 3U);
  EXPECT_FALSE(clearly_slower({1.4, 2, 2}, {.best_s = 1, .flushed = {}}));
  EXPECT_TRUE(clearly_slower({1.6, 2, 2}, {.best_s = 1, .flushed = {}}));
  EXPECT_FALSE(clearly_slower({1.6, 2}, {.best_s = 1, .flushed = {}})) << "too few to tell";
}

TEST(Timing, AProbeTellsWhenItsCoreIsShared) {
  std::vector<double> times{1, 1.1, 0.9, 1.9, 1.0};
  size_t at = 0;
  CoreProbe probe([&] { return times[at++]; });
  std::vector<bool> own;
  for (size_t i = 0; i < times.size(); ++i) own.push_back(probe.undisturbed());
  EXPECT_EQ(own, (std::vector<bool>{true, true, true, false, true}));
}

TEST(Timing, AClockThatStaysLowerIsNotANeighbour) {
  double s = 1;
  CoreProbe probe([&] { return s; });
  EXPECT_TRUE(probe.undisturbed());
  s = 1.4;
  int probes = 1;
  for (; !probe.undisturbed(); ++probes) ASSERT_LT(probes, 5000);
  EXPECT_GT(probes, 100);
}

// The core is another's for every second repetition, which takes four times as long then.
TEST(Timing, WhatWasDisturbedDoesNotCount) {
  bool shared = false;
  const auto kernel = [&] {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::microseconds(shared ? 2000 : 500);
    while (std::chrono::steady_clock::now() < end) {
    }
  };
  const auto flush = [&] { shared = !shared; };
  const TimingRules rules{.min_run_s = 0.05, .best_s = 0, .cold = true, .flushed = {}};
  CoreProbe probe([&] { return shared ? 2.0 : 1.0; });
  shared = true;
  const auto own = repeat(kernel, flush, rules, probe);
  EXPECT_GE(own.size(), 3U);
  for (const double s : own) EXPECT_GE(s, 500e-6);
  EXPECT_LT(*std::min_element(own.begin(), own.end()), 1e-3);
  const auto slow = std::count_if(own.begin(), own.end(), [](double s) { return s > 1.9e-3; });
  EXPECT_LE(slow, std::ssize(own) / 4) << "a machine that is busy may stop any of them";

  double worse = 1;
  CoreProbe always([&] { return worse *= 1.3; });
  EXPECT_GE(repeat(kernel, flush, rules, always).size(), 3U) << "what there is, counts then";
}

TEST(RunJob, WhoseFaultItIs) {
  ToldDevice d;
  RunJob job = two_floats(false);
  job.library = "unable";
  EXPECT_EQ(once(job, d, nullptr), (Message{"unable", "no room"}));
  job.library = "unfit";
  EXPECT_EQ(once(job, d, nullptr), (Message{"failed", "no kernel"}));
  job.library = "any";
  d.kernel = [](const Arguments&) { throw std::bad_alloc(); };
  EXPECT_EQ(once(job, d, nullptr), (Message{"failed", "no memory for its arguments"}));
}

TEST(RunJob, NamesItsDeviceOnTheWay) {
  RunJob job = two_floats(false);
  job.device = "toy";
  RunJob back;
  ASSERT_TRUE(decode(encode(job), back));
  EXPECT_EQ(back.device, "toy");
  EXPECT_EQ(back.params.size(), 2u);
  EXPECT_EQ(RunJob{}.device, "cpu");
}

}  // namespace
}  // namespace tenon::run
