// SPDX-License-Identifier: Apache-2.0
#include "artifact/model.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "artifact/manifest_file.h"
#include "artifact/programs.h"
#include "artifact/write.h"
#include "te/ops.h"

namespace tenon::artifact {
namespace {

namespace fs = std::filesystem;

Model written(const Program& program, const ScratchFolder& folder) {
  write(program, {.directory = folder / program.name});
  return Model::load(folder / program.name);
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& e) {
    return e.what();
  }
  return "not refused";
}

te::ComputeDag copy_dag(std::vector<int64_t> shape) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, std::move(shape));
  b.output(te::elementwise(b, "Y", {x}, [](auto v) { return v[0]; }));
  te::ComputeDag dag = b.finish();
  dag.name = "copy";
  return dag;
}

TEST(Model, NothingToDo) {
  const ScratchFolder folder;
  Program p;
  p.name = "nothing";
  p.target = target::host_target();
  const Model model = written(p, folder);
  EXPECT_TRUE(model.inputs().empty());
  EXPECT_EQ(model.weights_bytes(), 0);
  EXPECT_FALSE(fs::exists(folder / "nothing/nothing.weights"));
  Session session(model, 2);
  EXPECT_TRUE(session.run({}).empty());
}

TEST(Model, TensorsWithoutElements) {
  const ScratchFolder folder;
  Program p;
  p.name = "empty";
  p.target = target::host_target();
  p.inputs = {{"a", ir::kF32, {0, 3}}, {"b", ir::kI64, {}}};
  p.outputs = {{"c", ir::kBool, {5, 0, 2}}};
  Session session(written(p, folder), 1);
  const auto results =
      session.run(std::vector<ir::Array>{ir::Array(ir::kF32, {0, 3}), ir::Array(ir::kI64, {})});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].shape(), (std::vector<int64_t>{5, 0, 2}));
}

// The same input goes to two outputs and into a step that has an output of its own.
TEST(Model, AnInputAsOutput) {
  const ScratchFolder folder;
  Chain c("copies", target::host_target());
  c.input("x", ir::kF32, {7, 3});
  c.output("y", ir::kF32, {7, 3});
  c.output("z", ir::kF32, {7, 3});
  c.step(copy_dag({7, 3}), {"x"}, {"y"});
  c.step(copy_dag({7, 3}), {"x"}, {"z"});
  Session session(written(c.program(), folder), 2);
  const auto inputs = c.random_inputs(3);
  EXPECT_EQ(difference({inputs[0], inputs[0]}, session.run(inputs)), "");
}

TEST(Model, AScalarAndOneTinyWeight) {
  const ScratchFolder folder;
  Chain c("tiny", target::host_target());
  c.input("x", ir::kF32, {1});
  c.output("y", ir::kF32, {1});
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1});
  const auto w = b.constant("W", ir::kF32, {1});
  b.output(te::elementwise(b, "Y", {x, w}, [](auto v) { return v[0] * v[1]; }));
  c.step(b.finish(), {"x"}, {"y"});
  const Model model = written(c.program(), folder);
  EXPECT_EQ(fs::file_size(folder / "tiny/tiny.weights"), 64U + 64U);
  Session session(model, 1);
  const auto inputs = c.random_inputs(9);
  EXPECT_EQ(difference(c.expected(inputs), session.run(inputs)), "");
}

TEST(Model, MemoryOfTheCallerAtAnyAlignment) {
  const ScratchFolder folder;
  const Chain net = small_network("net", target::host_target());
  Session session(written(net.program(), folder), 2);
  const auto inputs = net.random_inputs(4);
  const auto expected = net.expected(inputs);
  alignas(64) std::byte block[4096];
  for (const size_t shift : {0U, 4U, 20U, 64U}) {
    std::byte* in = block + shift;
    std::byte* out = block + 2048 + shift;
    std::memset(block, 0x5C, sizeof block);
    std::memcpy(in, inputs[0].data(), static_cast<size_t>(inputs[0].bytes()));
    const void* ins[] = {in};
    void* outs[] = {out};
    session.run(ins, outs);
    ir::Array got(ir::kF32, {3, 29});
    std::memcpy(got.data(), out, static_cast<size_t>(got.bytes()));
    EXPECT_EQ(difference(expected, {got}), "") << shift;
    EXPECT_EQ(out[got.bytes()], std::byte{0x5C});
    EXPECT_EQ(out[-1], std::byte{0x5C});
  }
}

TEST(Model, EightThreadsWithASessionEach) {
  const ScratchFolder folder;
  const Chain net = small_network("net", target::host_target());
  const Model model = written(net.program(), folder);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      Session session(model, 1 + static_cast<int>(t % 3));
      for (uint64_t round = 0; round < 10; ++round) {
        const auto inputs = net.random_inputs(100 * t + round);
        EXPECT_EQ(difference(net.expected(inputs), session.run(inputs)), "");
      }
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
}

TEST(Model, TheCallersThreads) {
  const ScratchFolder folder;
  // Large enough for its loops to be parallel.
  Chain c("wide", target::host_target());
  c.input("x", ir::kF32, {512, 400});
  c.output("y", ir::kF32, {512, 400});
  c.step(copy_dag({512, 400}), {"x"}, {"y"});
  std::vector<int64_t> calls;
  const tenon_runtime mine{[](const tenon_runtime* rt, tenon_body body, void* closure, int64_t n) {
                             static_cast<std::vector<int64_t>*>(rt->pool)->push_back(n);
                             body(closure, n / 2, n);
                             body(closure, 0, n / 2);
                           },
                           &calls, 4};
  Session session(written(c.program(), folder), SessionOptions{0, &mine});
  EXPECT_EQ(session.threads(), 4);
  const auto inputs = c.random_inputs(6);
  EXPECT_EQ(difference(inputs, session.run(inputs)), "");
  EXPECT_FALSE(calls.empty());
}

TEST(Model, TheHookSeesEveryStep) {
  const ScratchFolder folder;
  const Chain net = small_network("net", target::host_target());
  Session session(written(net.program(), folder), 1);
  std::vector<int> seen;
  session.set_hook([&](int step, bool after) { seen.push_back(10 * step + (after ? 1 : 0)); });
  session.run(net.random_inputs(1));
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 10, 11, 20, 21}));
  session.set_hook({});
  session.run(net.random_inputs(1));
  EXPECT_EQ(seen.size(), 6U);
}

TEST(Model, WrongInputsAreNamed) {
  const ScratchFolder folder;
  const Chain net = small_network("net", target::host_target());
  Session session(written(net.program(), folder), 1);
  EXPECT_EQ(refusal([&] { session.run(std::vector<ir::Array>{}); }), "net takes 1 inputs, not 0");
  EXPECT_EQ(refusal([&] {
              session.run({ir::Array(ir::kF32, {17, 3})});
            }),
            "input 'x' is f32 3x17, not f32 17x3");
  EXPECT_EQ(refusal([&] {
              session.run({ir::Array(ir::kF64, {3, 17})});
            }),
            "input 'x' is f32 3x17, not f64 3x17");
}

TEST(Model, DamagedFilesAreRefused) {
  const ScratchFolder folder;
  const Chain net = small_network("net", target::host_target());
  const fs::path weights = folder / "net/net.weights";
  const auto refused = [&] {
    return refusal([&] { const Session session(Model::load(folder / "net"), 1); });
  };
  const auto spoil = [&](std::streamoff at) {
    std::fstream file(weights, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put('!');
  };
  write(net.program(), {.directory = folder / "net"});
  const auto size = static_cast<std::streamoff>(fs::file_size(weights));
  spoil(200);
  EXPECT_NE(refused().find("were changed since they were written"), std::string::npos) << refused();
  spoil(size - 30);
  EXPECT_NE(refused().find("belong to another build"), std::string::npos) << refused();
  spoil(size - 64);
  EXPECT_NE(refused().find("are not a weights file"), std::string::npos) << refused();
  fs::resize_file(weights, 1000);
  EXPECT_NE(refused().find("net.weights"), std::string::npos) << refused();
  fs::resize_file(weights, 0);
  EXPECT_NE(refused().find("are too short"), std::string::npos) << refused();
  fs::remove(weights);
  EXPECT_NE(refused().find("are not there"), std::string::npos) << refused();

  fs::resize_file(folder / "net/net.json", 100);
  EXPECT_NE(refused().find("holds no artifacts"), std::string::npos) << refused();
  EXPECT_NE(refusal([&] { Model::load(folder / "net/net.json"); }).find("is not a manifest"),
            std::string::npos);
  EXPECT_NE(
      refusal([&] { Model::load(folder / "nowhere"); }).find("there is no such file or folder"),
      std::string::npos);
}

// The manifest decides nothing about memory: one that tells of larger or smaller tensors than the library has is
// refused, with both files and the difference in the sentence.
TEST(Model, AnotherModelsManifestIsRefused) {
  const ScratchFolder folder;
  const Chain net = small_network("net", target::host_target());
  write(net.program(), {.directory = folder / "net"});
  Chain wide("net", target::host_target());
  wide.input("x", ir::kF32, {3, 4000});
  wide.output("y", ir::kF32, {3, 4000});
  wide.step(copy_dag({3, 4000}), {"x"}, {"y"});
  write(wide.program(), {.directory = folder / "wide"});
  const std::string file = folder / "net/net.json";
  const auto refused = [&] { return refusal([&] { Model::load(file); }); };
  const auto expect = [&](const std::string& manifest, const std::string& says) {
    std::ofstream(file) << manifest;
    const std::string sentence = refused();
    EXPECT_NE(sentence.find(file), std::string::npos) << sentence;
    EXPECT_NE(sentence.find((folder / "net/libnet.so").string()), std::string::npos) << sentence;
    EXPECT_NE(sentence.find(says), std::string::npos) << sentence;
  };
  const std::string good = read_small_file(file);
  const std::string other = read_small_file(folder / "wide/net.json");
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::vector<FileEntry> files = listed_files(file);
  expect(other, "its hash differs");
  expect(with_files(other, files), " in the library and ");
  expect(replaced("\"f32\"", "\"f64\""),
         "/inputs/0/dtype is \"f32\" in the library and \"f64\" in the manifest");
  expect(replaced("   17\n", "   4000\n"),
         "/inputs/0/shape/1 is 17 in the library and 4000 in the manifest");
  expect(replaced("\"name\": \"net\"", "\"name\": \"../net\""), "is the manifest of \"../net\"");
  std::ofstream(file) << good;
  EXPECT_EQ(refused(), "not refused");
}

TEST(Model, AnotherLibraryIsRefusedBeforeItIsLoaded) {
  const ScratchFolder folder;
  const Chain net = small_network("net", target::host_target());
  write(net.program(), {.directory = folder / "net"});
  const fs::path library = folder / "net/libnet.so";
  const auto refused = [&] { return refusal([&] { Model::load(folder / "net"); }); };
  fs::resize_file(library, fs::file_size(library) / 2);  // the loader would die of it
  EXPECT_NE(refused().find("its hash differs"), std::string::npos) << refused();
  fs::remove(library);
  EXPECT_NE(refused().find("is not there, though"), std::string::npos) << refused();
  ASSERT_EQ(mkfifo(library.c_str(), 0600), 0);
  EXPECT_NE(refused().find("is not there, though"), std::string::npos) << refused();
}

TEST(Model, ASessionIsForOneThreadAtATime) {
  const ScratchFolder folder;
  const Chain net = small_network("net", target::host_target());
  Session session(written(net.program(), folder), 1);
  const auto inputs = net.random_inputs(1);
  std::string other = "nothing was said";
  session.set_hook([&](int step, bool after) {
    if (step == 1 && !after) {
      std::thread([&] { other = refusal([&] { session.run(inputs); }); }).join();
    }
  });
  EXPECT_EQ(difference(net.expected(inputs), session.run(inputs)), "");
  EXPECT_NE(other.find("create one context per thread"), std::string::npos) << other;
}

// Weights of another build of the same model, same size.
TEST(Model, WeightsOfAnotherBuildAreRefused) {
  const ScratchFolder folder;
  const Chain net = small_network("net", target::host_target());
  write(net.program(), {.directory = folder / "a"});
  Program other = net.program();
  auto changed = std::make_shared<ir::Array>(*other.weights[0].data);
  changed->set_double(0, changed->get_double(0) + 1);
  other.weights[0].data = changed;
  write(other, {.directory = folder / "b"});
  fs::copy_file(folder / "b/net.weights", folder / "a/net.weights",
                fs::copy_options::overwrite_existing);
  EXPECT_NE(refusal([&] {
              const Session s(Model::load(folder / "a"), 1);
            }).find("belong to another build of the model"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon::artifact
