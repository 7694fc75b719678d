// SPDX-License-Identifier: Apache-2.0
#include "report/program/assembly.h"

#include <gtest/gtest.h>

namespace tenon::report {
namespace {

constexpr const char* kX86 = R"(	.text
	.globl	kernel
kernel:                                 # @kernel
# %bb.0:
	pushq	%rbx
	.p2align	4, 0x90
.LBB0_1:                                # =>This Inner Loop Header: Depth=1
	vmovaps	(%rdi), %zmm2
	vfmadd231ps	(%rsi), %zmm2, %zmm0
	vfmadd231ps	64(%rsi), %zmm2, %zmm1
	vmovups	%zmm3, -64(%rsp)                # 64-byte Spill
	jne	.LBB0_1
	vmovups	-64(%rsp), %zmm3                # 64-byte Reload
	vfnmadd213ss	%xmm1, %xmm2, %xmm0
	retq
.LCPI1_0:
	.quad	256
)";

constexpr const char* kArm = R"(kernel:
	ld1	{ v1.4s }, [x0]
.LBB0_1:                                // =>This Inner Loop
	fmla	v0.4s, v1.4s, v2.s[0]
	fmls	v3.4s, v1.4s, v2.s[0]
	b.ne	.LBB0_1
	fmadd	s0, s1, s2, s3
	ret
)";

constexpr const char* kPtx = R"(.visible .entry kernel_0(
	.param .u64 .ptr .align 1 kernel_0_param_0
)
{
	.reg .f32 	%f<9>;
	ld.param.u64 	%rd1, [kernel_0_param_0];
$L__BB0_1:                              // =>This Inner Loop Header: Depth=1
	ld.shared.f32 	%f1, [%rd1];
	fma.rn.f32 	%f2, %f1, %f1, %f2;
	fma.rn.f32 	%f3, %f1, %f1, %f3;
	@%p1 bra 	$L__BB0_1;
	ret;
}
)";

TEST(Assembly, CountsPtx) {
  const CodeSummary s = summarize_assembly(kPtx);
  EXPECT_EQ(s.all.instructions, 6);
  EXPECT_EQ(s.all.multiply_adds, 2);
  EXPECT_EQ(s.hottest.instructions, 4);
  EXPECT_EQ(s.hottest.multiply_adds, 2);
}

TEST(Assembly, CountsX86) {
  const CodeSummary s = summarize_assembly(kX86);
  EXPECT_EQ(s.all.instructions, 9);
  EXPECT_EQ(s.all.multiply_adds, 3);
  EXPECT_EQ(s.all.spills, 1);
  EXPECT_EQ(s.all.reloads, 1);
  EXPECT_EQ(s.hottest.instructions, 5);
  EXPECT_EQ(s.hottest.multiply_adds, 2);
  EXPECT_EQ(s.hottest.spills, 1);
  EXPECT_EQ(s.hottest.reloads, 0);
}

TEST(Assembly, CountsArm) {
  const CodeSummary s = summarize_assembly(kArm);
  EXPECT_EQ(s.all.instructions, 6);
  EXPECT_EQ(s.all.multiply_adds, 3);
  EXPECT_EQ(s.hottest.multiply_adds, 2);
  EXPECT_EQ(s.hottest.instructions, 3);
}

TEST(Assembly, NothingInNothing) {
  const CodeSummary s = summarize_assembly("");
  EXPECT_EQ(s.all.instructions, 0);
  EXPECT_EQ(s.hottest.instructions, 0);
}

}  // namespace
}  // namespace tenon::report
