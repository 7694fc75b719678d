// SPDX-License-Identifier: Apache-2.0
// What the inner loops look like as assembly: all accumulators in registers, one fused instruction
// per product, nothing on the stack.
#include <algorithm>
#include <sstream>
#include <string>

#include "backend/element_wise.h"
#include "backend/harness.h"
#include "backend/kernels.h"

namespace tenon::backend {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

bool has(const std::string& line, const std::string& what) {
  return line.find(what) != std::string::npos;
}

int count(const std::vector<std::string>& lines, const std::string& what) {
  return static_cast<int>(
      std::count_if(lines.begin(), lines.end(), [&](const auto& line) { return has(line, what); }));
}

// The instructions between a label and the first jump back to it, of the loop with the most uses of
// `marker` that contains no other loop.
std::vector<std::string> hottest_loop(const std::string& assembly, const std::string& marker) {
  const std::vector<std::string> lines = lines_of(assembly);
  std::vector<std::string> best;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty() || lines[i][0] != '.' || !lines[i].starts_with(".LBB")) {
      continue;
    }
    const std::string label = lines[i].substr(0, lines[i].find(':'));
    std::vector<std::string> body;
    for (size_t k = i + 1; k < lines.size() && !lines[k].starts_with(".L"); ++k) {
      body.push_back(lines[k]);
      if (has(lines[k], "\t" + label) && count(body, marker) > count(best, marker)) {
        best = body;
      }
    }
  }
  return best;
}

std::string assembly(const ir::Function& f, const std::string& target) {
  return emit(f, target::parse_target(target), Emit::kAssembly).bytes;
}

struct TileCase {
  const char* target;
  int rows, vectors, lanes;
  const char* fused;  // the instruction
  const char* reg;    // the widest register
};

class TileTest : public ::testing::TestWithParam<TileCase> {};

INSTANTIATE_TEST_SUITE_P(Targets, TileTest,
                         ::testing::Values(TileCase{"x86-64-v4", 14, 2, 16, "vfmadd", "zmm"},
                                           TileCase{"x86-64-v4", 28, 1, 16, "vfmadd", "zmm"},
                                           TileCase{"x86-64-v4", 6, 4, 16, "vfmadd", "zmm"},
                                           TileCase{"x86-64-v4", 9, 3, 16, "vfmadd", "zmm"},
                                           TileCase{"x86-64-v4", 14, 2, 8, "vfmadd", "ymm"},
                                           TileCase{"x86-64-v3", 6, 2, 8, "vfmadd", "ymm"},
                                           TileCase{"x86-64-v3", 4, 3, 8, "vfmadd", "ymm"},
                                           TileCase{"x86-64-v3", 12, 1, 8, "vfmadd", "ymm"},
                                           TileCase{"aarch64", 12, 2, 4, "fmla", "v"},
                                           TileCase{"aarch64", 8, 3, 4, "fmla", "v"}));

void expect_tight(const std::vector<std::string>& loop, const TileCase& c, int vector_loads) {
  const int products = c.rows * c.vectors;
  EXPECT_EQ(count(loop, c.fused), products);
  for (const std::string& line : loop) {
    EXPECT_FALSE(has(line, "%rsp") || has(line, "%rbp") || has(line, "[sp"))
        << "stack traffic: " << line;
    if (has(line, c.fused)) {
      EXPECT_TRUE(has(line, c.reg)) << line;
    }
  }
  // Besides the products: loads of vectors and scalars, the counter and the jump.
  EXPECT_LE(static_cast<int>(loop.size()), products + c.rows + vector_loads + 12);
}

TEST_P(TileTest, MatmulKeepsItsAccumulatorsInRegisters) {
  const TileCase& c = GetParam();
  const ir::Function f = matmul_kernel(
      {int64_t{3} * c.rows, int64_t{2} * c.vectors * c.lanes, 64, c.rows, c.vectors, c.lanes});
  expect_tight(hottest_loop(assembly(f, c.target), c.fused), c, c.vectors);
}

TEST_P(TileTest, ConvolutionKeepsItsAccumulatorsInRegisters) {
  const TileCase& c = GetParam();
  const ir::Function f = conv3x3_kernel({4, 2, 8, int64_t{2} * c.rows, c.rows, c.vectors, c.lanes});
  expect_tight(hottest_loop(assembly(f, c.target), c.fused), c, c.vectors);
}

// A NaN on the left stays for nothing: no compare and no blend beside the one instruction.
TEST(AssemblyTest, ClampingByConstantsIsOneInstructionEach) {
  for (const auto& [target, lanes] : {std::pair{"x86-64-v4", 16}, std::pair{"x86-64-v3", 8}}) {
    ElementWise f("clamp");
    f.input(ir::kF32);
    f.output(ir::kF32, lanes, [width = lanes](auto& in) {
      const auto bound = [&](double v) { return ir::make_float(ir::kF32.with_lanes(width), v); };
      return ir::minimum(ir::min(ir::max(in[0], bound(0)), bound(6)), bound(5));
    });
    const std::vector<std::string> lines = lines_of(assembly(f.get(), target));
    EXPECT_EQ(count(lines, "vminps"), 2 * count(lines, "vmaxps")) << target;
    EXPECT_GT(count(lines, "vmaxps"), 0) << target;
    EXPECT_EQ(count(lines, "vcmp") + count(lines, "vblend"), 0) << target;
  }
}

TEST(AssemblyTest, BroadcastIsFoldedIntoTheProduct) {
  const ir::Function f = matmul_kernel({28, 32, 64, 28, 1, 16});
  const auto loop = hottest_loop(assembly(f, "x86-64-v4"), "vfmadd");
  EXPECT_EQ(count(loop, "{1to16}"), 28);
}

TEST(AssemblyTest, DepthwiseHoldsItsWeights) {
  const ir::Function f = depthwise3x3_kernel(2, 8, 16, 4, 16);
  const auto loop = hottest_loop(assembly(f, "x86-64-v4"), "vfmadd");
  EXPECT_EQ(count(loop, "vfmadd") + count(loop, "vmulps"), 36);
  EXPECT_EQ(count(loop, "%rsp"), 0);
}

TEST(AssemblyTest, MaximumIsOneInstruction) {
  const ir::Function f = relu_add_kernel(160, 16, ir::kF32);
  for (const char* target : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    const std::string text = assembly(f, target);
    EXPECT_TRUE(has(text, "maxps")) << target;
    EXPECT_FALSE(has(text, "cmp") && has(text, "blend")) << target;
  }
  const std::string text = assembly(f, "aarch64");
  EXPECT_TRUE(has(text, "fmax\t")) << "which keeps NaN, other than fmaxnm";
  EXPECT_FALSE(has(text, "fcmgt") || has(text, "fmaxnm"));
}

TEST(AssemblyTest, WholeVectorsAreNotMasked) {
  const std::string text = assembly(relu_add_kernel(160 + 5, 16, ir::kF32), "x86-64-v4");
  EXPECT_EQ(count(hottest_loop(text, "vmaxps"), "%k"), 0);
}

TEST(AssemblyTest, OutputsThatNoCacheHoldsAreStreamed) {
  const ir::Function f = relu_add_kernel(160, 16, ir::kF32);
  target::Target t = target::parse_target("x86-64-v4");
  t.cpu().l3_bytes = 512;
  const std::string text = emit(f, t, Emit::kAssembly).bytes;
  EXPECT_TRUE(has(text, "vmovntps"));
  EXPECT_TRUE(has(text, "sfence"));
  t.cpu().l3_bytes = 1 << 20;
  const std::string cached = emit(f, t, Emit::kAssembly).bytes;
  EXPECT_FALSE(has(cached, "vmovnt") || has(cached, "sfence"));
}

TEST(AssemblyTest, NothingIsCalled) {
  for (const char* target : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"}) {
    for (const ir::DType t : {ir::kF32, ir::kF16, ir::kBF16, ir::kI8}) {
      const std::string text = assembly(relu_add_kernel(37, 8, t), target);
      EXPECT_FALSE(has(text, "\tcall") || has(text, "\tbl\t")) << target << " " << ir::to_string(t);
    }
  }
}

TEST(AssemblyTest, FunctionsAreNotCalledEither) {
  ElementWise f("functions");
  for (int k = 0; k < 3; ++k) {
    f.input(ir::kF32);
  }
  for (int k = 0; k <= static_cast<int>(ir::Intrinsic::kFma); ++k) {
    const auto fn = static_cast<ir::Intrinsic>(k);
    const bool is_test = fn == ir::Intrinsic::kIsNan || fn == ir::Intrinsic::kIsInf;
    f.output(is_test ? ir::kBool : ir::kF32, 8, [&](auto& in) {
      return ir::call(fn, std::vector<ir::Expr>(in.begin(), in.begin() + ir::arity(fn)));
    });
  }
  for (const char* target : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"}) {
    for (const std::string& line : lines_of(assembly(f.get(), target))) {
      EXPECT_FALSE(has(line, "\tcall") || has(line, "\tbl\t")) << target << line;
    }
  }
}

TEST(AssemblyTest, EveryFormIsWritten) {
  const ir::Function f = matmul_kernel({6, 16, 8, 6, 2, 8});
  const target::Target t = target::parse_target("x86-64-v3");
  EXPECT_TRUE(has(emit(f, t, Emit::kLlvmIr).bytes, "@matmul(ptr"));
  EXPECT_TRUE(has(emit(f, t, Emit::kOptimizedIr).bytes, "llvm.fma.v8f32"));
  EXPECT_TRUE(emit(f, t, Emit::kObject)
                  .bytes.starts_with("\x7f"
                                     "ELF"));
}

}  // namespace
}  // namespace tenon::backend
