// SPDX-License-Identifier: Apache-2.0
// Libraries that serve several sizes, against the interpreter at each of them.
#include "compile/sizes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include "artifact/commands.h"
#include "artifact/model.h"
#include "artifact/programs.h"
#include "artifact/random_array.h"
#include "artifact/verify.h"
#include "artifact/write.h"
#include "compile/agree.h"
#include "compile/packed.h"
#include "compile/size_models.h"
#include "compile/steady.h"
#include "graph/define.h"
#include "onnx/text_model.h"
#include "support/rng.h"

namespace tenon::compile {
namespace {

namespace fs = std::filesystem;
using Sizes = std::vector<int64_t>;

Options host() {
  Options o;
  o.target = target::host_target();
  return o;
}

std::vector<ir::Array> random_inputs(const graph::Graph& g, Rng& rng) {
  std::vector<ir::Array> inputs;
  for (const graph::ValueId v : g.inputs) {
    inputs.push_back(artifact::random_array(g.value(v).dtype, g.value(v).shape, rng));
  }
  return inputs;
}

void expect_close(const ir::Array& got, const ir::Array& want) {
  ASSERT_EQ(got.shape(), want.shape());
  for (int64_t i = 0; i < want.elements(); ++i) {
    ASSERT_NEAR(got.get_double(i), want.get_double(i), 1e-4 * (1 + std::abs(want.get_double(i))))
        << i;
  }
}

// One library in a folder of its own.
class Served {
 public:
  Served(const std::string& bytes, const std::map<std::string, std::string>& dims)
      : sized_(bytes, dims), program_(compile_sizes(sized_.model, "net", host())) {
    artifact::write(program_, {.directory = folder_ / "out", .outputs = {}, .threads = 0});
    model_.emplace(artifact::Model::load(folder_ / "out"));
  }

  void check(const Sizes& sizes, Rng& rng, artifact::Session& session) const {
    const graph::Graph g = sized_.at(sizes);
    const std::vector<ir::Array> inputs = random_inputs(g, rng);
    const std::vector<ir::Array> want = graph::evaluate(g, inputs);
    const std::vector<ir::Array> got = session.run(inputs);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) expect_close(got[i], want[i]);
  }

  // Random sizes, and the smallest and the largest.
  void check_all(int count, int threads = 1) const {
    Rng rng(17);
    artifact::Session session(*model_, threads);
    for (int i = -2; i < count; ++i) {
      Sizes sizes;
      for (const OpenModel::Dim& d : sized_.model.dims) {
        const auto last = static_cast<int64_t>(d.sizes.size()) - 1;
        const int64_t at = i == -2 ? 0 : i == -1 ? last : rng.between(0, last);
        sizes.push_back(d.sizes[static_cast<size_t>(at)]);
      }
      SCOPED_TRACE(testing::PrintToString(sizes));
      check(sizes, rng, session);
    }
  }

  artifact::ScratchFolder folder_;
  Sized sized_;
  artifact::Program program_;
  std::optional<artifact::Model> model_;
};

TEST(Sizes, AnyBatchOfAConvolution) {
  const Served net(batch_cnn(), {{"batch", "1..8"}});
  EXPECT_EQ(net.program_.variants.size(), 8U);
  net.check_all(10, 2);
}

TEST(Sizes, AnyBatchOfAPerceptron) { Served(batch_mlp(), {{"batch", "1..8"}}).check_all(10); }

TEST(Sizes, AnySequenceOfAttention) {
  const Served net(attention_block(), {{"batch", "1"}, {"seq", "1..40"}});
  EXPECT_EQ(net.program_.dims[0].compiled,
            (Sizes{1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 28, 32, 36, 40}));
  EXPECT_TRUE(net.program_.dims[0].padded);
  net.check_all(20, 2);
}

// By fours as long as padding to sixteens would cost more than an eighth.
TEST(Sizes, LongerSequencesGoByFoursAndThenBySixteens) {
  const Served net(attention_block(), {{"batch", "1"}, {"seq", "109..170"}});
  EXPECT_EQ(net.program_.dims[0].compiled,
            (Sizes{112, 116, 120, 124, 128, 132, 136, 144, 160, 170}));
  net.check_all(4, 2);
}

TEST(Sizes, TwoDimensions) {
  Served(attention_block(), {{"batch", "1..3"}, {"seq", "5|16|17|24"}}).check_all(10);
}

TEST(Sizes, IndicesAndMeansOverASize) {
  Served(embedding_mean(), {{"batch", "1..4"}, {"seq", "1..9:2"}}).check_all(12);
}

TEST(Sizes, RecurrentWithItsBatchInside) { Served(batch_lstm(), {{"batch", "1..5"}}).check_all(6); }

TEST(Sizes, ImagesOfSeveralSizes) {
  Served(image_of_any_size(), {{"height", "8|11|16"}, {"width", "8|13"}}).check_all(8);
}

TEST(Sizes, InputsThatShareADimension) {
  const Served net(two_inputs(), {{"batch", "1..4"}});
  net.check_all(6);
  artifact::Session session(*net.model_, 1);
  Rng rng(3);
  std::vector<ir::Array> inputs = random_inputs(net.sized_.at({3}), rng);
  inputs[1] = artifact::random_array(ir::kF32, {2, 8}, rng);
  EXPECT_THROW(session.run(inputs), UserError);
}

TEST(Sizes, LongBatchesArePutTogether) {
  const Served net(batch_cnn(), {{"batch", "1..100"}});
  EXPECT_EQ(net.program_.batch, 0);
  EXPECT_EQ(net.program_.dims[0].compiled, (Sizes{1, 2, 4, 8, 16, 32, 64}));
  net.check_all(8, 2);
}

TEST(Sizes, ManySequencesInLongBatches) {
  const Served net(attention_block(), {{"batch", "1..20"}, {"seq", "4..7"}});
  EXPECT_EQ(net.program_.batch, 0);
  net.check_all(8);
}

TEST(Sizes, HundredsOfASmallModel) {
  const Served net(embedding_mean(), {{"batch", "1..4"}, {"seq", "1..100"}});
  EXPECT_EQ(net.program_.batch, 0);
  EXPECT_EQ(net.program_.variants.size(), 300U);
  net.check_all(20);
}

TEST(Sizes, TwoThatArePadded) {
  const Served net(less_its_largest(), {{"height", "3..19"}, {"width", "20..36"}});
  EXPECT_EQ(net.program_.dims[0].compiled, (Sizes{3, 4, 5, 6, 8, 10, 12, 16, 19}));
  EXPECT_EQ(net.program_.dims[1].compiled, (Sizes{20, 24, 28, 32, 36}));
  net.check_all(20);
}

TEST(Sizes, PaddingUnderAMaskAndInSums) {
  const Served net(masked_attention(), {{"batch", "1..3"}, {"seq", "1..70"}});
  EXPECT_TRUE(net.program_.dims[1].padded);
  net.check_all(20, 2);
}

// Rows of padding are 0 / 0 there.
TEST(Sizes, PaddingThatIsNoNumber) {
  const Served net(scaled_rows(), {{"seq", "2..50"}});
  EXPECT_TRUE(net.program_.dims[0].padded);
  net.check_all(20);
}

TEST(Sizes, PaddedPositionsAndHeads) {
  const Served net(positions(), {{"batch", "1..3"}, {"seq", "2..60"}});
  EXPECT_TRUE(net.program_.dims[1].padded);
  net.check_all(20, 2);
}

TEST(Sizes, PaddedSequencesInLongBatches) {
  const Served net(masked_attention(), {{"batch", "1..20"}, {"seq", "2..40"}});
  EXPECT_EQ(net.program_.batch, 0);
  EXPECT_TRUE(net.program_.dims[1].padded);
  net.check_all(12);
}

TEST(Sizes, WhatCannotBePaddedIsCompiledAsItIs) {
  for (const auto& [bytes, name] : {std::pair(last_row(), "seq"), std::pair(joined_rows(), "seq"),
                                    std::pair(sound(), "samples")}) {
    const Served net(bytes, {{name, "8..40"}});
    EXPECT_FALSE(net.program_.dims[0].padded);
    EXPECT_EQ(net.program_.variants.size(), 33U);
    net.check_all(8);
  }
}

// The second part reads inputs that the first one's output lies in.
TEST(Sizes, AnOutputMayLieInTheMemoryOfAnInput) {
  const Served net(two_inputs(), {{"batch", "1..100"}});
  artifact::Session session(*net.model_, 1);
  Rng rng(5);
  const graph::Graph g = net.sized_.at({7});
  std::vector<ir::Array> inputs = random_inputs(g, rng);
  const std::vector<ir::Array> want = graph::evaluate(g, inputs);
  for (size_t i = 0; i < 3; ++i) session.set_shape(i, inputs[i].shape());
  const void* in[] = {inputs[0].data(), inputs[1].data(), inputs[2].data()};
  void* out[] = {inputs[1].data()};
  session.run(in, out);
  expect_close(inputs[1], want[0]);
}

TEST(Sizes, OtherSizesAreRefusedWithASentence) {
  const Served net(batch_cnn(), {{"batch", "2..4"}});
  artifact::Session session(*net.model_, 1);
  const auto sentence = [&](const Sizes& shape) -> std::string {
    try {
      session.set_shape(0, shape);
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(sentence({3, 3, 12, 12}), "");
  EXPECT_EQ(session.output(0).shape, (Sizes{3, 5}));
  const std::string takes = "input 'x' takes batch x 3 x 12 x 12, where batch is 2..4: not ";
  EXPECT_EQ(sentence({5, 3, 12, 12}), takes + "5 x 3 x 12 x 12");
  EXPECT_EQ(sentence({3, 3, 12}), takes + "3 x 3 x 12");
  EXPECT_EQ(sentence({-1, 3, 12, 12}), takes + "-1 x 3 x 12 x 12");
  EXPECT_EQ(session.output(0).shape, (Sizes{3, 5})) << "nothing has changed";
  EXPECT_EQ(session.input(0).shape, (Sizes{3, 3, 12, 12}));
}

TEST(Sizes, TooManyAreRefusedWithASentence) {
  const auto sentence = [](const std::string& bytes, const std::string& sizes) -> std::string {
    try {
      const Sized s(bytes, {{"batch", sizes}});
      compile_sizes(s.model, "net", host());
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(sentence(mixing_batch(), "1..5000").find("5000 sizes are too many (5000 of batch)"),
            std::string::npos);
  EXPECT_NE(sentence(batch_in_numbers(), "1..5000").find("too many"), std::string::npos);
  EXPECT_EQ(sentence(mixing_batch(), "1..2"), "");
}

TEST(Sizes, GpusAreRefusedWithASentence) {
  const Sized s(batch_mlp(), {{"batch", "1..2"}});
  Options o;
  o.target = target::parse_target("cuda sm_90");
  EXPECT_THROW(compile_sizes(s.model, "net", o), UserError);
}

TEST(Sizes, ContextsOfDifferentSizesRunAtOnce) {
  const Served net(attention_block(), {{"batch", "1..4"}, {"seq", "3|8"}});
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&net, t] {
      artifact::Session session(*net.model_, 1);
      Rng rng(static_cast<uint64_t>(t));
      for (int64_t i = 0; i < 6; ++i) {
        net.check({1 + (t + i) % 4, i % 2 == 0 ? 3 : 8}, rng, session);
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

// The weights do not grow with the number of sizes, whatever the registers are.
TEST(Sizes, KernelsAndWeightsAreShared) {
  const Sized one(attention_block(), {{"batch", "1"}, {"seq", "60"}});
  const Sized all(attention_block(), {{"batch", "1"}, {"seq", "1..60"}});
  for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
    Options options;
    options.target = target::parse_target(target);
    const artifact::Program alone = compile(one.at({}), "net", options);
    const artifact::Program program = compile_sizes(all.model, "net", options);
    EXPECT_LT(program.kernels.size(), 60 * alone.kernels.size()) << target;
    EXPECT_EQ(program.weights_bytes, alone.weights_bytes) << target;
    RecordProperty(fmt::format("kernels_of_one_size_{}", target),
                   static_cast<int>(alone.kernels.size()));
    RecordProperty(fmt::format("kernels_of_sixty_{}", target),
                   static_cast<int>(program.kernels.size()));
  }
}

// One item alone would have its weights in wider panels than eight.
TEST(Sizes, WeightsArePackedAlike) {
  Options v4;
  v4.target = target::parse_target("x86-64-v4");
  const Sized all(wide_layer(), {{"batch", "1..8"}});
  const artifact::Program one = compile(all.at({1}), "net", v4);
  const artifact::Program eight = compile(all.at({8}), "net", v4);
  ASSERT_FALSE(equal_bytes(*one.weights[0].data, *eight.weights[0].data));
  const artifact::Program program = compile_sizes(all.model, "net", v4);
  ASSERT_EQ(program.weights.size(), 1U);
  EXPECT_TRUE(equal_bytes(*program.weights[0].data, *eight.weights[0].data));
  Served(wide_layer(), {{"batch", "1..8"}}).check_all(8);
}

// The largest size need not follow the rule of its template: programs that agree across sizes have panels of their own.
// Alone, a sequence of 14 would have narrower ones for AVX2.
TEST(Sizes, WeightsArePackedLikeThoseOfASteadyProgram) {
  Options v3;
  v3.target = target::parse_target("x86-64-v3");
  const Sized all(attention_block(), {{"batch", "1"}, {"seq", "1..60"}});
  plan::Network largest = compile::decide(all.at({60}), "net", v3);
  use_steady_programs(largest, v3);
  Agreement agreement(largest, v3);
  const auto weights = [&](const plan::Network& n) {
    return compile::build(n, v3).weights[0].data;
  };
  for (const int64_t seq : {1, 5, 14}) {
    plan::Network other = compile::decide(all.at({seq}), "net", v3);
    ASSERT_FALSE(equal_bytes(*weights(largest), *weights(other))) << seq;
    agreement.apply(other);
    EXPECT_TRUE(equal_bytes(*weights(largest), *weights(other))) << seq;
  }
}

// The first rows of a table of positions are the beginning of those of a longer sequence.
TEST(Sizes, BeginningsOfTablesAreShared) {
  const Sized all(positions(), {{"batch", "1"}, {"seq", "1..64"}});
  const artifact::Program alone = compile(all.at({64}), "net", host());
  EXPECT_LE(compile_sizes(all.model, "net", host()).weights_bytes, alone.weights_bytes);
}

TEST(Sizes, WhatIsWrittenVerifies) {
  const Served net(batch_cnn(), {{"batch", "1..3"}});
  EXPECT_EQ(artifact::verify(net.folder_ / "out").problems(), 0U);
}

TEST(Sizes, AxesThatAreComputedOfOthers) {
  const Served net(past_and_next(), {{"batch", "1|2"}, {"past", "0..20"}, {"seq", "1..2"}});
  EXPECT_EQ(net.program_.variants.size(), 84U);  // none is padded, no dimension of its own
  EXPECT_EQ(net.program_.inputs[1].sums.at(1).text(), "past + seq");
  EXPECT_EQ(net.program_.inputs[1].shape, (Sizes{2, 22}));
  net.check_all(20);
  EXPECT_EQ(artifact::verify(net.folder_ / "out").problems(), 0U);
}

// Sizes may be computed by other steps; a loaded library knows the nodes of each.
TEST(Sizes, StepsOfEverySizeNameTheirNodes) {
  const Served net(attention_block(), {{"batch", "1"}, {"seq", "1|2|24"}});
  artifact::Session session(*net.model_, 1);
  Rng rng(3);
  bool other = false;
  for (const artifact::Variant& v : net.program_.variants) {
    net.check(v.sizes, rng, session);
    const std::vector<artifact::StepInfo> steps = session.steps();
    ASSERT_EQ(steps.size(), v.steps.size());
    for (size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i].nodes, v.steps[i].nodes) << i;
    const std::vector<artifact::Step>& largest = net.program_.steps;
    for (size_t i = 0; i < steps.size(); ++i) {
      other = other || i >= largest.size() || largest[i].nodes != v.steps[i].nodes;
    }
  }
  EXPECT_TRUE(other) << "all sizes have the steps of the largest";
}

TEST(Sizes, BatchesAreNotPutTogetherWhereAnAxisIsComputedOfThem) {
  const auto model = [](const char* bias) {
    return onnx::testing::model_bytes(
        "graph {" + onnx::testing::value("input", "x", "batch 3") +
        onnx::testing::value("input", "bias", bias) + onnx::testing::node("Relu", "x", "y") +
        onnx::testing::node("Relu", "bias", "z") + onnx::testing::value("output", "y", "batch 3") +
        onnx::testing::value("output", "z", bias) + "}");
  };
  const Served net(model("batch*2"), {{"batch", "1..70"}});
  EXPECT_EQ(net.program_.batch, -1);
  EXPECT_EQ(net.program_.variants.size(), 70U);
  net.check_all(5);
}

TEST(Sizes, ComputedAxesOfOtherSizesAreRefused) {
  const Served net(past_and_next(), {{"batch", "2"}, {"past", "0..3"}, {"seq", "1..2"}});
  artifact::Session session(*net.model_, 1);
  const auto why = [&](const Sizes& mask, const Sizes& past) -> std::string {
    try {
      session.run({{ir::kF32, {2, 1}}, {ir::kF32, mask}, {ir::kF32, past}});
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(why({2, 4}, {2, 3}), "");
  EXPECT_EQ(why({2, 4}, {2, 1}),
            "input 'mask' has size 4 where past + seq is 2 by the other inputs");
  EXPECT_EQ(why({2, 6}, {2, 1}),
            "input 'mask' takes 2 x (past + seq), where past is 0..3 and seq is 1, 2: not 2 x 6");
  // By hand: in every order, and until the axis has its size again.
  session.set_shape(1, {2, 2});
  session.set_shape(2, {2, 1});
  const std::vector<float> in(8);
  std::vector<float> out(8);
  const void* inputs[] = {in.data(), in.data(), in.data()};
  void* outputs[] = {out.data()};
  EXPECT_NO_THROW(session.run(inputs, outputs));
  session.set_shape(2, {2, 2});
  EXPECT_THROW(session.run(inputs, outputs), UserError);
  session.set_shape(1, {2, 3});
  EXPECT_NO_THROW(session.run(inputs, outputs));
}

constexpr const char* kOtherSizes = R"(
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <net.h>
static volatile int count;
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
void* malloc(size_t n) { __atomic_fetch_add(&count, 1, 5); return __libc_malloc(n); }
void* calloc(size_t n, size_t m) { __atomic_fetch_add(&count, 1, 5); return __libc_calloc(n, m); }
void* mmap(void* at, size_t n, int protect, int flags, int file, off_t offset) {
  __atomic_fetch_add(&count, 1, 5);
  return (void*)syscall(SYS_mmap, at, n, protect, flags, file, offset);
}
int main(void) {
  const char* why = "";
  net_ctx* ctx = net_create(2, &why);
  static float in[100 * 20 + 4], out[100 * 7 + 4];
  if (!ctx) { puts(why); return 1; }
  if (net_dim_count() != 1 || net_dimension(0)->count != 100 || net_dimension(1)) return 2;
  if (net_output_now(ctx, 0)->shape[0] != 100) return 3;
  const int created = count;
  for (int64_t batch = 1; batch <= 100; ++batch) {
    const int64_t shape[] = {batch, 20};
    const void* inputs[] = {in + batch % 3};
    void* outputs[] = {out + batch % 2};
    if (net_set_shape(ctx, 0, shape, 2, &why) != 0) { puts(why); return 4; }
    if (net_output_now(ctx, 0)->shape[0] != batch) return 5;
    if (net_run(ctx, inputs, outputs) != 0) return 6;
  }
  const int after = count;
  const int64_t shape[] = {101, 20};
  if (net_set_shape(ctx, 0, shape, 2, &why) != 7) return 7;
  puts(why);
  if (net_set_shape(ctx, 1, shape, 2, &why) != 7 || net_set_shape(ctx, 0, shape, 2, NULL) != 7) return 8;
  if (net_set_shape(NULL, 0, shape, 2, &why) != 1 || net_set_shape(ctx, 0, NULL, 2, &why) != 1) return 9;
  net_destroy(ctx);
  return after == created ? 0 : 10;
}
)";

TEST(Sizes, NothingIsAllocatedWhenTheyAreSet) {
  const Served net(batch_mlp(), {{"batch", "1..100"}});
  const std::string out = net.folder_ / "out";
  artifact::write_text(net.folder_ / "sizes.c", kOtherSizes);
  const std::string program = net.folder_ / "sizes";
  artifact::run_ok({TENON_CC, net.folder_ / "sizes.c", "-I", out, "-o", program, out + "/libnet.so",
                    "-Wl,-rpath," + out});
  EXPECT_EQ(artifact::output_of({program}),
            "input 'x' takes batch x 20, where batch is 1..100: not 101 x 20\n");
}

}  // namespace
}  // namespace tenon::compile
