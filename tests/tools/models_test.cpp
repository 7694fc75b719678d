// SPDX-License-Identifier: Apache-2.0
// Commands on whole models, as a user sees them.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "db/db.h"
#include "files/array_files.h"
#include "files/file.h"
#include "measure/measure.h"
#include "target/target.h"
#include "tools/tenon_command.h"
#include "zoo/model_builder.h"

namespace tenon::testing {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

Json parse_answer(const Outcome& o, const std::string& schema) {
  EXPECT_EQ(o.exit_code, 0) << o.err;
  const Json answer = Json::parse(o.out);
  EXPECT_EQ(answer["schema"], schema);
  return answer;
}

// A small network with convolutions, a model that has an operator nobody knows, and a compiled artifact.
class Models : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    fs::remove_all(dir());
    fs::create_directories(dir());
    ASSERT_EQ(tenon({"zoo", "write", "dqn", "-o", model()}).exit_code, 0);
    const Outcome o = tenon({"compile", model(), "-o", artifact(), "--json"});
    parse_answer(o, "tenon.compile/1");
    zoo::ModelBuilder m("odd", 13, 1);
    const zoo::Tensor x = m.input("x", zoo::Element::kFloat, {2, 3});
    const zoo::Tensor y = m.node("Frobnicate", "first", {x}, {2, 3});
    m.output(m.node("Grumble", "second", {m.node("Relu", "between", {y}, {2, 3})}, {2, 3}), "y");
    files::write_file(odd(), m.bytes());
  }
  static std::string dir() { return ::testing::TempDir() + "tenon_models"; }
  static std::string in_dir(const std::string& name) { return dir() + "/" + name; }
  static std::string model() { return in_dir("dqn.onnx"); }
  static std::string artifact() { return in_dir("dqn"); }
  static std::string odd() { return in_dir("odd.onnx"); }
};

TEST_F(Models, CodeForGpusTellsItsLaunches) {
  const std::string listed = tenon({"explain", model(), "--target", "cuda sm_80"}).out;
  const size_t line = listed.find('\n') + 1;
  const std::string kernel = listed.substr(line, listed.find(' ', line) - line);
  const Outcome o =
      tenon({"explain", model(), "--target", "cuda sm_80", "--task", kernel, "--show", "ptx"});
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(o.out.find("// "), 0U) << o.out.substr(0, 200);
  for (const char* words :
       {"  grid ", "  block ", "  shared ", ".target sm_80", ".visible .entry"}) {
    EXPECT_NE(o.out.find(words), std::string::npos) << words;
  }
  // Where ptxas is found, its numbers are there, all of them.
  EXPECT_EQ(o.out.find("  registers ") == std::string::npos,
            o.out.find("  occupancy ") == std::string::npos);
}

TEST_F(Models, CheckDescribesTheModel) {
  const Json answer = parse_answer(tenon({"check", model(), "--json"}), "tenon.check/1");
  EXPECT_EQ(answer["ok"], true);
  EXPECT_EQ(answer["opset"], 13);
  EXPECT_EQ(answer["ops"]["Conv"], 3);
  EXPECT_EQ(answer["parameters"], 1693362);
  EXPECT_EQ(answer["inputs"][0]["shape"], Json({1, 4, 84, 84}));
  const Outcome piped = tenon({"check", "-", "--json"}, files::read_file(model()));
  EXPECT_EQ(parse_answer(piped, "tenon.check/1")["parameters"], 1693362);
  const Outcome text = tenon({"check", model()});
  EXPECT_TRUE(contains(text.out, "output   q_values: f32 1x18")) << text.out;
  EXPECT_EQ(text.err, "");
}

TEST_F(Models, ExplainShowsLayoutsAlongTheGraph) {
  const Outcome text = tenon({"explain", artifact(), "--show", "layouts"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "o  ") && contains(text.out, "frames")) << text.out;
  EXPECT_TRUE(contains(text.out, "gives q_values")) << text.out;
  EXPECT_TRUE(contains(text.out, "N C H W")) << text.out;
  const Json json = parse_answer(tenon({"explain", artifact(), "--show", "layouts", "--json"}),
                                 "tenon.explain/1");
  size_t contractions = 0;
  int64_t moved = 0;
  for (const Json& n : json["nodes"]) {
    contractions += n.contains("algorithm") && n["algorithm"].is_string() ? 1 : 0;
    moved += n.value("moved_bytes", int64_t{0});
    EXPECT_EQ(n["reads"].empty(), n["kind"] == "input") << n.dump();
    EXPECT_FALSE(n["outputs"][0]["layout"].get<std::string>().empty());
  }
  EXPECT_GE(contractions, 5U) << "three convolutions and two matrix products";
  EXPECT_EQ(json["conversions"]["bytes"], moved);
  EXPECT_EQ(json["cost"]["measured"], false);
  // A model is compiled on the way to the very same.
  EXPECT_EQ(tenon({"explain", model(), "--show", "layouts"}).out, text.out);

  const Json measured = parse_answer(
      tenon({"explain", artifact(), "--show", "layouts", "--measure", "--threads", "1", "--json"}),
      "tenon.explain/1");
  EXPECT_EQ(measured["cost"]["threads"], 1);
  EXPECT_GT(measured["nodes"].back()["time_s"], 0);
  const std::string page = in_dir("layouts.html");
  const Outcome html = tenon({"explain", artifact(), "--show", "layouts", "--html", page});
  EXPECT_EQ(html.exit_code, 0) << html.err;
  EXPECT_EQ(html.out, "");
  EXPECT_TRUE(contains(files::read_file(page), "<svg class=\"flow\""));
  EXPECT_EQ(tenon({"explain", artifact(), "--show", "layouts", "--html", "-"}).out,
            files::read_file(page));
}

TEST_F(Models, ExplainTakesCostsOfConversionsFromRecords) {
  const auto first_conversion = [&](std::vector<std::string> more) {
    std::vector<std::string> args = {"explain", artifact(), "--show", "layouts", "--json"};
    args.insert(args.end(), more.begin(), more.end());
    const Json answer = parse_answer(tenon(args), "tenon.explain/1");
    for (const Json& n : answer["nodes"]) {
      if (n["kind"] == "conversion") return n;
    }
    return Json();
  };
  const Json guessed = first_conversion({});
  ASSERT_FALSE(guessed.is_null())
      << "the first product reads row-major, the convolution writes blocks";
  EXPECT_EQ(guessed["cost_from"], "estimate");
  task::Measurement m;
  m.task = guessed["task"];
  m.target = measure::measured_target(target::host_target());
  task::Protocol one;
  one.threads = 1;
  m.protocol = task::to_string(one);
  m.trace = "[]";
  m.median_s = m.best_s = 1.25e-3;
  m.verified = true;
  db::Database::open(in_dir("records.db"))->record({m});
  const Json known = first_conversion({"--db", in_dir("records.db"), "--threads", "1"});
  EXPECT_EQ(known["cost_from"], "records");
  EXPECT_EQ(known["cost_s"], 1.25e-3);
  const Json other = first_conversion({"--db", in_dir("records.db"), "--threads", "2"});
  EXPECT_EQ(other["cost_from"], "estimate") << "of another number of threads";
}

TEST_F(Models, CheckListsEveryNodeThatCannotBeImported) {
  const Outcome json = tenon({"check", odd(), "--json"});
  EXPECT_EQ(json.exit_code, 3);
  const Json answer = Json::parse(json.out);
  EXPECT_EQ(answer["ok"], false);
  ASSERT_EQ(answer["problems"].size(), 2U) << json.out;
  EXPECT_EQ(answer["problems"][0]["op"], "Frobnicate");
  EXPECT_EQ(answer["problems"][1]["node"], "second/Grumble");
  const Outcome text = tenon({"compile", odd(), "-o", in_dir("never")});
  EXPECT_EQ(text.exit_code, 3);
  EXPECT_EQ(text.out, "");
  EXPECT_TRUE(contains(text.err, "Frobnicate") && contains(text.err, "Grumble")) << text.err;
  EXPECT_FALSE(fs::exists(in_dir("never")));
}

TEST_F(Models, BadModelsEndInThree) {
  const std::string bytes = files::read_file(model());
  files::write_file(in_dir("cut.onnx"), bytes.substr(0, bytes.size() / 2));
  files::write_file(in_dir("text.onnx"), "this is no model");
  for (const char* name : {"cut.onnx", "text.onnx"}) {
    for (const char* command : {"check", "compile", "run"}) {
      expect_error(tenon({command, in_dir(name)}), 3, name);
    }
  }
}

TEST_F(Models, BadOptionsEndInTwo) {
  const struct {
    Args args;
    const char* message;
  } rows[] = {
      {{"check", "no/such.onnx"}, "no/such.onnx: there is no such file"},
      {{"check"}, "model"},
      {{"check", model(), "--dims", "batch"}, "NAME=N expected"},
      {{"check", model(), "--shape", "x:1xq"}, "'q' is no size"},
      {{"check", model(), "--bind", "x"}, "NAME=@FILE.npy expected"},
      {{"compile", model(), "--target", "z80"}, "there is no target 'z80'"},
      {{"compile", model(), "--emit", "so,exe"}, "exe"},
      {{"compile", model(), "--name", "no name"}, "is no C identifier"},
      {{"compile", model(), "--lock", "no/such.lock"}, "no/such.lock"},
      {{"run", model(), "--target", "aarch64"}, "does not run on this machine"},
      {{"run", artifact(), "--inputs", "frame=@x.npy"}, "did you mean 'frames'?"},
      {{"run", artifact(), "--inputs", "seed:x"}, "seed:N expected"},
      {{"run", artifact(), "--inputs", "frames=@no.npy"}, "no.npy: cannot be read"},
      {{"run", dir()}, ""},
      {{"bench"}, "give either a model (or an artifact) or --te"},
      {{"bench", artifact(), "--percentiles", "50,101"}, "101 is not between 0 and 100"},
      {{"bench", artifact(), "--threads", "1,x"}, "'x' is no number"},
      {{"compare", artifact()}, "an artifact alone has no reference"},
      {{"compare", artifact(), "--bisect"}, "--bisect needs the ONNX model"},
      {{"compare", model(), "--rtol", "-1"}, "--rtol"},
      {{"compare", model(), artifact(), "--reference", "cmd:false"},
       "the reference command failed with code 1"},
      {{"compare", model(), artifact(), "--reference", "cmd:true"}, "wrote no "},
      {{"profile", artifact(), "--sort", "luck"}, "--sort"},
      {{"explain", artifact(), "--task", "conv1/Cnov"}, "did you mean 'conv1/Conv', "},
      {{"explain", artifact(), "--show", "layout"}, "nothing called 'layout'"},
      {{"explain", artifact(), "--show", "layouts,te"}, "is about a whole model"},
      {{"explain", artifact(), "--show", "layouts", "--task", "conv1/Conv"},
       "is about a whole model"},
      {{"explain", artifact(), "--measure"}, "go with --show layouts"},
      {{"explain", artifact(), "--show", "layouts", "--measure", "--db", in_dir("records.db")},
       "not from both"},
      {{"explain", artifact(), "--show", "layouts", "--html", "-", "--json"}, "only one of"},
      {{"explain", dir(), "--show", "layouts"}, "artifacts"},
  };
  for (const auto& row : rows) {
    expect_user_error(tenon(row.args), row.message);
  }
}

TEST_F(Models, CompileWritesAnArtifactThatALockFileRepeats) {
  for (const char* name :
       {"libdqn.so", "dqn.h", "dqn.hpp", "dqn.json", "dqn.lock", "dqn.weights"}) {
    EXPECT_TRUE(fs::exists(artifact() + "/" + name)) << name;
  }
  const std::string again = in_dir("again");
  const Outcome o = tenon({"compile", model(), "-o", again, "--lock", artifact(), "--frozen"});
  EXPECT_EQ(o.exit_code, 0) << o.err;
  for (const auto& entry : fs::directory_iterator(artifact())) {
    const std::string name = entry.path().filename().string();
    EXPECT_EQ(files::read_file(entry.path().string()), files::read_file(again + "/" + name))
        << name;
  }
  ASSERT_EQ(
      tenon({"zoo", "write", "bert_tiny", "--tokens", "8", "-o", in_dir("bert.onnx")}).exit_code,
      0);
  expect_error(
      tenon({"compile", in_dir("bert.onnx"), "-o", in_dir("b"), "--lock", artifact(), "--frozen"}),
      8, "no schedule for task");
  const Outcome foreign =
      tenon({"compile", in_dir("bert.onnx"), "-o", in_dir("b"), "--lock", artifact()});
  EXPECT_EQ(foreign.exit_code, 0) << foreign.err;
  EXPECT_NE(foreign.err.find("has no schedule for any of the "), std::string::npos) << foreign.err;
  EXPECT_EQ(o.err.find("schedule"), std::string::npos) << o.err;
}

TEST_F(Models, CompilesForAnotherMachine) {
  const Outcome o = tenon(
      {"compile", model(), "-o", in_dir("arm"), "--target", "aarch64", "--emit", "so,a,h,asm"});
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_TRUE(fs::exists(in_dir("arm/libdqn.a")));
#if defined(__x86_64__)
  EXPECT_EQ(tenon({"run", in_dir("arm")}).exit_code, 2);
#endif
}

TEST_F(Models, CompilesOneFileForSeveralInstructionSets) {
  const std::string out = in_dir("one_file");
  const Json made =
      parse_answer(tenon({"compile", model(), "-o", out, "--target", "x86-64,x86-64-v2", "--emit",
                          "so,embed", "--optimize", "memory", "--json"}),
                   "tenon.compile/1");
  EXPECT_EQ(made["targets"], Json({"x86-64", "x86-64-v2"}));
  EXPECT_EQ(made["files"], Json({"dqn.json", "dqn.lock", "libdqn.so"}));
  EXPECT_GT(made["parameter_bytes"], 0);
  EXPECT_LE(made["weights_bytes"], 3 * made["parameter_bytes"].get<int64_t>());
  EXPECT_EQ(tenon({"verify", out}).exit_code, 0);
  EXPECT_EQ(tenon({"compare", model(), out}).exit_code, 0);
  expect_user_error(tenon({"compile", model(), "-o", out, "--target", "x86-64-v2,x86-64"}),
                    "does not have more than the ones before it");
}

TEST_F(Models, TuningForMemoryLeavesOutWhatInflatesWeights) {
  const auto tuned = [&](const std::string& what) {
    const std::string out = in_dir("tuned_for_" + what);
    const Outcome o = tenon({"tune", model(), "-o", out, "--db", out + ".db", "--sim", "--trials",
                             "30", "--optimize", what, "--json"});
    EXPECT_EQ(o.exit_code, 0) << o.err;
    return files::read_file(out + "/dqn.lock");
  };
  EXPECT_TRUE(contains(tuned("speed"), "winograd")) << "or this test shows nothing";
  EXPECT_FALSE(contains(tuned("memory"), "winograd"));
}

TEST_F(Models, LockFilesHoldThePlansOfSeveralInstructionSets) {
  const auto compile = [&](const std::string& out, const char* targets, const std::string& lock) {
    std::vector<std::string> args = {"compile", model(), "-o", in_dir(out), "--target", targets};
    if (!lock.empty()) args.insert(args.end(), {"--lock", in_dir(lock), "--frozen"});
    return tenon(args);
  };
  const std::string both = "x86-64-v2,x86-64-v3";
  ASSERT_EQ(compile("two", both.c_str(), "").exit_code, 0);
  const Json lock = Json::parse(files::read_file(in_dir("two/dqn.lock")));
  EXPECT_EQ(lock["target"], "x86-64-v3");
  ASSERT_EQ(lock["levels"].size(), 1U);
  EXPECT_EQ(lock["levels"][0]["target"], "x86-64-v2");
  EXPECT_TRUE(lock["levels"][0]["tasks"] != lock["tasks"]) << "or this test shows nothing";
  const Outcome again = compile("two_again", both.c_str(), "two");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  for (const char* file : {"dqn.lock", "libdqn.so", "dqn.weights"}) {
    EXPECT_EQ(files::read_file(in_dir("two/") + file),
              files::read_file(in_dir("two_again/") + file))
        << file;
  }
  const Outcome least = compile("least", "x86-64-v2", "two");
  ASSERT_EQ(least.exit_code, 0) << least.err;
  EXPECT_TRUE(Json::parse(files::read_file(in_dir("least/dqn.lock")))["tasks"] ==
              lock["levels"][0]["tasks"]);

  // A file of one target is for this one; what is frozen needs the others, too.
  expect_error(compile("both", both.c_str(), "least"), 8,
               "has no schedules for target 'x86-64-v3', only for others of the library");
  const Outcome some = tenon({"compile", model(), "-o", in_dir("both"), "--target", both, "--lock",
                              in_dir("least"), "--json"});
  ASSERT_EQ(some.exit_code, 0) << some.err;
  EXPECT_TRUE(contains(some.err, "x86-64-v3: ")) << some.err;
  EXPECT_TRUE(contains(some.err, "has no schedule for any of the")) << some.err;
  EXPECT_FALSE(contains(some.err, "x86-64-v2: ")) << some.err;
}

TEST_F(Models, VerifyReadsEveryFileAndRunTrustsNoManifest) {
  const Json whole = parse_answer(tenon({"verify", artifact(), "--json"}), "tenon.verify/1");
  EXPECT_EQ(whole["problems"], 0);
  EXPECT_EQ(whole["files"].size(), 5U);
  const Outcome text = tenon({"verify", artifact() + "/dqn.json"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "dqn.weights: ")) << text.out;

  const std::string spoilt = in_dir("spoilt");
  fs::copy(artifact(), spoilt);
  std::string weights = files::read_file(spoilt + "/dqn.weights");
  weights[weights.size() / 3] ^= 4;
  files::write_file(spoilt + "/dqn.weights", weights);
  const Outcome found = tenon({"verify", spoilt});
  EXPECT_EQ(found.exit_code, 2);
  EXPECT_TRUE(contains(found.out, "dqn.weights has another SHA-256")) << found.out;
  EXPECT_TRUE(contains(found.err, "1 of 5 files are not as they were written")) << found.err;
  expect_user_error(tenon({"run", spoilt}), "were changed since they were written");

  Json manifest = Json::parse(files::read_file(artifact() + "/dqn.json"));
  manifest["inputs"][0]["shape"][1] = 4000;
  files::write_file(spoilt + "/dqn.json", manifest.dump());
  for (const char* command : {"run", "bench", "profile", "explain"}) {
    expect_user_error(tenon({command, spoilt}),
                      "/inputs/0/shape/1 is 4 in the library and 4000 in the manifest");
  }
  expect_user_error(tenon({"compare", model(), spoilt}), "/inputs/0/shape/1");
  expect_user_error(tenon({"explain", spoilt, "--show", "layouts"}), "/inputs/0/shape/1");
  expect_user_error(tenon({"verify", in_dir("nowhere")}), "there is no such file or folder");
}

TEST_F(Models, RunReadsAndWritesArrays) {
  const Outcome first =
      tenon({"run", artifact(), "--inputs", "seed:7", "--outputs", in_dir("a.npz"), "--json"});
  const Json answer = parse_answer(first, "tenon.run/1");
  EXPECT_EQ(answer["outputs"][0]["shape"], Json({1, 18}));
  EXPECT_EQ(answer["outputs"][0]["not_finite"], 0);
  EXPECT_EQ(tenon({"run", model(), "--inputs", "seed:7", "--outputs", in_dir("b.npy")}).exit_code,
            0);
  EXPECT_EQ(
      tenon({"run", artifact(), "--inputs", "seed:7", "--outputs", in_dir("c.bin")}).exit_code, 0);
  EXPECT_EQ(
      tenon({"run", artifact(), "--inputs", "seed:7", "--outputs", in_dir("d") + "/"}).exit_code,
      0);
  const files::NamedArrays named = files::read_npz(in_dir("a.npz"));
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0].name, "q_values");
  const std::string bytes(reinterpret_cast<const char*>(named[0].array.data()), 72);
  EXPECT_EQ(files::read_file(in_dir("c.bin")), bytes);
  for (const char* name : {"b.npy", "d/q_values.npy"}) {
    const ir::Array other = files::read_npy(in_dir(name));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(other.data()), 72), bytes) << name;
  }
  const Outcome raw = tenon({"run", artifact(), "--inputs", "seed:7", "--outputs", "-"});
  EXPECT_EQ(raw.out, files::read_file(in_dir("a.npz")))
      << "'-' puts the archive on stdout and nothing else";
}

TEST_F(Models, RunTakesInputsFromEveryKindOfFile) {
  ir::Array x(ir::kF32, {1, 4, 84, 84});
  for (int64_t i = 0; i < x.elements(); ++i) {
    x.set_double(i, static_cast<double>(i % 17) / 17);
  }
  files::write_npy(in_dir("x.npy"), x);
  files::write_raw(in_dir("x.raw"), x);
  files::write_npz(in_dir("x.npz"), {{"frames", x}}, files::Compression::kDeflated);
  std::string expected;
  for (const std::string& spec :
       {"frames=@" + in_dir("x.npy"), in_dir("x.npy"), "@" + in_dir("x.npz"), in_dir("x.npz"),
        "frames=@" + in_dir("x.raw")}) {
    const Outcome o = tenon({"run", "--inputs", spec, artifact()});
    EXPECT_EQ(o.exit_code, 0) << spec << o.err;
    expected = expected.empty() ? o.out : expected;
    EXPECT_EQ(o.out, expected) << spec;
  }
  files::write_npy(in_dir("wrong.npy"), ir::Array(ir::kF32, {1, 4, 84, 83}));
  expect_user_error(tenon({"run", artifact(), "--inputs", in_dir("wrong.npy")}),
                    "'frames' is f32 1x4x84x84, the file has f32 1x4x84x83");
}

TEST_F(Models, BenchGivesLatencies) {
  const Args quick = {"--duration", "0", "--warmup", "0", "--iterations", "20"};
  Args args = {"bench", artifact(), "--threads", "1", "--percentiles", "50,99.9", "--json"};
  args.insert(args.end(), quick.begin(), quick.end());
  const Json one = parse_answer(tenon(args), "tenon.bench/1");
  EXPECT_EQ(one["runs"], 20);
  EXPECT_EQ(one["threads"], 1);
  const Json& l = one["latency_ms"];
  EXPECT_GT(l["min"].get<double>(), 0);
  EXPECT_LE(l["min"], l["p50"]);
  EXPECT_LE(l["p50"], l["p99.9"]);
  EXPECT_LE(l["p99.9"], l["max"]);
  EXPECT_GE(one["ci95_p50_ms"].get<double>(), 0);
  args[3] = "1,2";
  const Json two = parse_answer(tenon(args), "tenon.bench/1");
  ASSERT_EQ(two["rows"].size(), 2U);
  EXPECT_EQ(two["rows"][1]["threads"], 2);
  args = {"bench", model(), "--cold-cache"};
  args.insert(args.end(), quick.begin(), quick.end());
  const Outcome text = tenon(args);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "latency  mean ") && contains(text.out, "ci95(p50)")) << text.out;
}

TEST_F(Models, BenchRunsSeveralContextsAtOnce) {
  const Json j = parse_answer(tenon({"bench", artifact(), "--streams", "1,3", "--threads", "1,2",
                                     "--warmup", "0", "--duration", "0.02", "--json"}),
                              "tenon.bench-streams/1");
  ASSERT_EQ(j["rows"].size(), 4U);
  EXPECT_EQ(j["rows"][3]["streams"], 3);
  EXPECT_EQ(j["rows"][3]["threads"], 2);
  for (const Json& row : j["rows"]) {
    EXPECT_GT(row["runs"].get<int>(), 0);
    EXPECT_GT(row["throughput_per_s"].get<double>(), 0);
    EXPECT_LE(row["latency_ms"]["p50"], row["latency_ms"]["p99"]);
    EXPECT_LE(row["throughput_per_s"], j["best"]["throughput_per_s"]);
  }
  const Outcome text =
      tenon({"bench", artifact(), "--throughput", "--warmup", "0", "--duration", "0.02"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "best     ")) << text.out;
  expect_user_error(tenon({"bench", artifact(), "--streams", "0"}), "0");
  expect_user_error(tenon({"bench", artifact(), "--streams", "2", "--cold-cache"}), "--cold-cache");
}

TEST_F(Models, BenchAgainstTakesTurns) {
  const std::string plain = in_dir("plain");
  ASSERT_EQ(tenon({"compile", model(), "--no-fuse", "-o", plain}).exit_code, 0);
  const Json j = parse_answer(tenon({"bench", artifact(), "--against", plain, "--threads", "1",
                                     "--duration", "0.1", "--json"}),
                              "tenon.bench-against/1");
  EXPECT_GT(j["a_s"].get<double>(), 0);
  EXPECT_GT(j["b_s"].get<double>(), 0);
  EXPECT_LE(j["low"], j["ratio"]);
  EXPECT_LE(j["ratio"], j["high"]);
  EXPECT_GT(j["b_steps_s"].size(), j["a_steps_s"].size());  // a kernel for each node
  for (const Json& s : j["a_steps_s"]) EXPECT_GT(s.get<double>(), 0);
  EXPECT_LT(j["difference"].get<double>(), 1e-5);
  const Outcome text = tenon({"bench", artifact(), "--against", artifact(), "--duration", "0"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "outputs  differ by 0 at most")) << text.out;
  expect_user_error(tenon({"bench", artifact(), "--against", in_dir("nothing")}), "nothing");
}

TEST_F(Models, CompareAgainstTheOracles) {
  for (const char* oracle : {"interp", "plain", "auto"}) {
    const Json answer =
        parse_answer(tenon({"compare", model(), artifact(), "--reference", oracle, "--json"}),
                     "tenon.compare/1");
    EXPECT_EQ(answer["passes"], true) << oracle;
    EXPECT_LT(answer["outputs"][0]["max_abs"].get<double>(), 1e-5) << oracle;
  }
  EXPECT_EQ(tenon({"compare", model(), "--inputs", "seed:3"}).exit_code, 0);
  EXPECT_EQ(tenon({"compare", artifact(), artifact(), "--rtol", "0", "--atol", "0"}).exit_code, 0);
}

TEST_F(Models, CompareAgainstRecordedOutputs) {
  const std::string good = in_dir("good.npz");
  ASSERT_EQ(tenon({"run", artifact(), "--inputs", "seed:5", "--outputs", good}).exit_code, 0);
  EXPECT_EQ(tenon({"compare", artifact(), "--inputs", "seed:5", "--reference", good}).exit_code, 0);
  EXPECT_EQ(
      tenon({"compare", artifact(), "--inputs", "seed:5", "--reference", "file:" + good}).exit_code,
      0);
  const std::string copy = "cmd:cp " + good;
  EXPECT_EQ(tenon({"compare", artifact(), "--inputs", "seed:5", "--reference", copy + " {outputs}"})
                .exit_code,
            0);
  files::NamedArrays arrays = files::read_npz(good);
  const double was = arrays[0].array.get_double(11);
  arrays[0].array.set_double(11, was + 0.5);
  files::write_npz(in_dir("bad.npz"), arrays, files::Compression::kStored);
  const Outcome o = tenon(
      {"compare", artifact(), "--inputs", "seed:5", "--reference", in_dir("bad.npz"), "--json"});
  EXPECT_EQ(o.exit_code, 4) << o.err;
  const Json output = Json::parse(o.out)["outputs"][0];
  EXPECT_EQ(output["failing"], 1);
  EXPECT_NEAR(output["max_abs"].get<double>(), 0.5, 1e-6);
  const std::string atol = std::to_string(output["passing_atol"].get<double>() + 1e-5);
  const Args looser = {"compare",     artifact(),        "--inputs", "seed:5",
                       "--reference", in_dir("bad.npz"), "--atol",   atol};
  EXPECT_EQ(tenon(looser).exit_code, 0) << "the tolerance that was said to pass passes";
}

// A model that has lost all numbers matches its reference, which has lost them too: nothing is shown.
TEST_F(Models, CompareFailsWhenThereIsNothingToCompare) {
  const Json input =
      parse_answer(tenon({"check", model(), "--json"}), "tenon.check/1")["inputs"][0];
  ir::Array x(ir::kF32, input["shape"].get<std::vector<int64_t>>());
  for (int64_t i = 0; i < x.elements(); ++i) x.set_double(i, std::nan(""));
  files::write_npz(in_dir("nan.npz"), {{input["name"].get<std::string>(), x}},
                   files::Compression::kStored);
  const Args command = {"compare", model(), artifact(), "--inputs", in_dir("nan.npz")};
  const Outcome text = tenon(command);
  EXPECT_EQ(text.exit_code, 4) << text.out;
  EXPECT_TRUE(contains(text.out, "18 of 18 elements are NaN, in the reference too")) << text.out;
  EXPECT_TRUE(contains(text.out, "there is nothing to compare")) << text.out;
  Args json = command;
  json.insert(json.end(), {"--bisect", "--json"});
  const Json answer = Json::parse(tenon(json).out);
  EXPECT_EQ(answer["passes"], false);
  EXPECT_EQ(answer["outputs"][0]["failing"], 0);
  EXPECT_EQ(answer["outputs"][0]["finite"], 0);
  EXPECT_FALSE(answer.contains("bisect")) << "no node differs";
}

// An output that is NaN where the reference has a number.
TEST_F(Models, CompareFailsOnANanInPlaceOfANumber) {
  const std::string good = in_dir("numbers.npz");
  ASSERT_EQ(tenon({"run", artifact(), "--inputs", "seed:5", "--outputs", good}).exit_code, 0);
  files::NamedArrays arrays = files::read_npz(good);
  arrays[0].array.set_double(3, std::nan(""));
  files::write_npz(in_dir("one_nan.npz"), arrays, files::Compression::kStored);
  const Outcome o = tenon({"compare", artifact(), "--inputs", "seed:5", "--reference",
                           in_dir("one_nan.npz"), "--atol", "1000", "--json"});
  EXPECT_EQ(o.exit_code, 4) << o.err;
  EXPECT_EQ(Json::parse(o.out)["outputs"][0]["failing"], 1);
}

// Rounding makes the first convolution differ when nothing at all is tolerated.
TEST_F(Models, BisectNamesTheFirstNodeThatDiffers) {
  const Outcome o =
      tenon({"compare", model(), artifact(), "--rtol", "0", "--atol", "0", "--bisect", "--json"});
  EXPECT_EQ(o.exit_code, 4) << o.err;
  const Json answer = Json::parse(o.out);
  EXPECT_EQ(answer["bisect"]["node"], "conv1/Conv") << o.out;
  EXPECT_GE(answer["bisect"]["steps"].get<int>(), 3);
  EXPECT_LE(answer["bisect"]["steps"].get<int>(), 6);
}

TEST_F(Models, ProfileNamesNodes) {
  const std::string trace = in_dir("trace.json");
  const Outcome o =
      tenon({"profile", artifact(), "--threads", "1", "--runs", "3", "--trace", trace, "--json"});
  const Json answer = parse_answer(o, "tenon.profile/1");
  double share = 0;
  bool found = false;
  for (const Json& row : answer["rows"]) {
    share += row["share"].get<double>();
    EXPECT_GT(row["time_ms"].get<double>(), 0);
    for (const Json& node : row["nodes"]) {
      found |= node == "conv2/Conv";
    }
  }
  EXPECT_NEAR(share, 1, 1e-9);
  EXPECT_TRUE(found) << o.out;
  EXPECT_GT(answer["ceilings"]["gflops_per_s"].get<double>(), 0);
  const Json events = Json::parse(files::read_file(trace))["traceEvents"];
  EXPECT_EQ(events.size(), answer["rows"].size() + 1);
  const Outcome text =
      tenon({"profile", artifact(), "--runs", "2", "--group", "kernel", "--top", "2", "-q"});
  EXPECT_TRUE(contains(text.out, "% of the roofline")) << text.out;
  EXPECT_EQ(text.err, "");
}

TEST_F(Models, ExplainShowsTasks) {
  const Json list = parse_answer(tenon({"explain", artifact(), "--json"}), "tenon.explain/1");
  EXPECT_GE(list["tasks"].size(), 5U);
  for (const std::string& source : {artifact(), model()}) {
    const Outcome o =
        tenon({"explain", source, "--task", "conv2/Conv", "--show", "te,trace,summary", "--json"});
    const Json answer = parse_answer(o, "tenon.explain/1");
    EXPECT_GT(answer["sections"]["summary"]["code"]["multiply_adds"].get<int>(), 0);
    EXPECT_TRUE(contains(answer["sections"]["te"], "sum(")) << o.out;
  }
}

}  // namespace
}  // namespace tenon::testing
