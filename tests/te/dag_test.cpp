// SPDX-License-Identifier: Apache-2.0
#include "te/dag.h"

#include <gtest/gtest.h>

#include "te/arrays.h"
#include "te/ops.h"
#include "te/text.h"

namespace tenon::te {
namespace {

TEST(Dag, ProducersReadersAndRanges) {
  const ComputeDag dag = parse(
      "input A: f32[4, 6]\n"
      "B[i: 4] = sum(k: 6) A[i, k]\n"
      "C[i: 4] = B[i] + A[i, 0]\n"
      "output C\noutput B\n");
  EXPECT_EQ(dag.producer(dag.inputs[0].tensor), nullptr);
  EXPECT_EQ(dag.producer(dag.ops[0]->output), dag.ops[0].get());
  EXPECT_EQ(dag.readers(dag.inputs[0].tensor),
            (std::vector<const ComputeOp*>{dag.ops[0].get(), dag.ops[1].get()}));
  EXPECT_EQ(dag.readers(dag.ops[0]->output), (std::vector<const ComputeOp*>{dag.ops[1].get()}));
  EXPECT_TRUE(dag.readers(dag.ops[1]->output).empty());
  const arith::Ranges r = dag.ops[0]->ranges();
  EXPECT_EQ(r.of(dag.ops[0]->axes[0].var.node()), (arith::Interval{0, 3}));
  EXPECT_EQ(r.of(dag.ops[0]->reduce_axes[0].var.node()), (arith::Interval{0, 5}));
}

constexpr const char* kBase =
    "input A: f32[4, 6]\nconst B: f32[6]\n"
    "C[i: 4] = sum(k: 6) A[i, k] * B[k]\n"
    "D[i: 4] = C[i] + 0.5\n"
    "output D\n";

TEST(Dag, HashIgnoresNames) {
  EXPECT_EQ(parse(kBase).structural_hash(),
            parse("kernel k\ninput X: f32[4, 6]\nconst \"w/1\": f32[6]\n"
                  "Y[a: 4] = sum(b: 6) X[a, b] * \"w/1\"[b]\nZ[q: 4] = Y[q] + 0.5\noutput Z\n")
                .structural_hash());
}

TEST(Dag, HashIsStableBetweenReleases) {
  EXPECT_EQ(parse(kBase).structural_hash(), 7817640552905852462U)
      << "records are keyed by this value";
}

TEST(Dag, HashSeesEveryDifference) {
  const char* const kOthers[] = {
      "input A: f64[4, 6]\nconst B: f64[6]\nC[i: 4] = sum(k: 6) A[i, k] * B[k]\nD[i: 4] = C[i] + "
      "0.5\noutput D\n",
      "input A: f32[4, 7]\nconst B: f32[6]\nC[i: 4] = sum(k: 6) A[i, k] * B[k]\nD[i: 4] = C[i] + "
      "0.5\noutput D\n",
      "input A: f32[4, 6]\ninput B: f32[6]\nC[i: 4] = sum(k: 6) A[i, k] * B[k]\nD[i: 4] = C[i] + "
      "0.5\noutput D\n",
      "input A: f32[4, 6]\nconst B: f32[6]\nC[i: 4] = max(k: 6) A[i, k] * B[k]\nD[i: 4] = C[i] + "
      "0.5\noutput D\n",
      "input A: f32[4, 6]\nconst B: f32[6]\nC[i: 4] = sum(k: 5) A[i, k] * B[k]\nD[i: 4] = C[i] + "
      "0.5\noutput D\n",
      "input A: f32[4, 6]\nconst B: f32[6]\nC[i: 4] = sum(k: 6) A[i, k] + B[k]\nD[i: 4] = C[i] + "
      "0.5\noutput D\n",
      "input A: f32[4, 6]\nconst B: f32[6]\nC[i: 4] = sum(k: 6) A[i, k] * B[5 - k]\nD[i: 4] = C[i] "
      "+ 0.5\noutput D\n",
      "input A: f32[4, 6]\nconst B: f32[6]\nC[i: 4] = sum(k: 6) A[i, k] * B[i]\nD[i: 4] = C[i] + "
      "0.5\noutput D\n",
      "input A: f32[4, 6]\nconst B: f32[6]\nC[i: 4] = sum(k: 6) A[i, k] * B[k]\nD[i: 4] = C[i] + "
      "0.25\noutput D\n",
      "input A: f32[4, 6]\nconst B: f32[6]\nC[i: 4] = sum(k: 6) A[i, k] * B[k]\nD[i: 4] = B[i] + "
      "0.5\noutput D\noutput C\n",
      "input A: f32[4, 6]\nconst B: f32[6]\nC[i: 4] = sum(k: 6) A[i, k] * B[k]\nD[i: 4] = C[i] + "
      "0.5\noutput D\noutput C\n",
      "input A: f32[4, 6]\nconst B: f32[6]\nC[i: 4] = sum(k: 6) A[i, k] * B[k]\nD[i: 4] = "
      "tanh(C[i])\noutput D\n",
      "input A: f32[4, 6]\nconst B: f32[6]\nC[i: 4] = sum(k: 6) A[i, k] * B[k]\nD[i: 4] = "
      "erf(C[i])\noutput D\n",
  };
  std::vector<uint64_t> seen{parse(kBase).structural_hash()};
  for (const char* text : kOthers) {
    const uint64_t h = parse(text).structural_hash();
    EXPECT_EQ(std::count(seen.begin(), seen.end(), h), 0) << text;
    seen.push_back(h);
  }
}

// Dags that no builder makes: each has one thing wrong.
TEST(Dag, ValidateRefusesBrokenDags) {
  const auto broken = [](const std::function<void(ComputeDag&, ComputeOp&)>& damage) {
    ComputeDag dag = parse(kBase);
    auto op = std::make_shared<ComputeOp>(*dag.ops[0]);
    dag.ops[0] = op;
    damage(dag, *op);
    try {
      dag.validate();
      return std::string("accepted");
    } catch (const UserError& e) {
      return std::string(e.what());
    }
  };
  const ir::Var stray("stray");
  struct Case {
    const char* message;
    std::function<void(ComputeDag&, ComputeOp&)> damage;
  };
  const Case kCases[] = {
      {"accepted", [](ComputeDag&, ComputeOp&) {}},
      {"a combiner and reduction axes go together",
       [](ComputeDag&, ComputeOp& op) { op.combiner.reset(); }},
      {"not an operation to reduce by",
       [](ComputeDag&, ComputeOp& op) { op.combiner = ir::BinaryOp::kSub; }},
      {"any and all reduce bool",
       [](ComputeDag&, ComputeOp& op) { op.combiner = ir::BinaryOp::kOr; }},
      {"'C' is f32 but its body is f64",
       [](ComputeDag&, ComputeOp& op) { op.body = ir::cast(ir::kF64, op.body); }},
      {"variable 'stray' is not one of its axes",
       [&](ComputeDag&, ComputeOp& op) { op.body = op.body + ir::cast(ir::kF32, stray); }},
      {"axis 'i' appears twice",
       [](ComputeDag&, ComputeOp& op) { op.reduce_axes[0].var = op.axes[0].var; }},
      {"'C' has 2 axes but rank 1",
       [&](ComputeDag&, ComputeOp& op) {
         op.axes.push_back({stray, 1});
       }},
      {"axis 'i' has extent 3 but dimension 0 has 4",
       [](ComputeDag&, ComputeOp& op) { op.axes[0].extent = 3; }},
      {"reduction axes: extent 0 of dimension 0",
       [](ComputeDag&, ComputeOp& op) { op.reduce_axes[0].extent = 0; }},
      {"vectors have no place in a definition",
       [](ComputeDag&, ComputeOp& op) {
         op.body = ir::vector_reduce(ir::BinaryOp::kAdd, ir::broadcast(op.body, 4));
       }},
      {"carry no predicate",
       [](ComputeDag& dag, ComputeOp& op) {
         op.body = ir::load(dag.inputs[1].tensor, {0}, ir::lt(op.axes[0].var, 2));
       }},
      {"'C' reads 'D', which is neither an input nor an earlier op",
       [](ComputeDag& dag, ComputeOp& op) { op.body = ir::load(dag.ops[1]->output, {0}); }},
      {"'C' reads 'C', which is neither",
       [](ComputeDag&, ComputeOp& op) { op.body = ir::load(op.output, {0}); }},
      {"reads 'A' with 1 indices; its rank is 2",
       [](ComputeDag& dag, ComputeOp& op) { op.body = ir::load(dag.inputs[0].tensor, {0}); }},
      {"index 1 of 'A' (k) runs from 0 to 6, but the dimension has extent 6",
       [](ComputeDag&, ComputeOp& op) { op.reduce_axes[0].extent = 7; }},
      {"'D' reads 'C', which is neither an input nor an earlier op",
       [](ComputeDag& dag, ComputeOp&) { std::swap(dag.ops[0], dag.ops[1]); }},
  };
  for (const Case& c : kCases) {
    const std::string got = broken(c.damage);
    EXPECT_NE(got.find(c.message), std::string::npos) << got << "\nwanted: " << c.message;
  }
}

TEST(Dag, FlopsCountArithmeticInTheTypeOfTheOutput) {
  struct Case {
    const char* op;
    double flops;
  };
  const Case kCases[] = {
      {"C[i: 4, j: 5] = sum(k: 6) A[i, k] * B[k, j]", 4 * 5 * 6 * 2},
      {"C[i: 4, j: 6] = A[i, j]", 0},
      {"C[i: 4, j: 6] = max(A[i, j], 0.0)", 24},
      {"C[i: 4, j: 6] = exp(A[i, j] - 1.0) / 3.0", 24 * 3},
      {"C[i: 4, j: 6] = A[3 - i, j] + f32(i * 2 + j)", 24},
      {"C[i: 4, j: 8] = select(1 <= j and j < 7, A[i, j - 1], 0.0)", 0},
      {"C[i: 4, j: 6] = select(A[i, j] < 2.0, A[i, j], 2.0)", 24},
      {"C[i: 4, j: 6] = A[i, j] < 2.0", 24},
      {"C[i: 4] = sum(k: 6) i32(I[i]) * 2", 4 * 6 * 2},
      {"C[i: 4] = I[i] + 1", 4},
      {"C[i: 4] = i + 1", 0},
      {"C[] = max(i: 4, k: 6) A[i, k]", 24},
  };
  for (const Case& c : kCases) {
    const ComputeDag dag =
        parse(std::string("input A: f32[4, 6]\ninput B: f32[6, 5]\ninput I: i64[4]\n") + c.op +
              "\noutput C\n");
    EXPECT_EQ(flops(*dag.ops[0]), c.flops) << c.op;
    EXPECT_EQ(flops(dag), c.flops) << c.op;
  }
}

// The counts that the literature gives for these layers.
TEST(Dag, FlopsOfKnownLayers) {
  Builder b;
  const Tensor x = b.input("X", ir::kF32, {1, 3, 224, 224});
  const Tensor w = b.constant("W", ir::kF32, {64, 3, 7, 7});
  b.output(conv(b, "Y", x, w, {{2, 2}, {3, 3}, {3, 3}, {}, 1}));
  EXPECT_EQ(flops(b.finish()), 236027904);
}

TEST(Evaluate, RunsEveryOpInOrderAndReturnsOutputsInOrder) {
  const ComputeDag dag = parse(
      "input A: i32[3]\n"
      "B[i: 3] = A[i] * 2\n"
      "C[] = sum(i: 3) B[i]\n"
      "D[i: 3] = B[i] - C[]\n"
      "output D\noutput C\n");
  Nd a({3});
  a.data = {1, 2, 3};
  const std::vector<Nd> out = run(dag, {a});
  EXPECT_EQ(out[0].data, (std::vector<double>{-10, -8, -6}));
  EXPECT_EQ(out[1].data, (std::vector<double>{12}));
}

TEST(Evaluate, SumsInTheTypeOfTheBody) {
  const ComputeDag dag = parse(
      "input A: bf16[300]\nC[] = sum(k: 300) A[k]\nD[] = sum(k: 300) f32(A[k])\n"
      "output C\noutput D\n");
  const std::vector<Nd> out = run(dag, {Nd({300}, 1)});
  EXPECT_EQ(out[0].data[0], 256) << "bf16 holds 8 bits: 256 + 1 rounds back to 256";
  EXPECT_EQ(out[1].data[0], 300);
}

TEST(Evaluate, RefusesArraysThatDoNotFit) {
  const ComputeDag dag = parse("input A: f32[3]\nB[i: 3] = A[i]\noutput B\n");
  EXPECT_THROW(evaluate(dag, {}), InternalError);
  EXPECT_THROW(evaluate(dag, {ir::Array(ir::kF64, {3})}), InternalError);
  EXPECT_THROW(evaluate(dag, {ir::Array(ir::kF32, {4})}), InternalError);
}

}  // namespace
}  // namespace tenon::te
