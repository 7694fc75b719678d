// SPDX-License-Identifier: Apache-2.0
#include "schedule/refusals.h"

#include "schedule/programs.h"

namespace tenon::schedule {

namespace {

using enum IllegalCode;

// B = A + A, C = B + B, ...: every stage inlined doubles the body of the next.
std::string doubling(int ops) {
  std::string te = "input T0: f32[3]\n";
  for (int i = 1; i <= ops; ++i) {
    const std::string from = "T" + std::to_string(i - 1) + "[i]";
    te += "T" + std::to_string(i) + "[i: 3] = " + from + " + " + from + "\n";
  }
  return te + "output T" + std::to_string(ops) + "\n";
}

std::string inline_all(int ops) {
  std::string trace;
  for (int i = 1; i <= ops; ++i) trace += "compute_inline T" + std::to_string(i) + "\n";
  return trace;
}

const char* const kLong = R"(
input A: f32[2, 1000]
C[i: 2, j: 1000] = A[i, j] + 1.0
output C
)";
const char* const kDoubles = R"(
input A: f64[4, 8]
C[i: 4] = sum(k: 8) A[i, k]
output C
)";
const char* const kEights = R"(
input A: f32[5, 8]
C[i: 5] = sum(k: 8) A[i, k]
D[i: 5, j: 8] = A[i, j] - C[i]
output D
)";
const char* const kHuge = R"(
input A: f32[1048576]
C[i: 1048576] = sum(k: 1048576) A[i] * 2.0
output C
)";
const char* const kUnused = R"(
input A: f32[3]
input U: f32[3]
C[i: 3] = A[i] + 1.0
output C
)";
const char* const kLarge = R"(
input A: f32[4, 1000, 1000]
B[n: 4, i: 1000, j: 1000] = A[n, i, j] + 1.0
C[n: 4, i: 1000, j: 1000] = B[n, i, j] * 2.0
output C
)";

const char* const kNoDots = R"(
input A: i8[3, 4]
input B: f32[3, 4]
C[i: 3, j: 5] = sum(k: 4) i32(A[i, k]) + i32(A[i, k])
M[i: 3, j: 5] = max(k: 4) i32(A[i, k]) * i32(A[i, k])
F[i: 3, j: 5] = sum(k: 4) B[i, k] * B[i, k]
L[i: 3, j: 5] = sum(k: 4) i64(A[i, k]) * i64(A[i, k])
output C
output M
output F
output L
)";

const char* const kTurned = R"(
input A: f32[2, 3]
B[i: 2, j: 3] = A[i, j] + 1.0
C[i: 3, j: 2] = B[j, i]
output C
)";

// `rows` x 2 vectors of 8 lanes that accumulate, which takes 2*rows + 2 + 1 registers.
std::string tile(int rows) {
  return "cache_write C register\ncompute_inline C\nsplit D i [" + std::to_string(rows) +
         "]\nsplit D j [2, 8]\nreorder D [i.0, j.0, i.1, j.1, j.2]\ncompute_at C.cache D j.0\n"
         "split C.cache j [8]\nreorder C.cache [k, i, j.0, j.1]\nunroll C.cache i\n"
         "unroll C.cache j.0\nvectorize C.cache j.1\nvectorize D j.2\nunroll D j.1\n";
}

const char* const kProduct = R"(
input A: f32[21, 5]
input B: f32[5, 32]
C[i: 21, j: 32] = sum(k: 5) A[i, k] * B[k, j]
D[i: 21, j: 32] = max(C[i, j], 0.0)
output D
)";

}  // namespace

std::vector<RefusedCase> refused_steps() {
  return {
      // What every step asks of its stage and loop.
      {kMatmul, "", "split %9 %0 [2]", kNoSuchStage, "there is no stage 9"},
      {kMatmul, "", "split A %0 [2]", kPlaceholder, "A is an input: it has no loops"},
      {kMatmul, "", "split D %7 [2]", kNoSuchLoop, "stage D has no loop 7"},
      {kMatmul, "split D i [2]", "split D i [2]", kNotALeaf,
       "loop i of D was split or fused before; name one of its parts"},
      {kMatmul, "", "compute_inline D", kIsOutput, "D is an output: it stays at the root"},
      {kChain, "compute_inline B", "split B i [2]", kInlined, "B is inlined: it has no loops"},
      {kMatmul, "unroll D i", "split D i [2]", kAnnotated,
       "loop i of D already carries an annotation"},

      {kMatmul, "", "split D j [0]", kBadFactor, "factor 0 for loop j of D is not in 1..11"},
      {kMatmul, "", "split D j [12]", kBadFactor, "factor 12 for loop j of D is not in 1..11"},
      {kMatmul, "", "split D j [-3]", kBadFactor, "factor -3 for loop j of D is not in 1..11"},
      {kMatmul, "", "split D j [5, 5]", kBadFactor, "factor 5 for loop j of D is not in 1..11"},
      {kHuge, "", "split C i [1048576, 1048576, 1048576, 1048576]", kBadFactor,
       "factor 1048576 for loop i of C is not in 1..1048576"},
      {kMatmul, "", "split D j []", kBadFactorCount,
       "loop j of D is split by 0 factors; give 1 to 8"},
      {kMatmul, "", "split D j [1, 1, 1, 1, 1, 1, 1, 1, 1]", kBadFactorCount,
       "loop j of D is split by 9 factors; give 1 to 8"},
      {kMatmul, "", "split D j [2, 2] parts", kBadFactorCount,
       "loop j of D is split by 2 factors; give 1 to 1"},
      {kMatmul, "prefetch C k A 2", "split C k [2]", kAttached,
       "loop k of C has another stage attached to it"},

      {kMatmul, "", "fuse D [i]", kBadPermutation, "list at least 2 loops of D, each once"},
      {kMatmul, "", "fuse D [j, i]", kNotAdjacent,
       "loop j of D does not directly enclose the next loop to fuse"},
      {kMatmul, "", "fuse D [i, i]", kNotAdjacent,
       "loop i of D does not directly enclose the next loop to fuse"},
      {kMatmul, "", "fuse C [j, k]", kMixedKinds,
       "loop j of C would mix spatial and reduction iterations"},
      {kMatmul, "compute_at C D i", "fuse D [i, j]", kAttached,
       "loop i of D has another stage attached to it"},

      {kMatmul, "", "reorder D []", kBadPermutation, "list at least 1 loops of D, each once"},
      {kMatmul, "", "reorder D [i, j, i]", kBadPermutation,
       "list at least 1 loops of D, each once"},
      {kMatmul, "vectorize D j", "reorder D [j, i]", kNotInnermost,
       "loop j of D must have no serial loop inside to be vectorised"},
      {kMatmul, "decompose_init C j", "reorder C [k, j]", kBadInitLoop,
       "the initial value of C cannot be set at loop j: a reduction loop lies outside it"},
      {kChain, "compute_at C D j\ncompute_at B D i", "reorder D [j, i]", kNotAConsumer,
       "loop i of D does not enclose every reader of B"},
      {kChain, "reorder D [j, i]\nunroll D i\ncompute_at C D i\nreorder D [i, j]\nvectorize D j",
       "reorder D [j, i]", kInsideVector,
       "loop i of D lies inside a vectorised loop, where nothing can be attached"},

      {kMatmul, "", "parallel C k", kReductionLoop,
       "loop k of C is a reduction loop; use rfactor first"},
      {kMatmul, "parallel D i", "parallel D j", kNestedParallel,
       "loop j of D lies inside or around another parallel loop"},
      {kMatmul, "compute_at C D i\nparallel C j", "parallel D i", kNestedParallel,
       "loop j of C lies inside or around another parallel loop"},
      {kMatmul, "cache_write C register", "parallel C.cache i", kRegisterShared,
       "C.cache is in registers, which parallel loop i of C.cache would share"},

      {kMatmul, "", "vectorize D i", kNotInnermost,
       "loop i of D must have no serial loop inside to be vectorised"},
      {kLong, "", "vectorize C j", kBadLanes,
       "loop j of C has 1000 iterations; a vector holds 2 to 64"},
      {kOnes, "", "vectorize C k", kBadLanes,
       "loop k of C has 1 iterations; a vector holds 2 to 64"},
      {kMatmul, "vectorize D j", "vectorize D i", kNotInnermost,
       "loop i of D must have no serial loop inside to be vectorised"},
      {kMatmul, "split D j [3, 2]\nvectorize D j.2", "vectorize D j.1", kNotInnermost,
       "loop j.1 of D must have no serial loop inside to be vectorised"},
      {kMatmul, "compute_at C D j", "vectorize D j", kAttached,
       "loop j of D has another stage attached to it"},

      {kLong, "", "unroll C j", kUnrollTooLarge,
       "unrolling loop j of C makes 1000 copies; the limit is 512"},
      {kLong, "split C j [400]\nunroll C i", "unroll C j.1", kUnrollTooLarge,
       "unrolling loop j.1 of C makes 800 copies; the limit is 512"},
      {kMatmul, "", "pragma_unroll D 513", kBadLimit, "limit 513 for D is not in 0..512"},
      {kMatmul, "", "pragma_unroll D -1", kBadLimit, "limit -1 for D is not in 0..512"},
      {kMatmul, "", "pragma_unroll A 16", kPlaceholder, "A is an input: it has no loops"},
      {kMatmul, "", "bind D i thread_x", kUnsupportedHere,
       "the target has no GPU threads for loop i of D"},
      {kMatmul, "", "bind C k thread_x", kReductionLoop,
       "loop k of C is a reduction loop; use rfactor first"},
      {kMatmul, "", "bind C k block_x", kReductionLoop,
       "loop k of C is a reduction loop; use rfactor first", kGpu},
      {kMatmul, "", "bind C k thread_x", kCombined,
       "loop k of C is combined by 5 threads; that is a power of two up to 32, or a multiple of 32",
       kGpu},
      {kDoubles, "", "bind C k thread_x", kExchange,
       "threads exchange four bytes at once; an element of C has 8", kGpu},
      {kMatmul, "", "layout_swizzle A 1 0 2", kBadLayout,
       "the arguments do not fit how A is stored"},
      {kMatmul, "", "layout_swizzle A 2 0 2", kNoSuchDim, "the layout of A has no dimension 2"},
      {kMatmul, "bind D i block_x", "bind D j block_x", kTagTwice,
       "loop i of D is bound to the same blocks or threads already", kGpu},
      {kMatmul, "bind D i block_x", "bind D i thread_x", kAnnotated,
       "loop i of D already carries an annotation", kGpu},
      {kMatmul, "", "parallel D i", kNoCores, "the target has no cores for loop i of D", kGpu},

      {kMatmul, "", "pipeline C k", kUnsupportedHere,
       "the target has no GPU threads for loop k of C"},
      {kMatmul, "", "pipeline A %0", kPlaceholder, "A is an input: it has no loops", kGpu},
      {kMatmul, "unroll C k", "pipeline C k", kAnnotated,
       "loop k of C already carries an annotation", kGpu},
      {kMatmul, "bind D i block_x", "pipeline D i", kAnnotated,
       "loop i of D already carries an annotation", kGpu},
      {kMatmul, "pipeline C k", "pipeline C i", kAnnotated,
       "loop k of C already carries an annotation", kGpu},
      {kMatmul, "pipeline C k", "unroll C k", kAnnotated,
       "loop k of C already carries an annotation", kGpu},
      {kMatmul, "pipeline C k", "split C k [2]", kAnnotated,
       "loop k of C already carries an annotation", kGpu},
      {kMatmul, "pipeline D j", "bind D j thread_x", kAnnotated,
       "loop j of D already carries an annotation", kGpu},
      {kMatmul, "pipeline C k", "cache_write C local", kLoopsTransformed,
       "C already has loop steps; layout steps and cache_write come before them", kGpu},

      {kMatmul, "compute_at C D i", "set_scope C shared", kBadScope,
       "shared memory is not available for C"},
      {kMatmul, "", "set_scope C shared", kBadScope, "shared memory is not available for C", kGpu},
      {kMatmul, "compute_at C D i", "set_scope C global", kBadScope,
       "global memory is not available for C", kGpu},
      {kMatmul, "", "set_scope D shared", kIsOutput, "D is an output: it stays at the root", kGpu},
      {kMatmul, "", "set_scope A shared", kPlaceholder, "A is an input: it has no loops", kGpu},
      {kMatmul,
       "fuse D [i, j]\nsplit D i@j [4]\nbind D i@j.0 block_x\nbind D i@j.1 thread_x\n"
       "compute_at C D i@j.1",
       "set_scope C shared", kInexactRegion,
       "the part of C that loop i@j.1 of D needs is not a box", kGpu},

      {kMatmul, "", "compute_at D C i", kIsOutput, "D is an output: it stays at the root"},
      {kMatmul, "", "compute_at C C i", kCyclicAttach, "attaching C to C would make a cycle"},
      {kChain, "compute_at B C i", "compute_at C B j", kCyclicAttach,
       "attaching C to B would make a cycle"},
      {kChain, "", "compute_at B D i", kNotAConsumer,
       "loop i of D does not enclose every reader of B"},
      {kMatmul, "vectorize D j", "compute_at C D j", kInsideVector,
       "loop j of D lies inside a vectorised loop, where nothing can be attached"},
      {kMatmul, "parallel C i\nparallel D i", "compute_at C D i", kNestedParallel,
       "loop i of C lies inside or around another parallel loop"},
      {kMatmul, "fuse D [i, j]\nsplit D i@j [4]", "compute_at C D i@j.0", kInexactRegion,
       "the part of C that loop i@j.0 of D needs is not a box"},
      {kChain, "compute_at C D j\ncompute_at B D j", "compute_at C D i", kNotAConsumer,
       "loop j of D does not enclose every reader of B"},
      {kChain, "compute_inline C", "compute_at B C i", kInlined, "C is inlined: it has no loops"},

      {kMatmul, "", "compute_inline C", kHasReduction, "C has a reduction and cannot be inlined"},
      {kChain, "compute_at B C i", "compute_inline C", kAttached,
       "loop i of C has another stage attached to it"},
      {kChain, "layout_pad B 1 0 3", "compute_inline B", kZerosInlined,
       "B stores zeros around its elements and cannot be inlined"},
      {doubling(12), inline_all(10), "compute_inline T11", kInlineTooLarge,
       "inlining T11 makes the body of T12 12291 terms long; the limit is 10000"},
      {kMatmul, "", "compute_root A", kPlaceholder, "A is an input: it has no loops"},
      {kChain, "compute_at C D j\ncompute_at B D j", "compute_root C", kNotAConsumer,
       "loop j of D does not enclose every reader of B"},

      {kMatmul, "", "cache_write C shared", kBadScope, "shared memory is not available for C"},
      {kMatmul, "split C i [2]", "cache_write C local", kLoopsTransformed,
       "C already has loop steps; layout steps and cache_write come before them"},
      {kMatmul, "decompose_init C i", "cache_write C local", kLoopsTransformed,
       "C already has loop steps; layout steps and cache_write come before them"},
      {kMatmul, "compute_at C D i", "cache_write D local", kAttached,
       "loop i of D has another stage attached to it"},
      {kMatmul, "", "cache_read A [C] shared", kBadScope, "shared memory is not available for A"},
      {kMatmul, "", "cache_read A [D] local", kNotAReader, "D does not read A"},
      {kUnused, "", "cache_read U [] local", kNoReaders, "nothing reads U"},
      {kMatmul, "compute_at C D i", "cache_read C [D] local", kIsAttached,
       "C is attached to loop i of D: it is whole nowhere"},
      {kDense, "layout_store_at b W 0", "cache_read b [Z] local", kNotStored,
       "b is stored inside another tensor"},
      {kChain, "compute_inline B", "cache_read B [C] local", kInlined,
       "B is inlined: it has no loops"},

      {kMatmul, "", "rfactor D i 0", kNoReduction, "D has no reduction"},
      {kMatmul, "", "rfactor C i 0", kNotReductionLoop, "loop i of C is not a reduction loop"},
      {kMatmul, "", "rfactor C k 3", kNoSuchDim, "the layout of C has no dimension 3"},
      {kMatmul, "cache_read A [C] local\ncompute_at A.read C i", "rfactor C k 0", kAttached,
       "loop i of C has another stage attached to it"},
      {kMatmul, "cache_read A [C] local\ncompute_at C D i\ncompute_at A.read D i", "rfactor C k 0",
       kNotAConsumer, "loop i of D does not enclose every reader of A.read"},
      {kHuge, "", "rfactor C k 0", kTensorTooLarge,
       "factoring C would make a tensor of more than 1099511627775 elements"},
      {kMatmul, "", "decompose_init D i", kNoReduction, "D has no reduction"},
      {kMatmul, "reorder C [k, j]", "decompose_init C j", kBadInitLoop,
       "the initial value of C cannot be set at loop j: a reduction loop lies outside it"},

      {kChain, "", "storage_align D 0 16 8", kIsOutput, "D is an output: it stays at the root"},
      {kChain, "", "storage_align B 1 16 8", kNoSuchDim, "the layout of B has no dimension 1"},
      {kChain, "", "storage_align B 0 16 16", kBadLayout,
       "the arguments do not fit how B is stored"},
      {kMatmul, "", "prefetch D i A 4", kNotAReader, "D does not read A"},
      {kMatmul, "", "prefetch C k %7 4", kNoSuchStage, "there is no stage 7"},
      {kMatmul, "", "prefetch C k A 0", kBadFactor, "factor 0 for loop k of C is not in 1..4096"},
      {kMatmul, "compute_at C D i", "prefetch D j C 4", kIsAttached,
       "C is attached to loop i of D: it is whole nowhere"},
      {kMatmul, "prefetch D j C 4", "compute_at C D i", kAttached,
       "loop j of D has another stage attached to it"},
      {kMatmul, "unroll C k", "prefetch C k A 4", kAnnotated,
       "loop k of C already carries an annotation"},

      {kMatmul, "", "tensorize D i j dot_u8i8", kNoReduction, "D has no reduction"},
      {kBytes, "", "tensorize C i j dot_u8i8", kNotReductionLoop,
       "loop j of C is not a reduction loop"},
      {kOnes, "", "tensorize C j k dot_u8i8", kBadLanes,
       "loop j of C has 1 iterations; a vector holds 2 to 64"},
      {kBytes, "split C k [4]", "tensorize C i k.1 dot_u8i8", kNotInLanes,
       "loop k.1 of C must be the innermost one, inside the loop of the lanes, to be tensorised"},
      {kBytes, "split C k [4]\nreorder C [i, j, k.1, k.0]", "tensorize C j k.1 dot_u8i8",
       kNotInLanes,
       "loop k.1 of C must be the innermost one, inside the loop of the lanes, to be tensorised"},
      {kBytes, std::string(kPackedBytes) + "unroll C k.1", "tensorize C j k.1 dot_u8i8", kAnnotated,
       "loop k.1 of C already carries an annotation"},
      {kBytes, std::string(kPackedBytes) + "cache_read A [C] local\ncompute_at A.read C k.1",
       "tensorize C j k.1 dot_u8i8", kAttached, "loop k.1 of C has another stage attached to it"},
      {kNoDots, "", "tensorize C j k dot_i8i8", kNotProducts, "C is not a sum of products"},
      {kNoDots, "", "tensorize M j k dot_i8i8", kNotProducts, "M is not a sum of products"},
      {kNoDots, "", "tensorize F j k dot_i8i8", kBadIntrinsic,
       "F does not multiply what dot_i8i8 takes"},
      {kNoDots, "", "tensorize L j k dot_i8i8", kBadIntrinsic,
       "L does not multiply what dot_i8i8 takes"},
      {kBytes, kPackedBytes, "tensorize C j k.1 dot_bf16bf16", kBadIntrinsic,
       "C does not multiply what dot_bf16bf16 takes"},
      {kBytes, "", "tensorize C j k dot_u8i8", kBadGroup,
       "loop k of C has 10 iterations; the intrinsic combines 4"},
      {kBytes, "split C k [4]\nreorder C [i, k.0, j, k.1]", "tensorize C j k.1 dot_u8i8",
       kNotPacked,
       "B does not store the 4 elements of each lane side by side, as loop k.1 of C needs"},
      {kBytes, std::string(kPackedBytes) + "layout_reorder A [1, 0]", "tensorize C j k.1 dot_u8i8",
       kNotPacked,
       "A does not store the 4 elements of each lane side by side, as loop k.1 of C needs"},
      {kBytes, std::string(kPackedBytes) + "tensorize C j k.1 dot_u8i8", "reorder C [k.1, j]",
       kNotInLanes,
       "loop k.1 of C must be the innermost one, inside the loop of the lanes, to be tensorised"},
      {kBytes, std::string(kPackedBytes) + "tensorize C j k.1 dot_u8i8", "reorder C [j, k.0]",
       kNotInnermost, "loop j of C must have no serial loop inside to be vectorised"},
      {kBytes, std::string(kPackedBytes) + "tensorize C j k.1 dot_u8i8", "prefetch C k.1 A 4",
       kAnnotated, "loop k.1 of C already carries an annotation"},
      {kBytes, std::string(kPackedBytes) + "tensorize C j k.1 dot_u8i8",
       "tensorize C j k.1 dot_u8i8", kAnnotated, "loop j of C already carries an annotation"},

      {kMatmul, "", "variant C winograd2", kBadVariant, "C cannot be computed by winograd2"},
      {kMatmul, "", "variant A winograd2", kPlaceholder, "A is an input: it has no loops"},
      {kConv, "", "variant P winograd4", kBadVariant, "P cannot be computed by winograd4"},
      {kFilters, "variant C winograd2", "variant C winograd2", kBadVariant,
       "C cannot be computed by winograd2"},
      {kFilters, "split C x [2]", "variant C winograd2", kLoopsTransformed,
       "C already has loop steps; layout steps and cache_write come before them"},
      {kFilters, "layout_reorder D [0, 1, 2, 4, 3]", "variant D winograd2", kLoopsTransformed,
       "D already has loop steps; layout steps and cache_write come before them"},
      {kFilters, "layout_reorder W [1, 0, 2]", "variant C winograd4", kBadVariant,
       "C cannot be computed by winograd4"},
      {kFilters, "", "variant C polyphase2", kBadVariant, "C cannot be computed by polyphase2"},
      {kMatmul, "", "variant C im2col", kBadVariant, "C cannot be computed by im2col"},
      {kWindows, "variant C im2col", "variant C im2col", kBadVariant,
       "C cannot be computed by im2col"},
      {kFilters, "", "variant C phases", kBadVariant, "C cannot be computed by phases"},
      {kWindows, "", "variant C phases", kBadVariant, "C cannot be computed by phases"},
      {kBytes, "", "variant C bfloat16", kBadVariant, "C cannot be computed by bfloat16"},
      {kMatmul, "", "variant D strassen", kBadVariant, "D cannot be computed by strassen"},
      {kConv, "", "variant Y strassen", kBadVariant, "Y cannot be computed by strassen"},
      {kNorm, "", "variant R strassen", kBadVariant, "R cannot be computed by strassen"},
      {kOnes, "", "variant C strassen", kBadVariant, "C cannot be computed by strassen"},
      {kBytes, "", "variant C strassen", kBadVariant, "C cannot be computed by strassen"},
      {kProducts, "variant C strassen", "variant C strassen", kBadVariant,
       "C cannot be computed by strassen"},
      {kNorm, "", "variant R gemm", kBadVariant, "R cannot be computed by gemm"},
      {kChain, "", "variant B gemm", kBadVariant, "B cannot be computed by gemm"},
      {kBytes, "", "variant C gemm", kBadVariant, "C cannot be computed by gemm"},
      {kProducts, "variant C gemm", "variant C gemm", kBadVariant, "C cannot be computed by gemm"},
      {kProducts, "layout_reorder U [1, 0, 2, 3]", "variant D strassen", kBadVariant,
       "D cannot be computed by strassen"},
      {kProducts, "split C i [2]", "variant C strassen", kLoopsTransformed,
       "C already has loop steps; layout steps and cache_write come before them"},

      // Layouts.
      {kMatmul, "", "layout_split %9 0 [2, 2]", kNoSuchStage, "there is no stage 9"},
      {kMatmul, "", "layout_split A 2 [2, 2]", kNoSuchDim, "the layout of A has no dimension 2"},
      {kMatmul, "", "layout_split A 0 [2, 3]", kBadLayout,
       "the arguments do not fit how A is stored"},
      {kMatmul, "", "layout_split A 0 [7, 7]", kLayoutGrowth,
       "the layout of A would store 7 times its elements; the limit is 4"},
      {kMatmul, "split C i [2]", "layout_split C 0 [4, 2]", kLoopsTransformed,
       "C already has loop steps; layout steps and cache_write come before them"},
      {kMatmul, "compute_at C D i", "layout_split D 0 [4, 2]", kAttached,
       "loop i of D has another stage attached to it"},
      {kChain, "compute_inline B", "layout_split B 0 [5, 1]", kInlined,
       "B is inlined: it has no loops"},
      {kMatmul, "", "layout_reorder A [0]", kBadLayout, "the arguments do not fit how A is stored"},
      {kMatmul, "", "layout_reorder A [0, 0]", kBadLayout,
       "the arguments do not fit how A is stored"},
      {kChain, "storage_align B 0 16 8", "layout_reorder B [1, 0]", kLoopsTransformed,
       "B already has loop steps; layout steps and cache_write come before them"},
      {kMatmul, "", "layout_fuse A 1 2", kBadLayout, "the arguments do not fit how A is stored"},
      {kMatmul, "", "layout_fuse A -1 2", kNoSuchDim, "the layout of A has no dimension -1"},
      {kMatmul, "", "layout_pad C 0 1 1", kPadReduction,
       "C reduces: its padding would not hold zero; pad a copy of it instead"},
      {kMatmul, "", "layout_pad A 0 -1 1", kBadLayout, "the arguments do not fit how A is stored"},
      {kMatmul, "", "layout_pad A 0 0 100", kLayoutGrowth,
       "the layout of A would store 16 times its elements; the limit is 4"},
      {kConv, "", "layout_unfold P 1 4 3", kNotSliding,
       "Y does not read P by a sliding window that fits these tiles"},
      {kConv, "", "layout_unfold Y 1 4 2", kWrittenTwice,
       "Y reduces: its elements cannot be stored more than once"},
      {kConv, "", "layout_unfold P 1 2 3", kBadLayout, "the arguments do not fit how P is stored"},
      {kDense, "", "layout_store_at b X 0", kNotAGuest,
       "b does not fit into X as one more slab of dimension 0"},
      {kDense, "", "layout_store_at b W 1", kNotAGuest,
       "b does not fit into W as one more slab of dimension 1"},
      {kDense, "layout_store_at b W 0", "layout_store_at b W 0", kNotAGuest,
       "b does not fit into W as one more slab of dimension 0"},
      {kDense, "layout_store_at b W 0", "layout_pad b 0 1 1", kNotStored,
       "b is stored inside another tensor"},
  };
}

std::vector<RefusedCase> refused_programs() {
  return {
      {kBytes,
       "cache_read A [C] register\n" + std::string(kPackedBytes) +
           "compute_at A.read C i\nunroll A.read d0\nvectorize A.read d1\n"
           "tensorize C j k.1 dot_u8i8\nunroll C k.0",
       "", kRegisterDynamic,
       "A.read is in registers, but loop k.1 of C indexes it and is not unrolled or vectorised"},
      {kMatmul, "cache_write C register", "", kRegisterRoot,
       "C.cache is in registers and must be attached to a loop"},
      {kMatmul, "cache_write C register\ncompute_inline C\ncompute_at C.cache D i\nvectorize D j",
       "", kRegisterDynamic,
       "C.cache is in registers, but loop j of C.cache indexes it and is not unrolled or "
       "vectorised"},
      {kProduct, tile(3), "", kRegisterDynamic,
       "C.cache is in registers, but loop i.1 of D indexes it and is not unrolled or vectorised"},
      {kChain,
       "cache_write B register\ncompute_inline B\nsplit D i [3]\ncompute_at C D i.1\n"
       "compute_at B.cache D i.0\nunroll B.cache i\nvectorize B.cache j\nvectorize C j",
       "", kRegisterDynamic,
       "B.cache is in registers, but loop i.1 of D indexes it and is not unrolled or vectorised"},
      {kGather,
       "cache_write B register\ncompute_inline B\ncompute_at B.cache C n\nunroll B.cache i\n"
       "vectorize B.cache j\nvectorize C j",
       "", kRegisterGather, "B.cache is in registers, but C indexes it by what it reads elsewhere"},
      {kTurned,
       "cache_write B register\ncompute_inline B\nfuse C [i, j]\nsplit C i@j [6]\n"
       "compute_at B.cache C i@j.0\nunroll B.cache i\nunroll B.cache j\nvectorize C i@j.1",
       "", kRegisterLanes,
       "B.cache is in registers, where the lanes of loop i@j.1 of C would not be neighbours"},
      {kProduct, tile(7) + "unroll D i.1", "", kRegisterPressure,
       "the tile of C.cache needs 17 vector registers; the target has 16"},
      {kProduct, tile(3) + "parallel D i.1", "", kRegisterShared,
       "C.cache is in registers, which parallel loop i.1 of D would share"},
      {kLarge, "compute_at B C n", "", kLocalTooLarge,
       "B needs 4000000 bytes inside a loop; the limit is 1048576"},
      {kLarge, "compute_at B C n\nunroll B i\nunroll B j", "", kUnrollTooLarge,
       "unrolling loop i of B makes 1000000 copies; the limit is 4096"},
      {kLarge, "compute_at B C n\nvectorize B j", "", kBadLanes,
       "loop j of B has 1000 iterations; a vector holds 2 to 64"},
      {kMatmul, "compute_at C D j\nfuse D [i, j]\nsplit D i@j [4]\nreorder D [i@j.1, i@j.0]", "",
       kInexactRegion, "the part of C that loop i@j.1 of D needs is not a box"},

      // Kernels.
      {kMatmul, "compute_at C D i\nbind D i thread_x\nbind D j block_x", "", kBlockInside,
       "loop j of D is bound to blocks, but another loop or stage stands before it", kGpu},
      {kMatmul, "compute_at C D i\nbind D i block_x\nbind D j block_y", "", kBlockInside,
       "loop j of D is bound to blocks, but another loop or stage stands before it", kGpu},
      {kMatmul, "compute_at C D i\nbind D i thread_x\nbind C j block_x", "", kBlockInside,
       "loop j of C is bound to blocks, but another loop or stage stands before it", kGpu},
      {kMatmul, "bind D j thread_x", "", kUnboundKernel,
       "loop i of D is the outermost of a kernel with threads; bind it to blocks or to threads",
       kGpu},
      {kMatmul, "compute_at C D i\nset_scope C shared", "", kUnboundKernel,
       "loop i of D is the outermost of a kernel with threads; bind it to blocks or to threads",
       kGpu},
      {kMatmul, "compute_at C D i\nset_scope C shared\nbind D i block_x\nbind D j thread_x", "",
       kThreadsMissing, "C is written by several threads, which its loops do not tell apart", kGpu},
      {kMatmul, "compute_at C D j\nset_scope C shared\nbind D i block_x\nbind D j thread_x", "",
       kThreadsMissing, "C is written by several threads, which its loops do not tell apart", kGpu},
      {kChain,
       "bind D i block_x\nbind D j vthread\ncompute_at C D j\nset_scope C shared\n"
       "compute_at B D j",
       "", kThreadsOwn, "B belongs to one thread, and loop j of D runs in several", kGpu},
      {kLong, "bind C i thread_y\nbind C j thread_x", "", kTooManyThreads,
       "C needs 2000 threads in a block; the target has 1024", kGpu},
      {kHuge, "bind C i block_y", "", kTooManyBlocks,
       "C needs 1048576 blocks along one dimension; the target has 65535", kGpu},
      {kMatmul,
       "cache_read A [C] shared\nbind D i block_x\nsplit D j [4]\nbind D j.1 thread_x\n"
       "compute_at C D j.1\ncompute_at A.read D j.1\nbind A.read d1 thread_x",
       "", kMoreThreads, "loop j.1 of D has 4 threads, but a loop inside it needs 5", kGpu},
      {kChain,
       "bind D i block_x\nbind D j thread_x\ncompute_at C D i\nset_scope C shared\n"
       "split C j [5]\nbind C j.0 thread_x\ncompute_at B C j.0\nset_scope B shared\n"
       "split B j [3]\nbind B j.1 thread_x",
       "", kSomeThreads,
       "B is shared by all threads of a block, but only 3 of 13 run loop j.0 of C", kGpu},
      {kLarge,
       "split C i [50]\nbind C n block_y\nbind C i.0 block_x\ncompute_at B C i.0\n"
       "set_scope B shared",
       "", kSharedTooLarge,
       "C needs 200000 bytes of shared memory in a block; the target has 101376", kGpu},
      {kLarge,
       "split C i [20]\nbind C n block_y\nbind C i.0 block_x\ncompute_at B C i.0\n"
       "set_scope B shared\nstorage_align B 1 2048 0",
       "", kSharedTooLarge,
       "C needs 159648 bytes of shared memory in a block; the target has 101376", kGpu},
      {kLarge,
       "cache_write C register\nsplit C j [250]\nbind C n block_x\ncompute_at C.cache C j.0\n"
       "unroll C.cache j\nunroll C j.1",
       "", kThreadRegisters, "C keeps 250 registers in each thread; the limit is 200", kGpu},
      {kMatmul, "bind D i block_x\nbind D j thread_x\ncompute_at C D j\npipeline C k", "",
       kNothingAhead, "loop k of C is pipelined, but nothing in shared memory is attached to it",
       kGpu},
      {kChain,
       "split D i [2]\nbind D i.0 block_x\nbind D j thread_x\npipeline D i.1\n"
       "compute_at C D i.1\nset_scope C shared\nbind C j thread_x\n"
       "compute_at B D i.1\nset_scope B shared\nbind B j thread_x",
       "", kNotAhead, "C is fetched one iteration ahead, but reads B, which is not there before",
       kGpu},
      {kMatmul, "bind D i block_x\nbind D j thread_x\ncompute_at C D i", "", kThreadsOwn,
       "C belongs to one thread, and loop j of D runs in several", kGpu},
      {kMatmul, "bind D i block_x\nbind D j vthread\ncompute_at C D i", "", kThreadsOwn,
       "C belongs to one thread, and loop j of D runs in several", kGpu},
      {kEights,
       "bind D i block_x\nbind D j thread_x\ncompute_at C D i\nset_scope C shared\n"
       "bind C k thread_x\nreorder C [k, i]",
       "", kCombinedInside,
       "threads combine loop k of C, so it is the innermost, outside of vectors and virtual "
       "threads",
       kGpu},
      {kEights,
       "fuse D [i, j]\nsplit D i@j [16]\nbind D i@j.0 block_x\nbind D i@j.1 thread_x\n"
       "compute_at C D i@j.1\nbind C k thread_x",
       "", kCombinedApart,
       "threads combine C together, but loop i@j.1 of D gives each of them another part of it",
       kGpu},
      {kEights,
       "fuse D [i, j]\nsplit D i@j [20]\nbind D i@j.0 block_x\nbind D i@j.1 thread_x\n"
       "compute_at C D i@j.1\nbind C k thread_x",
       "", kCombinedSome, "C is combined by 8 threads, but 20 have it as their own", kGpu},
      {kMatmul, "bind D i block_x\ncompute_at C D j\nbind C j thread_x", "", kThreadsOwn,
       "C belongs to one thread, and loop j of C runs in several", kGpu},
  };
}

}  // namespace tenon::schedule
