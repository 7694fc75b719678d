// SPDX-License-Identifier: Apache-2.0
#include "te/access.h"

#include <gtest/gtest.h>

#include "te/ops.h"
#include "te/text.h"

namespace tenon::te {
namespace {

using Strides = std::vector<int64_t>;
using Bits = std::vector<bool>;

const ComputeOp& op(const ComputeDag& dag, const std::string& name) {
  for (const OpRef& o : dag.ops) {
    if (o->name() == name) {
      return *o;
    }
  }
  throw std::runtime_error("no op " + name);
}

TEST(Accesses, StridedConvolution) {
  const ComputeDag dag = parse(
      "input X: f32[2, 3, 9, 11]\n"
      "const W: f32[5, 3, 3, 1]\n"
      "Y[n: 2, k: 5, y: 4, x: 6] = sum(c: 3, r: 3, s: 1) X[n, c, y * 2 + r, x * 2 + s] * W[k, c, "
      "r, s]\n"
      "output Y\n");
  const std::vector<Access> reads = accesses(*dag.ops[0]);
  ASSERT_EQ(reads.size(), 2U);
  const Access& x = reads[0];
  EXPECT_EQ(x.tensor.name(), "X");
  EXPECT_TRUE(x.affine);
  EXPECT_EQ(x.map[2].coefficient(dag.ops[0]->axes[2].var.node()), 2);
  EXPECT_EQ(x.map[2].coefficient(dag.ops[0]->reduce_axes[1].var.node()), 1);
  //                            n    k  y   x  c   r   s
  EXPECT_EQ(x.strides, (Strides{297, 0, 22, 2, 99, 11, 1}));
  EXPECT_EQ(x.reused, (Bits{false, true, false, false, false, false, false}));
  const Access& w = reads[1];
  EXPECT_EQ(w.strides, (Strides{0, 9, 0, 0, 3, 1, 1}));
  EXPECT_EQ(w.reused, (Bits{true, false, true, true, false, false, false}));
}

TEST(Accesses, AxesOfExtentOneAreNotReuse) {
  const ComputeDag dag = parse("input A: f32[4]\nC[n: 1, i: 4] = A[i]\noutput C\n");
  EXPECT_EQ(accesses(*dag.ops[0])[0].reused, (Bits{false, false}));
}

TEST(Accesses, GatherIsNotAffineAndItsIndexIsARead) {
  Builder b;
  const Tensor x = b.input("X", ir::kF32, {7, 5});
  const Tensor i = b.input("I", ir::kI64, {3});
  b.output(gather(b, "Y", x, i, 0));
  const ComputeDag dag = b.finish();
  const std::vector<Access> reads = accesses(*dag.ops[0]);
  ASSERT_EQ(reads.size(), 2U);  // I[i0] is written three times and read once
  EXPECT_EQ(reads[0].tensor.name(), "X");
  EXPECT_FALSE(reads[0].affine);
  EXPECT_EQ(reads[0].strides, (Strides{0, 1}));
  EXPECT_EQ(reads[0].reused, (Bits{false, false}));  // depends on i0 through I
  EXPECT_EQ(reads[1].tensor.name(), "I");
  EXPECT_TRUE(reads[1].affine);
  EXPECT_EQ(reads[1].reused, (Bits{false, true}));
}

TEST(Accesses, DifferentPlacesOfOneTensorAreSeparateReads) {
  const ComputeDag dag = parse("input A: f32[6]\nC[i: 4] = A[i] + A[i + 2] * A[i]\noutput C\n");
  EXPECT_EQ(accesses(*dag.ops[0]).size(), 2U);
}

// name, reuse, inlinable
struct Predicates {
  const char* text;  // the last op is looked at
  bool reuse, inlinable;
};

TEST(Predicates, ReuseAndInlining) {
  const std::string head =
      "input A: f32[16, 32]\ninput B: f32[32, 8]\ninput V: f32[8]\ninput D: f32[16, 8]\n"
      "input H: f32[18, 10]\n";
  const Predicates kCases[] = {
      {"C[i: 16, j: 8] = sum(k: 32) A[i, k] * B[k, j]", true, false},
      {"C[i: 16] = sum(k: 32) A[i, k]", false, false},  // each element used once
      {"C[i: 16, j: 8] = max(D[i, j], 0.0)", false, true},
      {"C[i: 16, j: 8] = D[i, j] + V[j]", false, true},                // one tensor, no reduction
      {"C[i: 16, j: 8] = A[i, 0] * V[j]", true, true},                 // outer product: two tensors
      {"C[i: 8, j: 16] = D[j, i]", false, false},                      // transpose
      {"C[i: 16, j: 8] = exp(D[i, j])", false, false},                 // costly
      {"C[i: 16, j: 8] = tanh(D[i, j])", false, true},                 // only exp counts
      {"C[i: 16, j: 8] = select(i < 8, D[i, j], 0.0)", false, false},  // branch
      {"C[i: 16, j: 8] = H[i + 1, j + 2]", false, true},               // shifts are simple
      {"C[i: 8, j: 4] = H[i * 2, j]", false, false},                   // strides are not
      {"C[i: 8] = D[i, i]", false, false},                             // duplicated axis
      {"C[i: 16, j: 8] = f32(i + j)", false, true},                    // reads nothing
      {"C[] = sum(i: 8) f32(i)", false, false},
      {"C[i: 1, j: 8] = sum(k: 32) A[i, k] * B[k, j]", true, false},   // A is reused over j
      {"C[i: 1, j: 1] = sum(k: 32) A[i, k] * B[k, j]", false, false},  // nothing to tile
      {"C[i: 16, j: 8] = sum(k: 3) D[i, j] * H[i + k, j]", false, false},
  };
  for (const Predicates& c : kCases) {
    const ComputeDag dag = parse(head + c.text + "\noutput C\n");
    EXPECT_EQ(has_data_reuse(*dag.ops[0]), c.reuse) << c.text;
    EXPECT_EQ(is_strictly_inlinable(*dag.ops[0]), c.inlinable) << c.text;
  }
}

TEST(Predicates, ReuseIsCountedPerTensorNotPerRead) {
  // Every axis is used by one of the two reads of A, so A as a whole is not reused.
  const ComputeDag dag =
      parse("input A: f32[8]\nC[i: 8, j: 8] = sum(k: 2) A[i] * A[j]\noutput C\n");
  EXPECT_FALSE(has_data_reuse(*dag.ops[0]));
}

TEST(Predicates, ElementwiseMatch) {
  const ComputeDag dag = parse(
      "input A: f32[4, 6]\ninput V: f32[6]\n"
      "B[i: 4, j: 6] = A[i, j] * 2.0\n"
      "C[i: 4, j: 6] = B[i, j] + V[j]\n"
      "D[i: 4, j: 6] = C[i, j] + C[i, 0]\n"
      "E[i: 6, j: 4] = D[j, i]\n"
      "F[i: 4] = sum(j: 6) B[i, j]\n"
      "output E\noutput F\n");
  const auto match = [&](const char* a, const char* b) {
    return is_elementwise_match(op(dag, a), op(dag, b));
  };
  EXPECT_TRUE(match("B", "C"));
  EXPECT_FALSE(match("C", "D")) << "one read misses j";
  EXPECT_FALSE(match("D", "E")) << "shape and order differ";
  EXPECT_FALSE(match("B", "F")) << "shape differs";
  EXPECT_FALSE(match("B", "D")) << "D does not read B";
  EXPECT_FALSE(is_elementwise_match(dag, op(dag, "B"), op(dag, "C"))) << "F reads B too";
}

TEST(Predicates, ElementwiseMatchFollowsAChain) {
  const ComputeDag dag = parse(
      "input A: f32[4, 6]\ninput W: f32[6, 5]\n"
      "C[i: 4, j: 5] = sum(k: 6) A[i, k] * W[k, j]\n"
      "D[i: 4, j: 5] = C[i, j] + 1.0\n"
      "E[i: 4, j: 5] = max(D[i, j], 0.0)\n"
      "F[j: 5, i: 4] = E[i, j]\n"
      "output F\n");
  EXPECT_TRUE(is_elementwise_match(dag, op(dag, "C"), op(dag, "E")));
  EXPECT_TRUE(is_elementwise_match(dag, op(dag, "C"), op(dag, "C")));
  EXPECT_FALSE(is_elementwise_match(dag, op(dag, "C"), op(dag, "F")));
}

TEST(Predicates, NeedsRfactor) {
  struct Case {
    int64_t m, n, k;
    int cores;
    bool wanted;
  };
  // Tiled ops: S <= R and S <= 16*cores.
  for (const Case& c :
       {Case{16, 16, 1024, 16, true}, Case{16, 16, 1024, 15, false}, Case{16, 16, 256, 16, true},
        Case{16, 16, 255, 16, false}, Case{512, 512, 512, 4, false}}) {
    Builder b;
    const Tensor x = b.input("A", ir::kF32, {c.m, c.k});
    b.output(matmul(b, "C", x, b.input("B", ir::kF32, {c.k, c.n})));
    EXPECT_EQ(needs_rfactor(*b.finish().ops[0], c.cores), c.wanted) << c.m << " " << c.k;
  }
  // Others: R > cores, R > 1.
  for (const Case& c : {Case{1000, 1, 8, 4, true}, Case{1000, 1, 4, 4, false},
                        Case{1000, 1, 1, 0, false}, Case{1, 1, 5, 4, true}}) {
    Builder b;
    const Tensor x = b.input("A", ir::kF32, {c.m, c.k});
    b.output(reduce_dims(b, "C", x, ir::BinaryOp::kAdd, {1}, false));
    EXPECT_EQ(needs_rfactor(*b.finish().ops[0], c.cores), c.wanted) << c.m << " " << c.k;
  }
  const ComputeDag plain = parse("input A: f32[4]\nC[i: 4] = A[i]\noutput C\n");
  EXPECT_FALSE(needs_rfactor(*plain.ops[0], 1));
}

TEST(Predicates, CommonOuterAxes) {
  const ComputeDag dag = parse(
      "input A: f32[2, 4, 6]\n"
      "B[n: 2, i: 4, j: 6] = A[n, i, j] * 2.0\n"
      "C[n: 2, i: 4, j: 5] = B[n, i, j + 1]\n"
      "D[n: 2, i: 4] = sum(k: 5) C[n, i, k]\n"
      "E[n: 2, i: 4] = D[n, 3 - i]\n"
      "F[n: 2, i: 4] = D[n, i] + E[n, i]\n"
      "output F\n");
  const auto common = [&](const char* a, const char* b) {
    return common_outer_axes(op(dag, a), op(dag, b));
  };
  EXPECT_EQ(common("B", "C"), 2) << "the extent of j differs";
  EXPECT_EQ(common("C", "D"), 2) << "k is not an output axis";
  EXPECT_EQ(common("D", "E"), 1) << "i runs backwards";
  EXPECT_EQ(common("D", "F"), 2);
  EXPECT_EQ(common("B", "D"), 0) << "D does not read B";
  const auto along = [&](const char* a, const char* b) {
    return common_outer_axes(dag, op(dag, a), op(dag, b));
  };
  EXPECT_EQ(along("B", "D"), 2);
  EXPECT_EQ(along("D", "F"), 1) << "the path through E passes only n";
  EXPECT_EQ(along("F", "B"), 0);
  EXPECT_EQ(along("B", "B"), 3);
}

}  // namespace
}  // namespace tenon::te
