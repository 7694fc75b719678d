// SPDX-License-Identifier: Apache-2.0
#include "artifact/write.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "artifact/model.h"
#include "artifact/programs.h"
#include "support/sha256.h"

namespace tenon::artifact {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Write, ASmallNetworkRunsRight) {
  const ScratchFolder folder;
  const Chain net = small_network("net", target::host_target());
  const Written written = write(net.program(), {.directory = folder / "out"});
  EXPECT_EQ(written.files, (std::vector<std::string>{"libnet.so", "net.h", "net.hpp", "net.json",
                                                     "net.lock", "net.weights"}));
  const Model model = Model::load(folder / "out");
  EXPECT_EQ(model.name(), "net");
  ASSERT_EQ(model.inputs().size(), 1U);
  EXPECT_EQ(model.inputs()[0].name, "x");
  EXPECT_EQ(model.steps().size(), 3U);
  EXPECT_EQ(model.steps()[2].nodes, std::vector<std::string>{"node/softmax"});
  for (const int threads : {1, 2, 5}) {
    Session session(model, threads);
    EXPECT_EQ(session.threads(), threads);
    for (uint64_t seed = 0; seed < 3; ++seed) {
      const auto inputs = net.random_inputs(seed);
      EXPECT_EQ(difference(net.expected(inputs), session.run(inputs)), "");
    }
  }
}

// The linker's own handlers would delete its output and end the process.
TEST(Write, SignalsReachTheProgramAndDisturbNoLinking) {
  const ScratchFolder folder;
  const Chain net = small_network("net", target::host_target());
  static std::atomic<int> heard;
  heard = 0;
  struct sigaction ours = {};
  struct sigaction before = {};
  ours.sa_handler = [](int) { ++heard; };
  ours.sa_flags = SA_RESTART;
  sigaction(SIGINT, &ours, &before);
  std::atomic<bool> done = false;
  int sent = 0;
  std::thread sender([&] {
    // A signal that comes while the one before it waits is the same signal: each is waited for.
    constexpr int kPatience = 100'000;
    for (int waited = 0; !done && waited < kPatience; ++sent) {
      kill(getpid(), SIGINT);
      for (waited = 0; heard <= sent && waited < kPatience; ++waited) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_NO_THROW(write(net.program(), {.directory = folder / "out"}));
  }
  done = true;
  sender.join();
  sigaction(SIGINT, &before, nullptr);
  EXPECT_GT(sent, 20);
  EXPECT_EQ(heard, sent) << "a signal was lost";
  Session session(Model::load(folder / "out"), 1);
  const auto inputs = net.random_inputs(1);
  EXPECT_EQ(difference(net.expected(inputs), session.run(inputs)), "");
}

TEST(Write, TheSameProgramGivesTheSameBytes) {
  const ScratchFolder folder;
  const Chain net = small_network("net", target::host_target());
  WriteOptions options;
  options.outputs = parse_outputs("so,a,h,o,ll,asm");
  options.directory = folder / "one";
  const Written one = write(net.program(), options);
  options.directory = folder / "another/place";
  options.threads = 1;
  const Written two = write(small_network("net", target::host_target()).program(), options);
  EXPECT_EQ(one.files, two.files);
  EXPECT_EQ(one.files.size(), 14U);
  for (const std::string& name : one.files) {
    EXPECT_EQ(read_file(folder / "one" / name), read_file(folder / "another/place" / name)) << name;
  }
}

// sha256sum of any file gives what the manifest says.
TEST(Write, TheManifestTellsTheTruth) {
  const ScratchFolder folder;
  const Chain net = small_network("net", target::host_target());
  write(net.program(), {.directory = folder / "out"});
  const auto j = nlohmann::json::parse(read_file(folder / "out/net.json"));
  EXPECT_EQ(j.at("schema"), "tenon.artifact/1");
  EXPECT_EQ(j.at("target").at("name"), target::host_target().cpu().processor);
  EXPECT_EQ(j.at("inputs").at(0).at("shape"), (std::vector<int64_t>{3, 17}));
  EXPECT_EQ(j.at("steps").at(1).at("nodes").at(0), "node/relu");
  EXPECT_EQ(j.at("kernels").at(0).at("origin"), net.program().plan.tasks[0].origin);
  EXPECT_EQ(j.at("provenance").at("model"), "made by hand");
  EXPECT_EQ(j.at("licences").at(0).at("licence"), "Apache-2.0");
  ASSERT_EQ(j.at("files").size(), 5U);
  for (const auto& file : j.at("files")) {
    const std::string bytes = read_file(folder / "out" / file.at("name"));
    EXPECT_EQ(file.at("bytes"), bytes.size());
    EXPECT_EQ(file.at("sha256"), sha256_hex(bytes)) << file;
  }
  const std::string weights = read_file(folder / "out/net.weights");
  EXPECT_EQ(j.at("weights").at("sha256"), sha256_hex(weights.substr(0, weights.size() - 64)));
  const auto lock = nlohmann::json::parse(read_file(folder / "out/net.lock"));
  ASSERT_EQ(lock.at("tasks").size(), 3U);
  EXPECT_EQ(lock.at("tasks").at(2).at("trace"), net.program().plan.tasks[2].trace);
}

// Names come from files: any bytes.
TEST(Write, NamesOfAnyKind) {
  const ScratchFolder folder;
  Program p;
  p.name = "odd";
  p.target = target::host_target();
  p.inputs = {{"a\"b\\c*/\n\xff", ir::kF32, {0}}, {"", ir::kF32, {0}}};
  p.provenance = {{"file", "\xc3\x28"}};
  write(p, {.directory = folder / "out"});
  const Model model = Model::load(folder / "out");
  EXPECT_EQ(model.inputs()[0].name.substr(0, 7), "a\"b\\c*/");
  const std::string header = read_file(folder / "out/odd.h");
  EXPECT_NE(header.find("inputs[0]  a\"b?c?/?? "), std::string::npos) << header;
}

TEST(Write, ProgramsThatDoNotFitAreRefused) {
  const ScratchFolder folder;
  const Chain net = small_network("net", target::host_target());
  const auto refused = [&](const std::function<void(Program&)>& spoil) {
    Program p = net.program();
    spoil(p);
    EXPECT_THROW(write(p, {.directory = folder / "out"}), InternalError);
  };
  refused([](Program& p) { p.name = "my-net"; });
  refused([](Program& p) { p.kernels[1].name = p.kernels[0].name; });
  refused([](Program& p) { p.steps[0].params.pop_back(); });
  refused([](Program& p) { p.steps[0].kernel = 9; });
  refused([](Program& p) { p.arena_bytes -= 64; });
  refused([](Program& p) { p.weights_bytes -= 64; });
  refused([](Program& p) { p.steps[1].params[0].offset = 32; });
  refused([](Program& p) { p.steps[0].params[0].index = 1; });
  refused([](Program& p) { std::swap(p.steps[0].params[1], p.steps[0].params[2]); });
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace tenon::artifact
