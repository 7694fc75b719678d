// SPDX-License-Identifier: Apache-2.0
#include "te/text.h"

#include <gtest/gtest.h>

#include "te/arrays.h"
#include "te/ops.h"

namespace tenon::te {
namespace {

std::string normal(const std::string& text) { return to_text(parse(text)); }

// Everything that prints as it was written.
const char* const kFixedPoints[] = {
    "input A: f32[128, 768]\n"
    "const B: f32[768, 768]\n"
    "C[i: 128, j: 768] = sum(k: 768) A[i, k] * B[k, j]\n"
    "D[i: 128, j: 768] = max(C[i, j], 0.0)\n"
    "output D\n",

    "kernel \"layer 1/conv\"\n"
    "input \"in/0\": i8[3]\n"
    "\"kernel\"[\"input\": 3] = i32(\"in/0\"[\"input\"]) - 7\n"
    "output \"kernel\"\n",

    "input S: f64[]\n"
    "R[] = S[] * 2.5 + 1e-30\n"
    "output R\n",

    "input A: i32[5]\n"
    "input M: bool[5]\n"
    "B[i: 5] = select(M[i] and not (A[i] < 3 or A[i] == -7), A[i] // 2 % 3, A[i] / 2 - 1)\n"
    "C[] = any(i: 5) B[i] != 0 and M[i]\n"
    "D[] = all(i: 5) M[i]\n"
    "E[] = prod(i: 5) bit_xor(B[i], shl(bit_not(A[i]), 2))\n"
    "F[] = min(i: 5) max(B[i], A[i])\n"
    "output C\noutput D\noutput E\noutput F\n",

    "input X: f32[8]\n"
    "P[x: 10] = select(1 <= x and x < 9, X[x - 1], -inf)\n"
    "Q[x: 4] = max(s: 3) P[x * 2 + s]\n"
    "Z[x: 4] = f32(0.5) * 2.0 + f32(i64(Q[x]) * 2 + x)\n"
    "output Z\n",

    "input X: f32[4]\n"
    "Y[i: 4] = maximum(X[i], minimum(X[3 - i], 1.0))\n"
    "M[] = maximum(i: 4) Y[i]\n"
    "N[] = minimum(i: 4) maximum(Y[i], X[i])\n"
    "output M\noutput N\n",

    "input X: f32[4]\n"
    "Y[i: 4] = -(X[i] - (X[3 - i] - 1.0)) * (2.0 + X[i]) / -3.0\n"
    "Z[i: 4] = pow(exp(Y[i]), 0.5) + fma(X[i], 2.0, Y[i])\n"
    "output Z\n",

    "input I: u64[2]\n"
    "Y[i: 2] = I[i] + 18446744073709551615\n"
    "output Y\n",

    "input X: bf16[2]\n"
    "Y[i: 2] = X[i] * 0.100097656\n"
    "output Y\n",
};

TEST(Text, PrintsWhatItReads) {
  for (const char* text : kFixedPoints) {
    EXPECT_EQ(normal(text), text);
    EXPECT_EQ(parse(text).structural_hash(), parse(normal(text)).structural_hash());
  }
}

TEST(Text, ReadsFreelyAndPrintsOneForm) {
  EXPECT_EQ(normal("# a comment\n\n  input A :f32[ 4,2 ]   # another\r\n"
                   "B[i:4] = sum ( k : 2 ) (\n"
                   "   A[i,k] * ( 2 )  # inside brackets a line may end\n"
                   ") + 0.5\n"
                   "output B"),
            "input A: f32[4, 2]\n"
            "B[i: 4] = sum(k: 2) A[i, k] * 2.0 + 0.5\n"
            "output B\n");
  EXPECT_EQ(normal("input A: i32[4]\nB[i: 4] = select(A[i] >= 2, A[i], 2)\n"
                   "C[i: 4] = select(A[i] > B[i], --A[i], (3 * -2) + A[i] * (1 + 1))\noutput B, C"),
            "input A: i32[4]\nB[i: 4] = select(2 <= A[i], A[i], 2)\n"
            "C[i: 4] = select(B[i] < A[i], --A[i], -6 + A[i] * 2)\noutput B\noutput C\n");
}

TEST(Text, OperatorsBindAsWritten) {
  struct Case {
    const char* expr;
    double value;
  };
  const Case kCases[] = {
      {"X[0] + X[1] * X[2]", 17},
      {"(X[0] + X[1]) * X[2]", 25},
      {"X[0] - X[1] - X[2]", -6},
      {"X[0] - (X[1] - X[2])", 4},
      {"X[2] / X[1] / X[0]", 0},
      {"X[2] // X[1] * X[1]", 3},
      {"-X[2] // X[0]", -3},
      {"-X[2] / X[0]", -2},
      {"-X[2] % X[1]", 1},
      {"-(X[2] % X[1])", -2},
      {"max(X[0], X[1]) - min(X[1], X[2])", 0},
      {"select(X[0] < X[1] and X[1] < X[2], 10, X[0])", 10},
      {"select(not X[0] < X[1] or X[1] == 3, X[0], 20)", 2},
      {"select(true or X[0] == 0 and false, X[1], X[0])", 3},
      {"i32(i64(X[0]) - 5)", -3},
      {"shr(shl(X[0], 4), 2) + bit_or(X[0], X[2]) + bit_and(X[1], X[2])", 16},
  };
  Nd x({3});
  x.data = {2, 3, 5};
  for (const Case& c : kCases) {
    const ComputeDag dag = parse(std::string("input X: i32[3]\nY[] = ") + c.expr + "\noutput Y\n");
    EXPECT_EQ(run(dag, {x}).at(0).data[0], c.value) << c.expr;
  }
}

TEST(Text, OperatorsPrintAsGolden) {
  Builder b;
  const Tensor x = b.input("X", ir::kF32, {1, 4, 5, 5});
  const Tensor w = b.constant("W", ir::kF32, {6, 2, 3, 3});
  const Tensor wt = b.constant("WT", ir::kF32, {6, 2, 2, 2});
  const Tensor y = conv(b, "Y", x, w, {{2, 1}, {1, 0}, {1, 1}, {1, 2}, 2});
  const Tensor t = conv_transpose(b, "T", y, wt, {{2, 1}, {0, 0}, {1, 0}, {}, 1});
  const Tensor p = pool(b, "P", t, Pool::kAverage, {2, 2}, {{1, 1}, {1, 0}, {0, 0}, {}, 1});
  b.output(softmax(b, "S", p));
  EXPECT_EQ(to_text(b.finish("net")),
            R"(kernel net
input X: f32[1, 4, 5, 5]
const W: f32[6, 2, 3, 3]
const WT: f32[6, 2, 2, 2]
Y.pad[n: 1, c: 4, y: 7, x: 6] = select(1 <= y and y < 6 and x < 5, X[n, c, y - 1, x], 0.0)
Y[n: 1, k: 6, y: 3, x: 2] = sum(c: 2, r: 3, s: 3) Y.pad[n, c + k // 3 * 2, y * 2 + r, x + s * 2] * W[k, c, r, s]
T[n: 1, k: 2, y: 5, x: 3] = sum(c: 6, r: 2, s: 2) select((y - r) % 2 == 0 and 0 <= y - r and 0 <= x - s and x - s < 2, Y[n, c, (y - r) // 2, x - s], 0.0) * WT[c, k, r, s]
P.pad[n: 1, c: 2, y: 6, x: 3] = select(1 <= y, T[n, c, y - 1, x], 0.0)
P.sum[n: 1, c: 2, y: 5, x: 2] = sum(r: 2, s: 2) P.pad[n, c, y + r, x + s]
P[n: 1, c: 2, y: 5, x: 2] = P.sum[n, c, y, x] / f32((2 - max(0, 1 - y)) * 2)
S.max[i0: 1, i1: 2, i2: 5] = max(j: 2) P[i0, i1, i2, j]
S.exp[i0: 1, i1: 2, i2: 5, j: 2] = exp(P[i0, i1, i2, j] - S.max[i0, i1, i2])
S.sum[i0: 1, i1: 2, i2: 5] = sum(j: 2) S.exp[i0, i1, i2, j]
S.inverse[i0: 1, i1: 2, i2: 5] = 1.0 / S.sum[i0, i1, i2]
S[i0: 1, i1: 2, i2: 5, j: 2] = S.exp[i0, i1, i2, j] * S.inverse[i0, i1, i2]
output S
)");
}

TEST(Text, AxesThatShareANamePrintApart) {
  Builder b;
  const Tensor x = b.input("X", ir::kF32, {2, 3});
  b.output(b.compute("Y", {2, 3},
                     [&](std::span<const ir::Var> a) {
                       return ir::load(x, {a[0], a[1]});
                     },
                     {"i", "i"}));
  const ComputeDag dag = b.finish();
  EXPECT_EQ(to_text(*dag.ops[0]), "Y[i: 2, i_1: 3] = X[i, i_1]");
  EXPECT_EQ(parse(to_text(dag)).structural_hash(), dag.structural_hash());
}

struct Refusal {
  const char* text;
  int line, column;
  const char* message;
};

const Refusal kRefusals[] = {
    {"output C\n", 1, 8, "unknown tensor 'C'"},
    {"input A: f32[4]\nC[i: 4] = A[i] * Q[i]\noutput C\n", 2, 18, "unknown tensor 'Q'"},
    {"input A: f32[4]\nC[i: 4] = A[i] * Q[i]\noutput C\n", 2, 18, "declared so far: A"},
    {"input A: f32[4]\nC[i: 4] = A[j]\noutput C\n", 2, 13, "unknown axis 'j'"},
    {"input A: f32[4]\nC[i: 4] = A\noutput C\n", 2, 11, "tensor 'A' is used without indices"},
    {"input A: f32[4]\nC[i: 4] = A[i, 0]\noutput C\n", 2, 11,
     "'A' has rank 1 but is read with 2 indices"},
    {"input A: f32[4]\nC[i: 4] = A[]\noutput C\n", 2, 11,
     "'A' has rank 1 but is read with 0 indices"},
    {"input A: f32[4]\ninput B: i32[4]\nC[i: 4] = A[i] + B[i]\noutput C\n", 3, 16,
     "type mismatch: '+' of f32 and i32"},
    {"input A: f32[4]\nC[i: 4] = A[i] // 2.0\noutput C\n", 2, 16, "'//' needs integer operands"},
    {"input A: f32[4]\nC[i: 4] = A[i] and true\noutput C\n", 2, 16,
     "type mismatch: 'and' of f32 and bool"},
    {"input A: f32[4]\nC[i: 4] = not A[i]\noutput C\n", 2, 15,
     "the operand of 'not' must be bool, not f32"},
    {"input A: i32[4]\nC[i: 4] = A[i] + 0.5\noutput C\n", 2, 18, "the literal 0.5 cannot be i32"},
    {"input A: i8[4]\nC[i: 4] = A[i] + 128\noutput C\n", 2, 18, "the literal 128 does not fit i8"},
    {"input A: u8[4]\nC[i: 4] = A[i] + -1\noutput C\n", 2, 19, "does not fit u8"},
    {"input A: i32[4]\nC[i: 4] = exp(A[i])\noutput C\n", 2, 11, "type mismatch: 'exp' of i32"},
    {"input A: f32[4]\nC[i: 4] = A[A[i]]\noutput C\n", 2, 13,
     "an index of 'A' must be i64, not f32"},
    {"input A: f32[4]\nC[i: 4] = select(A[i], A[i], 0.0)\noutput C\n", 2, 18,
     "the condition of select must be bool, not f32"},
    {"input A: f32[4]\nC[] = any(i: 4) A[i]\noutput C\n", 2, 7, "type mismatch: 'any' of f32"},
    {"input A: bool[4]\nC[] = sum(i: 4) A[i]\noutput C\n", 2, 7, "type mismatch: 'sum' of bool"},
    {"input A: i32[4]\nC[] = maximum(i: 4) A[i]\noutput C\n", 2, 7,
     "type mismatch: 'maximum' of i32"},
    {"input A: i32[4]\nC[i: 4] = minimum(A[i], 1)\noutput C\n", 2, 11, "needs float operands"},
    {"input A: f32[4]\nC[i: 4] = max(A[i])\noutput C\n", 2, 11, "'max' takes 2 arguments, not 1"},
    {"input A: f32[4]\nC[i: 4] = frob(A[i])\noutput C\n", 2, 11, "unknown function 'frob'"},
    {"input A: f32[4]\nC[i: 4] = f32x4(A[i])\noutput C\n", 2, 11, "'f32x4' is a vector type"},
    {"C[i: 4] = 1.0\noutput C\n", 1, 11, "the type of this constant is not known"},
    {"C[i: 4] = 1.0 + 2\noutput C\n", 1, 15, "the type of the literals beside '+' is not known"},
    {"C[i: 4] = i // 0\noutput C\n", 1, 13, "division by zero"},
    {"input A: f32[0]\n", 1, 14, "extent 0 is not in 1..2^31"},
    {"input A: f32[-3]\n", 1, 14, "extent -3 is not in 1..2^31"},
    {"input A: f32[2147483649]\n", 1, 14, "extent 2147483649 is not in 1..2^31"},
    {"input A: f32[99999999999999999999999]\n", 1, 14, "is too large"},
    {"C[i: 0] = i\noutput C\n", 1, 6, "extent 0 is not in 1..2^31"},
    {"C[i: 3000000000] = i\noutput C\n", 1, 6, "extent 3000000000 is not in 1..2^31"},
    {"input A: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]\n", 1, 7,
     "rank 20 is over the limit of 12"},
    {"input A: f32[2000000000, 2000000000]\n", 1, 7, "'A': it has 2^40 elements or more"},
    {"C[i: 2000000000, j: 2000000000] = i\noutput C\n", 1, 1, "it has 2^40 elements or more"},
    {"input A: f32[4]\nC[i: 4] = A[i]\n", 3, 1, "nothing is an output"},
    {"", 1, 1, "nothing is an output"},
    {"input A: f32[4]\noutput A\n", 2, 8, "output 'A' is an input, not computed"},
    {"input A: f32[4]\nC[i: 4] = A[i]\noutput C, C\n", 3, 11, "'C' is an output twice"},
    {"input A: f32[4]\nB[i: 4] = A[i]\nC[i: 4] = A[i]\noutput C\n", 2, 1,
     "'B' is computed but neither read nor an output"},
    {"input A: f32[4]\ninput A: f32[4]\n", 2, 7, "the name 'A' is taken already"},
    {"input A: f32[4]\nA[i: 4] = A[i]\n", 2, 1, "the name 'A' is taken already"},
    {"C[i: 4, i: 3] = i\noutput C\n", 1, 9, "axis 'i' appears twice"},
    {"input A: f32[4]\nC[i: 4] = sum(i: 4) A[i]\noutput C\n", 2, 15, "axis 'i' appears twice"},
    {"input A: f32[4\n", 2, 1, "expected ']' to close the '[' of line 1, column 13"},
    {"input A: f32[4]\nC[i: 4] = max(A[i], 0.0\noutput C\n", 3, 1,
     "expected ')' to close the '(' of line 2, column 14, found 'output'"},
    {"input \"A: f32[4]\n", 1, 7, "unterminated quoted name"},
    {"input \"\\q\": f32[4]\n", 1, 8, "unknown escape"},
    {"input \"\": f32[4]\n", 1, 7, "empty name"},
    {"input A: f33[4]\n", 1, 10, "unknown type 'f33'"},
    {"input A: f32x8[4]\n", 1, 10, "unknown type 'f32x8'"},
    {"input A f32[4]\n", 1, 9, "expected ':' after the name of an input, found 'f32'"},
    {"input 4: f32[4]\n", 1, 7, "expected the name of an input, found '4'"},
    {"input A: f32[4] input B: f32[4]\n", 1, 17, "expected end of line, found 'input'"},
    {"input A: f32[4]\nC[i: 4] = A[i] @ 2\n", 2, 16, "unexpected character '@'"},
    {"input A: f32[4]\nC[i: 4] = \x01\n", 2, 11, "unexpected byte 0x01"},
    {"input A: f32[4]\nC[i: 4] = A[i] *\noutput C\n", 2, 17,
     "expected an expression, found end of line"},
    {"input A: f32[4]\nC[i: 4] A[i]\n", 2, 9, "expected '=' after the axes of 'C', found 'A'"},
    {"input A: f32[4]\nC[i] = A[i]\n", 2, 4, "expected ':' and an extent after axis 'i'"},
    {"C\n", 1, 2, "expected '[' and axes after 'C', found end of line"},
    {"input A: f32[4]\nC[i: 4] = A[i] < 2.0 < 3.0\noutput C\n", 2, 22,
     "expected end of line, found '<'"},
    {"input A: f32[4]\nC[i: 4] = 1e A[i]\n", 2, 11, "the exponent of '1e' has no digits"},
    {"input A: f32[4]\nC[i: 4] = 12ab\n", 2, 13, "'a' directly after the number 12"},
    {"input A: f32[4]\nC[] = sum() A[0]\noutput C\n", 2, 7, "'sum' has no axis to reduce over"},
    {"input A: f32[4]\nC[i: 5] = A[i]\noutput C\n", 2, 11,
     "index 0 of 'A' (i) runs from 0 to 4, but the dimension has extent 4"},
    {"input A: f32[4, 6]\nC[i: 4] = sum(k: 3) A[i, i * 2 - k]\noutput C\n", 2, 21,
     "index 1 of 'A' (i * 2 - k) runs from -2 to 6, but the dimension has extent 6"},
    {"input A: f32[4]\nC[i: 6] = select(i < 5, A[i], 0.0)\noutput C\n", 2, 25, "runs from 0 to 4"},
    {"input A: f32[4]\nC[i: 6] = select(0 < i or i < 4, A[i], 0.0)\noutput C\n", 2, 34,
     "runs from 0 to 5"},
    {"input A: f32[4]\ninput I: i64[4]\nC[i: 4] = A[I[i]]\noutput C\n", 3, 11,
     "index 0 of 'A' (I[i]) cannot be shown to stay inside"},
    {"input A: f32[4]\nC[i: 4] = A[i * 9223372036854775807]\noutput C\n", 2, 11, "may overflow"},
};

TEST(Text, RefusesWithPlaceAndReason) {
  for (const Refusal& r : kRefusals) {
    try {
      parse(r.text, "x.te");
      ADD_FAILURE() << "accepted:\n" << r.text;
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find(r.message), std::string::npos)
          << r.text << "got: " << e.what() << "\nwanted: " << r.message;
      EXPECT_EQ(e.line(), r.line) << r.text << e.what();
      EXPECT_EQ(e.column(), r.column) << r.text << e.what();
    }
  }
}

TEST(Text, RefusesEndlessNesting) {
  const std::string head = "input A: f32[4]\nC[i: 4] = ";
  const auto repeat = [](const std::string& s, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) {
      all += s;
    }
    return all;
  };
  for (const std::string& body :
       {repeat("(", 100000), repeat("-", 100000), "A[i]" + repeat(" + A[i]", 100000),
        repeat("exp(", 100000), repeat("A[", 100000), repeat("max(A[i], ", 100000),
        "A[i]" + repeat(" * 1", 100000), repeat("not ", 100000) + "true"}) {
    EXPECT_THROW(parse(head + body + "\noutput C\n"), UserError);
  }
  EXPECT_THROW(parse(repeat("input A: f32[4]\n", 3)), UserError);
  std::string many;
  for (int i = 0; i < 1001; ++i) {
    many += "C" + std::to_string(i) + "[i: 2] = i\noutput C" + std::to_string(i) + "\n";
  }
  try {
    parse(many);
    ADD_FAILURE();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("more than 1000 ops"), std::string::npos) << e.what();
  }
}

// Reads guarded or clamped well enough are accepted.
TEST(Text, AcceptsReadsThatConditionsBound) {
  const char* const kBodies[] = {
      "select(i < 4, A[i], 0.0)",
      "select(not (i >= 4), A[i], 0.0)",
      "select(i >= 4, 0.0, A[i])",
      "select(i >= 4 or A[i] > 0.0, 0.0, A[i])",
      "select(i < 4 and A[i] > 0.0, A[i], 0.0)",
      "select(0 <= i - 2 and i - 2 < 4, A[i - 2], 0.0)",
      "select(i == 3, A[i], A[min(i, 3)])",
      "select((i - 1) % 2 == 0 and 1 <= i, A[(i - 1) // 2], 0.0)",
      "A[min(max(I[i], 0), 3)]",
      "A[i % 4] + A[i // 2] + A[3 - i // 2]",
      "select(0 <= I[i] and I[i] < 4, A[I[i]], 0.0)",
      "select(2 * i + 1 < 5, A[2 * i], 0.0)",
  };
  for (const char* body : kBodies) {
    const std::string text =
        std::string("input A: f32[4]\ninput I: i64[8]\nC[i: 8] = ") + body + "\noutput C\n";
    EXPECT_NO_THROW(parse(text)) << body;
  }
}

}  // namespace
}  // namespace tenon::te
