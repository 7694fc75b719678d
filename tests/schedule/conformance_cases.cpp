// SPDX-License-Identifier: Apache-2.0
#include "schedule/conformance_cases.h"

#include "schedule/programs.h"

namespace tenon::schedule {

namespace {

const char* const kTwoReaders = R"(
input A: f32[4, 9]
B[i: 4, j: 9] = A[i, j] + 1.0
S[i: 4] = max(k: 9) B[i, k]
D[i: 4, j: 9] = B[i, j] - S[i]
output D
)";
const char* const kIntegers = R"(
input A: i32[5, 12]
input L: i64[5, 12]
C[i: 5] = sum(k: 12) A[i, k] * 3 + 1
M[i: 5] = sum(k: 12) L[i, k] * 2 - 3
P[i: 5] = prod(k: 12) L[i, k] * 2
output C
output M
output P
)";
const char* const kSame = R"(
input A: f32[5]
C[i: 5] = sum(k: 8) A[i]
output C
)";
// An index and a body that must not be computed on padding.
const char* const kDivide = R"(
C[i: 4] = i32(8) // i32(4 - i)
output C
)";
// Two axes whose parts would share a name.
const char* const kNames = R"(
input A: f32[4, 6]
C[k: 4, k_0: 6] = A[k, k_0] + 1.0
output C
)";

const char* const kNarrow = R"(
input A: i8[3, 8]
input B: u8[8, 5]
input X: i16[7, 6]
input Y: bf16[5, 4]
const W: bf16[4, 9]
C[i: 3, j: 5] = sum(k: 8) i32(A[i, k]) * i32(B[k, j])
P[i: 3, j: 3] = sum(k: 8) i32(A[i, k]) * i32(A[j, k])
Q[i: 5, j: 5] = sum(k: 8) i32(B[k, i]) * i32(B[k, j])
S[i: 7] = sum(k: 6) i32(X[i, k]) * i32(X[0, k])
M[i: 5, j: 9] = sum(k: 4) f32(Y[i, k]) * f32(W[k, j])
output C
output P
output Q
output S
output M
)";
const std::string kBytesTile = R"(
cache_write C register
compute_inline C
split D j [4]
vectorize D j.1
compute_at C.cache D j.0
layout_split B 0 [3, 4]
layout_reorder B [0, 2, 1]
split C.cache k [4]
reorder C.cache [k.0, i, j, k.1]
)";

// Threads of a block fetch what each step of a sum reads.
const std::string kFetched = R"(
cache_read A [C] shared
bind D i block_x
split D j [4]
bind D j.1 thread_x
compute_at C D j.1
split C k [2]
compute_at A.read C k.0
bind A.read d1 thread_x
)";

const std::string kTile = R"(
cache_write C register
compute_inline C
split D i [3]
compute_at C.cache D i.0
reorder C.cache [k, i, j]
unroll C.cache i
vectorize C.cache j
unroll D i.1
)";

}  // namespace

std::vector<AppliedCase> applied_cases() {
  return {
      {kMatmul, "", "split D j [4]"},
      {kMatmul, "", "split D j [11]"},
      {kMatmul, "", "split D i [1]"},
      {kMatmul, "", "split C k [2, 2]"},
      {kMatmul, "", "split D j [3] parts"},
      {kMatmul, "", "split D j [11] parts"},
      {kMatmul, "split D j [4] parts", "split D j.1 [2]"},
      {kMatmul, "split D j [4]", "split D j.1 [3] parts"},
      {kMatmul, "split D j [2] parts\ncompute_at C D j.0", "split C j [4]"},
      {kMatmul, "compute_at C D i", "split D i [3]"},
      {kOnes, "", "split C i [1]"},
      {kNorm, "", "split R k [4]"},
      {kNames, "layout_split C 0 [2, 2]", "split C k_0 [4]"},

      {kMatmul, "", "fuse D [i, j]"},
      {kMatmul, "split D i [4]\nsplit D j [3]", "fuse D [i.1, j.0, j.1]"},
      {kMatmul, "split D j [4] parts", "fuse D [i, j.0]"},
      {kMatmul, "split D i [2] parts", "fuse D [i.0, i.1]"},
      {kConv, "", "fuse Y [c, r]"},
      {kConv, "split Y r [2]", "fuse Y [c, r.0]"},
      {kMatmul, "compute_at C D j", "fuse D [i, j]"},
      {kMatmul, "compute_at C D j\nfuse D [i, j]", "fuse C [i, j]"},

      {kMatmul, "", "reorder C [k, i]"},
      {kMatmul, "", "reorder C [k, j, i]"},
      {kMatmul, "split C k [2]\nsplit C i [3]", "reorder C [k.0, i.1, j]"},
      {kMatmul, "compute_at C D i", "reorder D [j, i]"},
      {kMatmul, "unroll C k\nvectorize C j", "reorder C [k, j]"},
      {kConv, "compute_at P Y x\ncompute_at Y Z x", "reorder Z [x, k]"},

      {kMatmul, "", "parallel C j"},
      {kMatmul, "split D i [3] parts\ncompute_at C D i.0", "parallel D i.0"},
      {kMatmul, "reorder C [k, i, j]", "parallel C i"},
      {kMatmul, "compute_at C D i", "parallel C j"},
      {kOnes, "", "parallel C i"},

      {kMatmul, "", "vectorize D j"},
      {kMatmul, "split D j [4]", "vectorize D j.1"},
      {kMatmul, "split D j [3] parts", "vectorize D j.1"},
      {kMatmul, "", "vectorize C k"},
      {kMatmul, "split C k [2]", "vectorize C k.1"},
      {kMatmul, "reorder C [k, i, j]", "vectorize C j"},
      {kMatmul, "unroll C k", "vectorize C j"},
      {kConv, "", "vectorize Y r"},
      {kConv, "", "vectorize P y"},
      {kNorm, "", "vectorize R k"},
      {kNorm, "", "vectorize S i"},
      {kSame, "", "vectorize C k"},
      {kSame, "split C k [3]", "vectorize C k.1"},
      {kIntegers, "", "vectorize C k"},
      {kIntegers, "", "vectorize M k"},
      {kIntegers, "split P k [5]", "vectorize P k.1"},
      {kGather, "", "vectorize C j"},
      {kGather, "reorder C [j, n]", "vectorize C n"},
      {kMatmul, "prefetch D j C 3", "vectorize D j"},

      {kMatmul, "", "unroll C k"},
      {kMatmul, "split C k [2]", "unroll C k.1"},
      {kMatmul, "split D j [2] parts", "unroll D j.0"},
      {kMatmul, "compute_at C D i", "unroll D i"},
      {kOnes, "", "unroll C k"},

      {kMatmul, "", "pragma_unroll C 16"},
      {kMatmul, "", "pragma_unroll C 0"},
      {kMatmul, "split C k [2]", "pragma_unroll C 64"},
      {kMatmul, "compute_at C D i", "pragma_unroll C 512"},
      {kNorm, "", "pragma_unroll S 512"},

      {kChain, "compute_inline B\ncompute_inline C", "bind D i block_x", kGpu},
      {kChain, "compute_inline B\ncompute_inline C\nbind D i block_z", "bind D j thread_y", kGpu},
      {kMatmul, "fuse D [i, j]\nsplit D i@j [8]\nbind D i@j.0 block_x\ncompute_at C D i@j.1",
       "bind D i@j.1 thread_x", kGpu},
      {kMatmul, "compute_at C D j\nbind D i block_x", "bind D j vthread", kGpu},
      {kMatmul,
       "split C k [4]\nrfactor C k.1 2\nbind D i block_x\nsplit D j [4]\nreorder D [i, j.0, j.1]\n"
       "bind D j.1 thread_x\ncompute_at C D i\nset_scope C shared\ncompute_at C.rf C k.1",
       "bind C k.1 thread_x", kGpu},
      {kMatmul,
       "cache_read A [C] shared\nbind D i block_x\nsplit D j [2, 2]\nbind D j.2 thread_x\n"
       "compute_at C D j.2\nsplit C k [2]\ncompute_at A.read C k.0\nbind A.read d1 thread_x",
       "bind D j.1 vthread", kGpu},
      {kChain, "compute_inline C\nbind D i block_x\nbind D j vthread\ncompute_at B D j",
       "set_scope B shared", kGpu},
      {kMatmul,
       "compute_at C D i\nset_scope C shared\nbind D i block_x\nsplit D j [4]\nbind D j.1 thread_x",
       "bind C j thread_x", kGpu},

      {kMatmul, "compute_at C D i", "set_scope C local"},
      {kMatmul, "compute_at C D i\nbind D i block_x\nbind D j thread_x\nbind C j thread_x",
       "set_scope C shared", kGpu},
      {kChain,
       "compute_inline C\nsplit D i [2]\nbind D i.0 block_x\nbind D i.1 thread_y\n"
       "bind D j thread_x\ncompute_at B D i.0\nbind B i thread_y\nbind B j thread_x",
       "set_scope B shared", kGpu},
      {kConv,
       "compute_at Y Z k\nset_scope Y shared\ncompute_at P Z k\nbind Z k block_x\n"
       "bind Z x thread_x\nbind Y x thread_x\nsplit P y [4]\nbind P y.1 thread_x",
       "set_scope P shared", kGpu},

      {kMatmul, kFetched, "pipeline C k.0", kGpu},
      {kMatmul, kFetched + "pipeline C k.0\n", "storage_align A.read 0 8 3", kGpu},
      {kMatmul,
       "pipeline C k\nbind D i block_x\nbind D j thread_x\ncompute_at C D j\n"
       "cache_read A [C] shared\nbind A.read d1 thread_x",
       "compute_at A.read C k", kGpu},
      {kChain,
       "compute_inline B\ncompute_inline C\ncache_read A [D] shared\nsplit D i [2]\n"
       "bind D i.0 block_x\nbind D j thread_x\ncompute_at A.read D i.1\nbind A.read d1 thread_x",
       "pipeline D i.1", kGpu},
      {kConv,
       "bind Z k block_x\nbind Z x thread_x\ncompute_at Y Z x\ncompute_at P Y c\n"
       "set_scope P shared\nsplit P y [4]\nbind P y.1 thread_x",
       "pipeline Y c", kGpu},

      {kMatmul, "", "compute_at C D i"},
      {kMatmul, "", "compute_at C D j"},
      {kMatmul, "split D j [4]", "compute_at C D j.0"},
      {kMatmul, "split D j [4] parts", "compute_at C D j.0"},
      {kMatmul, "fuse D [i, j]", "compute_at C D i@j"},
      {kConv, "", "compute_at P Y k"},
      {kConv, "", "compute_at P Y x"},
      {kConv, "split Y x [2]", "compute_at P Y x.0"},
      {kConv, "split Y x [2] parts", "compute_at P Y x.0"},
      {kConv, "reorder Y [c, x, r]", "compute_at P Y r"},
      {kConv, "compute_at Y Z x", "compute_at P Z x"},
      {kConv, "compute_at Y Z x", "compute_at P Y c"},
      {kGather, "", "compute_at B C n"},
      {kTwoReaders, "compute_at S D i", "compute_at B D i"},
      {kMatmul, "compute_at C D i", "compute_at C D j"},
      {kMatmul, "cache_read A [C] local\ncompute_at C D i", "compute_at A.read C k"},

      {kChain, "", "compute_inline B"},
      {kChain, "compute_inline C", "compute_inline B"},
      {kConv, "", "compute_inline P"},
      {kGather, "", "compute_inline B"},
      {kTwoReaders, "", "compute_inline B"},
      {kChain, "compute_at B C i\ncompute_root B", "compute_inline C"},
      {kChain, "layout_reorder B [1, 0]", "compute_inline B"},
      {kChain, "layout_split B 1 [4, 4]", "compute_inline B"},

      {kChain, "", "compute_root B"},
      {kChain, "compute_at C D j", "compute_root C"},
      {kChain, "compute_at B C i\ncompute_at C D i", "compute_root C"},

      {kMatmul, "", "cache_write C local"},
      {kMatmul, "", "cache_write D global"},
      {kMatmul, "cache_write C local", "cache_write C local"},
      {kMatmul, "layout_split C 1 [3, 4]", "cache_write C local"},
      {kChain, "layout_pad B 1 2 1", "cache_write B local"},
      {kNorm, "", "cache_write S local"},
      {kMatmul, "", "cache_write D shared", kGpu},

      {kMatmul, "", "cache_read A [C] local"},
      {kMatmul, "", "cache_read C [] global"},
      {kMatmul, "compute_at C D j\nbind D i block_x\nbind D j thread_x", "cache_read A [C] shared",
       kGpu},
      {kTwoReaders, "", "cache_read B [S] local"},
      {kTwoReaders, "cache_read B [S] local", "cache_read B [D, B.read] local"},
      {kMatmul, "layout_split A 0 [4, 2]", "cache_read A [C] local"},
      {kChain, "layout_pad B 1 2 1", "cache_read B [C] local"},
      {kDense, "layout_store_at b W 0", "cache_read W [Y, Z] local"},

      {kMatmul, "", "rfactor C k 0"},
      {kMatmul, "split C k [2]", "rfactor C k.1 2"},
      {kMatmul, "split C k [2]", "rfactor C k.0 1"},
      {kMatmul, "split C k [3] parts", "rfactor C k.1 0"},
      {kConv, "fuse Y [c, r]\nsplit Y c@r [4]", "rfactor Y c@r.1 0"},
      {kConv, "", "rfactor Y r 2"},
      {kNorm, "split S i [2]", "rfactor S i.1 0"},
      {kMatmul, "layout_split C 0 [2, 4]", "rfactor C k 1"},
      {kMatmul, "split C i [2]\nparallel C i.0", "rfactor C k 0"},
      {kMatmul, "compute_at C D i", "rfactor C k 0"},
      {kIntegers, "split M k [5]", "rfactor M k.1 1"},

      {kMatmul, "", "decompose_init C i"},
      {kMatmul, "", "decompose_init C j"},
      {kMatmul, "", "decompose_init C k"},
      {kMatmul, "split C i [3]\nvectorize C k", "decompose_init C i.1"},
      {kNorm, "", "decompose_init S i"},
      {kMatmul, "compute_at C D i", "decompose_init C i"},

      {kChain, "", "storage_align B 0 16 8"},
      {kChain, "", "storage_align B 0 4096 4095"},
      {kChain, "compute_at B C i", "storage_align B 0 4 3"},
      {kChain, "layout_split B 1 [4, 4]", "storage_align B 1 8 1"},

      {kMatmul, "", "prefetch C k A 2"},
      {kMatmul, "split C j [4]", "prefetch C i B 1"},
      {kMatmul, "prefetch C k A 2", "prefetch C k B 4096"},
      {kMatmul, "split C j [4]\nreorder C [i, j.0, k, j.1]\nunroll C j.1", "prefetch C k B 2"},
      {kMatmul, "reorder C [i, k, j]\nunroll C j", "prefetch C k B 2"},
      {kConv, "compute_inline P", "prefetch Y x X 1"},

      {kMatmul, "", "layout_split A 0 [4, 2]"},
      {kMatmul, "", "layout_split C 1 [3, 4]"},
      {kMatmul, "", "layout_split D 1 [2, 2, 3]"},
      {kMatmul, "layout_split D 1 [3, 4]", "layout_split D 2 [3, 2]"},
      {kMatmul, "compute_at C D i", "layout_split A 1 [2, 4]"},
      {kDivide, "", "layout_split C 0 [2, 3]"},
      {kNames, "", "layout_split C 0 [2, 2]"},
      {kGather, "", "layout_split B 0 [3, 3]"},
      {kOnes, "", "layout_split B 0 [2, 2]"},

      {kMatmul, "", "layout_reorder A [1, 0]"},
      {kMatmul, "", "layout_reorder C [1, 0]"},
      {kMatmul, "layout_split D 1 [3, 4]", "layout_reorder D [1, 0, 2]"},
      {kNorm, "", "layout_reorder S []"},

      {kMatmul, "", "layout_fuse A 0 2"},
      {kMatmul, "layout_split D 1 [3, 4]", "layout_fuse D 0 2"},
      {kMatmul, "layout_reorder C [1, 0]", "layout_fuse C 0 2"},

      {kConv, "", "layout_pad P 1 1 2"},
      {kConv, "compute_inline P", "layout_pad X 1 1 1"},
      {kConv, "compute_inline P", "layout_pad X 1 0 1"},
      {kConv, "compute_inline P\nlayout_split X 0 [2, 2]", "layout_pad X 2 1 1"},
      {kChain, "layout_split B 1 [5, 3]", "layout_pad B 2 1 0"},
      {kMatmul, "", "layout_pad D 0 0 1"},

      {kMatmul, "layout_pad A 1 0 3", "layout_swizzle A 1 0 4"},
      {kMatmul, "cache_read A [C] local\nlayout_split A.read 0 [4, 2]",
       "layout_swizzle A.read 1 2 2"},
      {kMatmul, "layout_split D 1 [6, 2]", "layout_swizzle D 2 0 2"},
      {kConv, "split Y x [2]", "layout_unfold P 1 5 4"},
      {kConv, "", "layout_unfold P 1 3 2"},
      {kConv, "compute_inline P\nlayout_pad X 1 1 1", "layout_unfold X 1 5 4"},
      {kConv, "", "layout_unfold P 1 11 10"},

      {kDense, "", "layout_store_at b W 0"},
      {kDense, "cache_write Y local", "layout_store_at b W 0"},
      {kDense, "layout_store_at b W 0", "layout_split W 1 [2, 3]"},
      {kDense, "layout_store_at b W 0\nlayout_reorder W [1, 0]", "layout_pad W 1 0 2"},

      {kBytes, kPackedBytes, "tensorize C j k.1 dot_u8i8"},
      {kBytes, std::string(kPackedBytes) + "unroll C k.0", "tensorize C j k.1 dot_u8i8"},
      {kBytes, std::string(kPackedBytes) + "split C j [4]", "tensorize C j.1 k.1 dot_u8i8"},
      {kBytes, std::string(kPackedBytes) + "split C j [3] parts", "tensorize C j.1 k.1 dot_u8i8"},
      {kBytes, std::string(kPackedBytes) + "pragma_unroll C 64", "tensorize C j k.1 dot_u8i8"},
      {kBytes, std::string(kPackedBytes) + "prefetch C k.1 A 2", "tensorize C j k.1 dot_u8i8"},
      {kBytes, std::string(kPackedBytes) + "compute_at C D i", "tensorize C j k.1 dot_u8i8"},
      {kBytes, std::string(kPackedBytes) + "compute_at C D j", "tensorize C j k.1 dot_u8i8"},
      {kBytes, kBytesTile, "tensorize C.cache j k.1 dot_u8i8"},
      {kBytes, "split C k [4]\nsplit C k.0 [3]", "reorder C [k.0.1, j, k.1]"},
      {kNarrow,
       "split C k [4]\nreorder C [k.0, j, k.1]\nlayout_reorder B [1, 0]\n"
       "layout_split B 1 [2, 4]\nlayout_reorder B [1, 0, 2]",
       "tensorize C j k.1 dot_u8i8"},
      {kNarrow,
       "layout_split A 1 [2, 4]\nlayout_reorder A [1, 0, 2]\nsplit P k [4]\n"
       "reorder P [k.0, j, k.1]",
       "tensorize P j k.1 dot_i8i8"},
      {kNarrow,
       "layout_split B 0 [2, 4]\nlayout_reorder B [0, 2, 1]\nsplit Q k [4]\n"
       "reorder Q [k.0, j, k.1]",
       "tensorize Q j k.1 dot_u8u8"},
      // Lanes along the sum.
      {kNarrow, "split S k [2]", "tensorize S k.0 k.1 dot_i16i16"},
      {kNarrow,
       "layout_split W 0 [2, 2]\nlayout_reorder W [0, 2, 1]\nsplit M k [2]\n"
       "reorder M [k.0, j, k.1]",
       "tensorize M j k.1 dot_bf16bf16"},

      {kFilters, "", "variant C winograd2"},
      {kFilters, "", "variant C winograd4"},
      {kFilters, "", "variant D winograd2"},
      {kFilters, "", "variant D winograd4"},
      {kFilters, "variant C winograd2", "variant D winograd2"},
      {kFilters, "variant C winograd4", "compute_inline C.v"},
      {kFilters, "variant D winograd2\ncompute_inline D.y", "compute_at D.y1 D y"},
      {kFilters,
       "variant D winograd4\nsplit D y [4]\nsplit D x [4]\nreorder D [y.0, x.0, y.1, "
       "x.1]\ncompute_inline D.y",
       "compute_at D.y1 D x.0"},
      {kFilters, "variant D winograd4", "layout_reorder U [0, 1, 3, 2, 4]"},
      {kFilters, "variant D winograd4", "layout_split U 2 [2, 2]"},
      {kFilters, "variant D winograd2", "layout_fuse D.v 0 2"},

      {kWindows, "", "variant C polyphase2"},
      {kWindows, "", "variant C polyphase4"},
      {kWindows, "variant C polyphase4", "compute_inline C.v"},
      {kWindows, "variant C polyphase2", "layout_reorder W [0, 1, 3, 2]"},
      {kWindows, "", "variant C im2col"},
      {kWindows, "", "variant D im2col"},
      {kWindows, "variant C im2col", "layout_fuse C.p 3 3"},
      {kWindows, "variant C im2col", "layout_fuse W 1 3"},
      {kWindows, "", "variant D phases"},
      {kWindows, "variant D phases", "variant D.u im2col"},
      {kWindows, "variant D phases\nvariant D.u im2col", "compute_inline D.x"},
      {kWindows, "variant D phases", "compute_inline D.x"},
      {kWindows, "variant D phases", "layout_reorder U [1, 2, 3, 0]"},

      {kMatmul, "", "variant C bfloat16"},
      {kFilters, "", "variant D bfloat16"},
      {kFilters, "variant D bfloat16", "compute_inline D.h"},
      {kFilters, "variant D bfloat16", "layout_reorder U [1, 2, 3, 4, 0]"},
      {kMatmul, "variant C bfloat16", "compute_at C.h C i"},

      {kProducts, "", "variant C strassen"},
      {kProducts, "", "variant D strassen"},
      {kProducts, "", "variant E strassen"},
      {kMatmul, "", "variant C strassen"},
      {kProducts, "variant C strassen", "variant D strassen"},
      {kProducts, "variant C strassen", "compute_inline C.v"},
      {kProducts, "variant D strassen", "compute_inline D.y"},
      {kProducts, "variant C strassen", "layout_reorder W [0, 2, 1]"},
      {kProducts, "variant E strassen", "layout_split E.m 2 [2, 2]"},
      {kProducts, "variant D strassen", "cache_write D.m global"},
      {kProducts,
       "variant E strassen\ncompute_inline E.y\nsplit E j [4]\nsplit E i [2]\nreorder E [j.1, i.1, "
       "j.0, i.0]",
       "compute_at E.m E j.1"},
      {kProducts,
       "variant C strassen\ncompute_inline C.y\nlayout_fuse C 0 2\nsplit C b_i [8]\nsplit C b_i.1 "
       "[4]\nreorder C [b_i.1.0, j, b_i.1.1, b_i.0]\ncompute_at C.m C j",
       "compute_at C.v C b_i.1.0"},

      {kMatmul, "", "variant C gemm"},
      {kFilters, "", "variant C gemm"},
      {kFilters, "", "variant D gemm"},
      {kProducts, "", "variant C gemm"},
      {kProducts, "", "variant E gemm"},
      {kProducts, "", "variant D gemm", kGpu},
      {kWindows, "variant C gemm", "compute_inline C.y"},
      {kWindows, "variant C gemm\nsplit C.g i [4]", "compute_at C.y C.g i.0"},
      {kWindows, "variant C gemm", "layout_reorder W [2, 3, 1, 0]"},
      {kWindows, "variant D gemm", "variant C gemm"},

      // A register tile, step by step.
      {kMatmul, kTile, "vectorize D j"},
      {kMatmul, kTile + "vectorize D j\n", "parallel D i.0"},
  };
}

}  // namespace tenon::schedule
