// SPDX-License-Identifier: Apache-2.0
#include "report/network/network.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/network/network_html.h"
#include "report/network/network_json.h"
#include "report/network/network_text.h"
#include "report/network/runs.h"
#include "report/sample_network.h"
#include "support/check.h"
#include "task/task.h"

namespace tenon::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kBlocked = "split(1,[2,4]).reorder([0,1,3,4,2])";

Json task(const char* key, const std::string& te, const std::string& edges,
          const std::string& trace = "") {
  return {{"task", key}, {"origin", "template t"}, {"te", te}, {"edges", edges}, {"trace", trace}};
}

Json kernel(const char* name, const char* key, const char* algorithm = nullptr) {
  Json k = {{"name", name}, {"task", key}, {"origin", "template t"}, {"flops", 1}, {"bytes", 1}};
  if (algorithm != nullptr) {
    k["algorithm"] = algorithm;
    k["error"] = 3e-6;
    k["direct_error"] = 2e-7;
  }
  return k;
}

Json step(int of, std::vector<std::string> params, const char* node) {
  return {{"kernel", of}, {"nodes", {node}}, {"params", std::move(params)}};
}

const std::string kConv =
    "input X: f32[1, 8, 5, 5]\nconst W: f32[8, 8, 1, 1]\n"
    "conv[n: 1, k: 8, y: 5, x: 5] = sum(c: 8, r: 1, s: 1) X[n, c, y + r, x + s] * W[k, c, r, s]\n"
    "output conv\n";
const std::string kRelay =
    "input x0: f32[1, 8, 5, 5]\nrelay[a: 1, b: 8, c: 5, d: 5] = x0[a, b, c, d]\noutput relay\n";
const std::string kAdd =
    "input x0: f32[1, 8, 5, 5]\ninput x1: f32[1, 8, 5, 5]\n"
    "add[a: 1, b: 8, c: 5, d: 5] = x0[a, b, c, d] + x1[a, b, c, d]\noutput add\n";
const std::string kFlat =
    "input x0: f32[1, 200]\nrelu[a: 1, b: 200] = max(x0[a, b], 0.0)\noutput relu\n";

// x -> relay -> conv -> conv -> add with the relayed -> relay -> relu of a flat view. The second conv writes where
// nothing is needed any more, the add into its own input.
Json lock() {
  const std::string both = std::string("X: ") + kBlocked + "\nconv: " + kBlocked + "\n";
  const std::string all =
      std::string("add: ") + kBlocked + "\nx0: " + kBlocked + "\nx1: " + kBlocked + "\n";
  return {{"tasks",
           {task("t0", kRelay, std::string("relay: ") + kBlocked + "\n"),
            task("t1", kConv, both, "variant conv winograd4\nparallel conv n\n"),
            task("t2", kConv, both, "parallel conv n\n"), task("t3", kAdd, all),
            task("t4", kRelay, std::string("x0: ") + kBlocked + "\n"), task("t5", kFlat, "")}}};
}

Json manifest() {
  return {{"name", "net"},
          {"target", {{"name", "x86-64-v3"}}},
          {"inputs", {{{"name", "x"}, {"dtype", "f32"}, {"shape", {1, 8, 5, 5}}, {"bytes", 800}}}},
          {"outputs", {{{"name", "y"}, {"dtype", "f32"}, {"shape", {1, 200}}, {"bytes", 800}}}},
          {"kernels",
           {kernel("k0_relay", "t0"), kernel("k1_conv", "t1", "winograd4"),
            kernel("k2_conv", "t2", "direct"), kernel("k3_add", "t3"), kernel("k4_relay", "t4"),
            kernel("k5_relu", "t5")}},
          {"steps",
           {step(0, {"input 0", "arena 0+800"}, "relay of x"),
            step(1, {"arena 0+800", "weights 0+256", "arena 832+800"}, "c1"),
            step(2, {"arena 832+800", "weights 256+256", "arena 1664+800"}, "c2"),
            step(3, {"arena 1664+800", "arena 0+800", "arena 1664+800"}, "add"),
            step(4, {"arena 1664+800", "arena 0+800"}, "relay of s"),
            step(5, {"arena 0+800", "output 0"}, "relu")}}};
}

Network network() { return parse_network(manifest().dump(), lock().dump()); }

TEST(Network, WhoReadsWhat) {
  const Network n = network();
  ASSERT_EQ(n.nodes.size(), 7u);
  const std::vector<std::vector<size_t>> reads = {{}, {0}, {1}, {2}, {1, 3}, {4}, {5}};
  for (size_t i = 0; i < reads.size(); ++i) EXPECT_EQ(n.nodes[i].reads, reads[i]) << i;
  EXPECT_EQ(n.nodes[0].kind, NodeKind::kInput);
  EXPECT_EQ(n.nodes[6].gives, std::vector<std::string>{"y"});
  EXPECT_EQ(n.nodes[2].step, 1u);
}

TEST(Network, AlgorithmsLayoutsAndConversions) {
  const Network n = network();
  EXPECT_EQ(n.nodes[2].algorithm, "winograd4");
  EXPECT_EQ(n.nodes[3].algorithm, "direct");
  EXPECT_EQ(n.nodes[4].algorithm, "") << "an addition is what it is";
  EXPECT_EQ(n.nodes[2].error, 3e-6);
  EXPECT_EQ(n.nodes[2].direct_error, 2e-7);
  EXPECT_EQ(steps_text(n), "6 steps: 1 direct, 1 winograd4");
  EXPECT_EQ(n.nodes[0].outputs[0].layout, "N C H W") << "a convolution reads it";
  for (size_t i = 1; i < 5; ++i) EXPECT_EQ(n.nodes[i].outputs[0].layout, "N C/4 H W 4c") << i;
  EXPECT_EQ(n.nodes[5].outputs[0].layout, "N C H W");
  EXPECT_EQ(n.nodes[6].outputs[0].layout, "M N") << "a view of other rank";
  EXPECT_EQ(n.nodes[5].kind, NodeKind::kConversion);
  EXPECT_EQ(n.nodes[5].from, "N C/4 H W 4c");
  EXPECT_EQ(n.nodes[5].moved_bytes, 1600);
  const Conversions c = conversions(n);
  EXPECT_EQ(c.count, 2u);
  EXPECT_EQ(c.bytes, 3200);
  EXPECT_DOUBLE_EQ(c.seconds, 3200 / task::kConvertedBytesPerS);
  const auto uses = layouts_used(n);
  ASSERT_EQ(uses.size(), 3u);
  EXPECT_EQ(uses[1].layout, "N C/4 H W 4c");
  EXPECT_EQ(uses[1].tensors, 4u);
  EXPECT_EQ(uses[1].bytes, 3200);
}

TEST(Network, AsText) {
  const std::string text = to_text(network());
  EXPECT_NE(text.find("o    x         input       N C H W                  1x8x5x5  800 B\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("x    k0_relay  conversion  N C H W -> N C/4 H W 4c  1x8x5x5  800 B  moves "
                      "1.6 KiB, estimated 0.2 us\n"
                      "|\\\n"
                      "* |  k1_conv   winograd4   N C/4 H W 4c"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("|/\n*    k3_add"), std::string::npos) << text;
  EXPECT_NE(text.find("gives y"), std::string::npos) << text;
  EXPECT_NE(text.find("net for x86-64-v3, 6 steps: 1 direct, 1 winograd4; 2 conversions move 3.1 "
                      "KiB: 0.4 us, estimated at 8 GB/s\n"),
            std::string::npos)
      << text;
}

TEST(Network, MeasuredTimes) {
  Network n = network();
  set_times(n, {1e-6, 5e-6, 7e-6, 2e-6, 3e-6, 1e-6}, 2, 25e-6);
  EXPECT_DOUBLE_EQ(conversions(n).seconds, 4e-6);
  const std::string text = to_text(n);
  EXPECT_NE(text.find("4.0 us of 25.0 us, measured with 2 threads"), std::string::npos) << text;
  EXPECT_EQ(text.find("estimated"), std::string::npos) << text;
  EXPECT_TRUE(text.substr(0, text.find('\n')).ends_with("size   time")) << text;
  EXPECT_THROW(set_times(n, {1e-6}, 2, 1), InternalError);
  const Json j = network_json(n);
  EXPECT_EQ(j["cost"]["measured"], true);
  EXPECT_EQ(j["nodes"][2]["time_s"], 5e-6);
}

TEST(Network, TimesOfRecords) {
  Network n = network();
  set_recorded(n, {{"t0", 9e-6}, {"t1", 5e-6}});
  EXPECT_FALSE(n.nodes[2].measured_s) << "only conversions: other schedules may be faster";
  const Conversions c = conversions(n);
  EXPECT_EQ(c.recorded, 1u);
  EXPECT_EQ(c.estimated, 1u);
  EXPECT_DOUBLE_EQ(c.seconds, 9e-6 + 1600 / task::kConvertedBytesPerS);
  EXPECT_EQ(
      conversions_text(n),
      "2 conversions move 3.1 KiB: 9.2 us, by the records of tuning, 1 of them estimated at 8 "
      "GB/s");
  const Json j = network_json(n);
  EXPECT_EQ(j["nodes"][1]["cost_from"], "records");
  EXPECT_EQ(j["nodes"][1]["cost_s"], 9e-6);
  EXPECT_EQ(j["nodes"][5]["cost_from"], "estimate");
  set_recorded(n, {{"t4", 1e-6}});
  EXPECT_EQ(conversions_text(n), "2 conversions move 3.1 KiB: 10.0 us, by the records of tuning");
  set_times(n, std::vector<double>(6, 1e-6), 1, 7e-6);
  EXPECT_EQ(conversions(n).recorded, 0u) << "a run of the network knows better";
  EXPECT_EQ(network_json(n)["nodes"][1]["cost_from"], "run");
}

TEST(Network, AsData) {
  const Json j = network_json(network());
  EXPECT_EQ(j["name"], "net");
  EXPECT_EQ(j["cost"]["measured"], false);
  EXPECT_EQ(j["conversions"]["count"], 2);
  EXPECT_EQ(j["nodes"][1]["from"], "N C H W");
  EXPECT_EQ(j["nodes"][1]["outputs"][0]["steps"], kBlocked);
  EXPECT_EQ(j["nodes"][4]["reads"], Json({1, 3}));
  EXPECT_EQ(j["nodes"][4]["algorithm"], nullptr);
}

TEST(Network, FilesThatDoNotTellEnough) {
  Json old = manifest();
  old["steps"][0].erase("params");
  EXPECT_THROW(parse_network(old.dump(), lock().dump()), UserError);
  Json odd = manifest();
  odd["steps"][0]["params"][0] = "nowhere";
  EXPECT_THROW(parse_network(odd.dump(), lock().dump()), UserError);
  odd["steps"][0]["params"] = {"input 0"};
  EXPECT_THROW(parse_network(odd.dump(), lock().dump()), UserError);
  odd["steps"][0]["kernel"] = 6;
  EXPECT_THROW(parse_network(odd.dump(), lock().dump()), UserError);
  EXPECT_THROW(parse_network(manifest().dump(), R"({"tasks":[]})"), UserError);
  EXPECT_THROW(parse_network("{", "{}"), UserError);
}

// An input, then `times` layers of two steps; the second reads what the layer began with, too.
Network layers(size_t times) {
  const auto named = [](const char* name) {
    NetworkNode node;
    node.name = node.task = name;
    node.outputs = {{"f32", {4}, "N", "", 16}};
    return node;
  };
  Network n;
  n.name = "n";
  n.nodes.push_back(named("x"));
  n.nodes[0].kind = NodeKind::kInput;
  for (size_t i = 0; i < times; ++i) {
    const size_t last = n.nodes.size() - 1;
    for (const char* name : {"a", "b"}) {
      NetworkNode node = named(name);
      node.reads = {last};
      if (n.nodes.size() - 1 > last) node.reads.push_back(n.nodes.size() - 1);
      node.step = n.nodes.size() - 1;
      n.nodes.push_back(node);
    }
  }
  n.nodes.back().gives = {"y"};
  return n;
}

TEST(Network, EqualRunsAreDrawnOnce) {
  const PictureRows rows = collapse_runs(layers(12));
  // The input, a layer, ten more of them, and the last, which gives a result.
  ASSERT_EQ(rows.rows.size(), 6U);
  EXPECT_EQ(rows.rows[3].steps, 2U);
  EXPECT_EQ(rows.rows[3].times, 10U);
  EXPECT_EQ(rows.of[1], 1U);
  EXPECT_EQ(rows.of[22], 3U);
  EXPECT_EQ(rows.of.back(), 5U);
  EXPECT_EQ(collapse_runs(layers(2)).rows.size(), 5U);
  Network n = layers(12);
  set_times(n, std::vector<double>(24, 1e-3), 1, 24e-3);
  const std::string page = network_page(n);
  EXPECT_NE(page.find("the same 2 steps 10 more times"), std::string::npos);
  EXPECT_NE(page.find("20.000 ms together"), std::string::npos);
  set_times(n, std::vector<double>(24, 1e-6), 1, 24e-6);
  EXPECT_NE(network_page(n).find("20.0 µs together"), std::string::npos);
  EXPECT_EQ(network_page(n).find("0 us"), std::string::npos) << "one sign on a page";
  EXPECT_NE(page.find("class=\"time\""), std::string::npos);
  EXPECT_NE(page.find("layout of its output"), std::string::npos);
}

TEST(Network, APageOfManySteps) {
  const Network n = sample_network(150);
  const std::string page = network_page(n);
  const auto count = [&](const std::string& what) {
    size_t found = 0;
    for (size_t at = page.find(what); at != std::string::npos; at = page.find(what, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("<rect class=\"box\""), n.nodes.size());
  EXPECT_EQ(count("<g class=\"node conversion"), conversions(n).count);
  EXPECT_EQ(count("<script"), 0u) << "names are escaped, and the page needs none";
  EXPECT_NE(page.find("&lt;script&gt;"), std::string::npos);
  EXPECT_EQ(count("nan"), 0u);
}

}  // namespace
}  // namespace tenon::report
