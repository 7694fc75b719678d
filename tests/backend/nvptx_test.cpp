// SPDX-License-Identifier: Apache-2.0
// What PTX each construct becomes, and what is done with ptxas. How kernels compute is tested in tests/simt.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <regex>
#include <string>

#include "backend/backend.h"
#include "backend/element_wise.h"
#include "backend/functions.h"
#include "backend/gpu_kernels.h"
#include "backend/gpu_module.h"
#include "backend/nvptx/copy.h"
#include "backend/nvptx/multiple.h"
#include "backend/nvptx/ptxas.h"
#include "ir/build.h"
#include "support/check.h"

namespace tenon::backend {
namespace {

const target::Target& gpu(const std::string& processor) {
  for (const target::Target& t : target::gpu_targets()) {
    if (t.gpu().processor == processor) return t;
  }
  throw InternalError(processor);
}

std::string ptx_of(const ir::Function& f, const std::string& processor = "sm_90") {
  return emit(f, gpu(processor), Emit::kAssembly).bytes;
}

size_t count(const std::string& text, const std::string& pattern) {
  const std::regex r(pattern);
  return static_cast<size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), r), std::sregex_iterator()));
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

// From the label of a loop to the jump back to it.
std::string loop_body(const std::string& ptx, const std::string& name) {
  const size_t begin = ptx.find("// %" + name + ".body");
  const size_t end = ptx.find("bra", begin);
  return begin == std::string::npos ? "" : ptx.substr(begin, end - begin);
}

// Each thread has eight neighbours of both buffers.
ir::Function eight_each(
    const std::function<ir::Stmt(const ir::Expr&, ir::Buffer, ir::Buffer)>& one) {
  const ir::Buffer a = ir::Buffer::make("a", ir::kF32, {256});
  const ir::Buffer out = ir::Buffer::make("out", ir::kF32, {256});
  const ir::Var tx("tx");
  const ir::Stmt s =
      ir::make_for(tx, 0, 32, ir::ForKind::kThread, one(tx * 8, a, out), ir::ThreadTag::kThreadX);
  return {.name = "eight_each", .params = {a, out}, .num_inputs = 1, .body = s};
}

TEST(Nvptx, AddressesOfABlockAreWrittenOnce) {
  const ir::Function f = eight_each([](const ir::Expr& first, ir::Buffer a, ir::Buffer out) {
    std::vector<ir::Stmt> all;
    for (int64_t k = 0; k < 8; ++k) {
      const ir::Expr product = ir::load(a, {first + k}) * ir::load(a, {first + (7 - k)});
      all.push_back(ir::store(out, {first + k}, product));
    }
    return ir::block(all);
  });
  const std::string text = emit(f, gpu("sm_90"), Emit::kLlvmIr).bytes;
  EXPECT_EQ(count(text, "mul nsw i32"), 2) << text;     // one for each buffer
  EXPECT_EQ(count(text, "getelementptr"), 16) << text;  // and its eight places
}

TEST(Nvptx, LoopsOfOneTurnHaveAddressesOfTheirOwn) {
  const ir::Function f = eight_each([](const ir::Expr& first, ir::Buffer a, ir::Buffer out) {
    const ir::Var i("i"), k("k"), l("l");
    const auto at = [&](const ir::Var& v, int64_t place) {
      const ir::Stmt move = ir::store(out, {first + v}, ir::load(a, {first + v}));
      return ir::make_for(v, place, 1, ir::ForKind::kSerial, move);
    };
    return ir::block({at(i, 2), at(k, 5), at(l, 7)});
  });
  const std::string ptx = ptx_of(f);
  for (const char* bytes : {"+8]", "+20]", "+28]"})
    EXPECT_EQ(count(ptx, "\\" + std::string(bytes)), 2) << ptx;
}

TEST(Nvptx, AVersionForEachProcessor) {
  for (const auto& [processor, version] : {std::pair{"sm_80", "7.0"}, std::pair{"sm_86", "7.1"},
                                           std::pair{"sm_89", "7.8"}, std::pair{"sm_90", "7.8"}}) {
    const std::string ptx = ptx_of(scale_rows_gpu(), processor);
    EXPECT_TRUE(has(ptx, std::string(".version ") + version)) << processor;
    EXPECT_TRUE(has(ptx, std::string(".target ") + processor)) << processor;
  }
}

// Zero where one condition of all lanes does not hold, or one that each has of its own.
TEST(Nvptx, GuardedVectorsAreCopiedByTheWay) {
  const auto from = ir::Buffer::make("A", ir::kF32, {64});
  const auto to = ir::Buffer::make("B", ir::kF32, {64}, ir::Scope::kShared);
  const ir::Var i("i");
  const ir::Expr at = ir::ramp(i * 4, 1, 4);
  const ir::Expr zero = ir::broadcast(ir::zero_of(ir::kF32), 4);
  const auto is_copy = [&](const ir::Expr& condition, const ir::Expr& otherwise) {
    const ir::Stmt s = ir::store(to, {at}, ir::select(condition, ir::load(from, {at}), otherwise));
    return nvptx::as_copy(*s.as<ir::Store>()).has_value();
  };
  const ir::Expr together = ir::broadcast(ir::lt(i, ir::Expr(7)), 4);
  EXPECT_TRUE(is_copy(together, zero));
  EXPECT_FALSE(is_copy(ir::lt(at, ir::broadcast(ir::Expr(30), 4)), zero));
  EXPECT_FALSE(is_copy(together, ir::broadcast(ir::make_float(ir::kF32, 1), 4)));
}

TEST(Nvptx, AKernelSaysItsBlock) {
  const std::string ptx = ptx_of(scale_rows_gpu(), "sm_86");
  EXPECT_TRUE(has(ptx, ".visible .entry scale_rows_0("));
  EXPECT_TRUE(has(ptx, ".maxntid 8, 4, 1"));
  EXPECT_TRUE(has(ptx, "fma.rn.f32"));
  EXPECT_EQ(count(ptx, "ld\\.global\\.nc\\.f32"), 2U);
}

TEST(Nvptx, VectorsAsTheirIndexIsAMultiple) {
  const std::string four = ptx_of(copy_gpu(4, 0, ir::kF32), "sm_86");
  EXPECT_EQ(count(four, "ld\\.global\\.nc\\.v4\\.f32"), 1U);
  EXPECT_EQ(count(four, "st\\.global\\.v4\\.f32"), 1U);
  EXPECT_EQ(count(ptx_of(copy_gpu(8, 4, ir::kF32), "sm_86"), "ld\\.global\\.nc\\.v4\\.f32"), 2U);
  EXPECT_EQ(count(ptx_of(copy_gpu(4, 2, ir::kF32), "sm_86"), "ld\\.global\\.nc\\.v2\\.f32"), 2U);
  EXPECT_EQ(count(ptx_of(copy_gpu(4, 1, ir::kF32), "sm_86"), "ld\\.global\\.nc\\.f32"), 4U);
  EXPECT_EQ(count(ptx_of(copy_gpu(8, 0, ir::kF16), "sm_86"), "ld\\.global\\.nc\\.v4"), 1U);
  EXPECT_EQ(count(ptx_of(copy_gpu(16, 0, ir::kI8), "sm_86"), "ld\\.global\\.nc\\.v4"), 1U);
}

// A buffer of a thread's own is read at a place that only the thread knows.
TEST(Nvptx, WhatHasNoPlaceInRegistersIsLocalMemory) {
  const ir::Buffer in = ir::Buffer::make("in", ir::kF32, {35});
  const ir::Buffer out = ir::Buffer::make("out", ir::kF32, {32});
  const ir::Buffer own = ir::Buffer::make("own", ir::kF32, {4}, ir::Scope::kLocal);
  const ir::Var tx("tx"), i("i");
  const ir::Stmt fill =
      ir::make_for(i, 0, 4, ir::ForKind::kSerial, ir::store(own, {i}, ir::load(in, {tx + i})));
  const ir::Stmt pick = ir::store(out, {tx}, ir::load(own, {ir::floor_mod(tx, 4)}));
  const ir::Stmt s =
      ir::make_for(tx, 0, 32, ir::ForKind::kThread, ir::allocate(own, ir::block({fill, pick})),
                   ir::ThreadTag::kThreadX);
  const std::string ptx = ptx_of({.name = "own", .params = {in, out}, .num_inputs = 1, .body = s});
  EXPECT_EQ(count(ptx, "ld\\.local\\.f32"), 1U) << ptx;
  EXPECT_GT(count(ptx, "st\\.local\\."), 0U) << ptx;
  EXPECT_EQ(count(ptx, "(ld|st)\\.[uv]"), 0U) << ptx;  // a generic address would be looked at first
}

TEST(Nvptx, SharedMemoryIsOneArrayWithBarriers) {
  const std::string ptx = ptx_of(transpose_gpu());
  EXPECT_TRUE(has(ptx, ".extern .shared .align 16 .b8 tenon_shared[]"));
  EXPECT_EQ(count(ptx, "bar\\.sync"), 1U);
  EXPECT_EQ(count(ptx, "cp\\.async\\.ca\\.shared\\.global"), 1U);
  EXPECT_EQ(count(ptx, "ld\\.shared\\.f32"), 1U);
  const GpuModule m = gpu_module_from(emit(transpose_gpu(), gpu("sm_90"), Emit::kObject).bytes);
  ASSERT_EQ(m.launches.size(), 1U);
  EXPECT_EQ(m.launches[0].shared_bytes, 16 * 17 * 4);
  EXPECT_EQ(m.launches[0].grid, (std::array<int64_t, 3>{2, 3, 1}));
  EXPECT_EQ(m.launches[0].block, (std::array<int64_t, 3>{16, 16, 1}));
}

// By halves, and only the threads of the row are named where a warp has more.
TEST(Nvptx, ThreadsCombineByShuffles) {
  const std::string warp = ptx_of(combine_gpu(32, ir::kF32));
  EXPECT_EQ(count(warp, "shfl\\.sync\\.bfly\\.b32"), 5U) << warp;
  for (const char* apart : {"16", "8", "4", "2", "1"}) {
    EXPECT_EQ(count(warp, std::string("shfl\\.sync\\.bfly\\.b32[^;]*, ") + apart + ", 31, -1;"), 1U)
        << warp;
  }
  EXPECT_EQ(count(warp, "add\\.rn\\.f32|add\\.f32"), 6U) << warp;
  EXPECT_FALSE(has(warp, "shared"));
  const std::string row = ptx_of(combine_gpu(8, ir::kI32));
  EXPECT_EQ(count(row, "shfl\\.sync\\.bfly\\.b32"), 3U) << row;
  EXPECT_EQ(count(row, "%laneid"), 1U) << row;
  EXPECT_FALSE(has(row, "31, -1;"));
}

// Each of 64 threads fetches neighbours to shared memory and writes those of another thread;
// `fetched` makes what is stored of what is loaded and of the thread's number.
ir::Function staged_gpu(int lanes,
                        const std::function<ir::Expr(const ir::Expr&, const ir::Expr&)>& fetched) {
  const ir::Buffer a = ir::Buffer::make("a", ir::kF32, {64 * lanes});
  const ir::Buffer out = ir::Buffer::make("out", ir::kF32, {64 * lanes});
  const ir::Buffer tile = ir::Buffer::make("tile", ir::kF32, {64 * lanes}, ir::Scope::kShared);
  const ir::Var b("b"), t("t");
  const auto own = [&](const ir::Expr& n) { return ir::ramp(n * lanes, 1, lanes); };
  const ir::Stmt body =
      ir::block({ir::store(tile, {own(t)}, fetched(ir::load(a, {own(t)}), t)), ir::barrier(),
                 ir::store(out, {own(t)}, ir::load(tile, {own(63 - t)}))});
  const ir::Stmt threads =
      ir::make_for(t, 0, 64, ir::ForKind::kThread, body, ir::ThreadTag::kThreadX);
  const ir::Stmt blocks = ir::make_for(b, 0, 1, ir::ForKind::kThread, ir::allocate(tile, threads),
                                       ir::ThreadTag::kBlockX);
  return {.name = "staged", .params = {a, out}, .num_inputs = 1, .body = blocks};
}

ir::Expr zeros(int lanes) { return ir::make_float(ir::kF32.with_lanes(lanes), 0); }

TEST(Nvptx, CopiesToSharedMemoryGoOnBesideTheThread) {
  for (const int lanes : {1, 2, 4}) {
    const std::string bytes = std::to_string(4 * lanes);
    const std::string ptx = ptx_of(staged_gpu(lanes, [](auto& x, auto&) { return x; }), "sm_80");
    EXPECT_EQ(count(ptx, "cp\\.async\\.ca\\.shared\\.global \\[.*\\], \\[.*\\], " + bytes), 1U)
        << ptx;
    EXPECT_EQ(count(ptx, "st\\.shared|ld\\.global"), 0U) << ptx;
    EXPECT_EQ(count(ptx, "cp\\.async\\.wait_all;\\s+bar\\.sync"), 1U) << ptx;
  }
}

// Where nothing is wanted, none of the bytes are read and zeros are written.
TEST(Nvptx, CopiesWithAConditionReadAllOrNothing) {
  for (const int lanes : {1, 4}) {
    const std::string bytes = std::to_string(4 * lanes);
    const auto guarded = [&](auto& x, auto& t) {
      return ir::select(ir::broadcast(ir::lt(t, 50), lanes), x, zeros(lanes));
    };
    const std::string ptx = ptx_of(staged_gpu(lanes, guarded), "sm_80");
    const std::string copy =
        "cp\\.async\\.ca\\.shared\\.global \\[.*\\], \\[.*\\], " + bytes + ", %r\\d+;";
    EXPECT_EQ(count(ptx, copy), 1U) << ptx;
    EXPECT_EQ(count(ptx, "selp\\.b32\\s+%r\\d+, " + bytes + ", 0, %p\\d+;"), 1U) << ptx;
    EXPECT_EQ(count(ptx, "selp\\.b64"), 1U) << ptx;
    EXPECT_EQ(count(ptx, "st\\.shared|ld\\.global"), 0U) << ptx;
    EXPECT_EQ(count(ptx, "cp\\.async\\.wait_all;\\s+bar\\.sync"), 1U) << ptx;
  }
}

TEST(Nvptx, WhatIsNoCopyIsStoredByTheThread) {
  const auto doubled = [](auto& x, auto&) { return x + x; };
  const auto ones = [](auto& x, auto& t) {
    return ir::select(ir::lt(t, 50), x, ir::make_float(ir::kF32, 1));
  };
  const auto each_lane = [](auto& x, auto& t) {
    return ir::select(ir::lt(ir::ramp(t * 4, 1, 4), ir::broadcast(ir::Expr(99), 4)), x, zeros(4));
  };
  for (const ir::Function& f : {staged_gpu(1, doubled), staged_gpu(1, ones),
                                staged_gpu(4, each_lane), row_sum_gpu(4), scale_rows_gpu()}) {
    EXPECT_EQ(count(ptx_of(f, "sm_80"), "cp\\.async"), 0U) << ptx_of(f, "sm_80");
  }
}

// The kernel waits before it touches memory, and its constants are only constant from then on.
TEST(Nvptx, KernelsBeginEarlyWhereTheyCanWait) {
  const ir::Function f = split_sum_gpu();
  for (const char* processor : {"sm_80", "sm_86", "sm_89", "sm_90"}) {
    SCOPED_TRACE(processor);
    const bool early = std::string(processor) == "sm_90";
    const std::string ptx = ptx_of(f, processor);
    EXPECT_EQ(count(ptx, "griddepcontrol\\.wait;"), early ? 2U : 0U);
    EXPECT_EQ(count(ptx, "griddepcontrol\\.launch_dependents;"), early ? 2U : 0U);
    EXPECT_EQ(count(ptx, "ld\\.global\\.nc") > 0, !early);
    const GpuModule m = gpu_module_from(emit(f, gpu(processor), Emit::kObject).bytes);
    ASSERT_EQ(m.launches.size(), 2U);
    for (const Launch& l : m.launches) EXPECT_EQ(l.early, early);
  }
  for (const ir::Function& g : {f, transpose_gpu(), matmul_gpu(64, 64, 64)}) {
    const std::string ptx = ptx_of(g, "sm_90");
    std::smatch touched;
    ASSERT_TRUE(std::regex_search(ptx, touched, std::regex("(ld|st)\\.global|cp\\.async")));
    EXPECT_LT(ptx.find("griddepcontrol.wait"), static_cast<size_t>(touched.position())) << ptx;
    EXPECT_LT(ptx.find("griddepcontrol.wait"), ptx.find("griddepcontrol.launch")) << ptx;
  }
  const GpuModule simt = gpu_module_from(emit(f, gpu("simt"), Emit::kObject).bytes);
  for (const Launch& l : simt.launches) EXPECT_FALSE(l.early);
}

TEST(Nvptx, FewerThreadsAreATest) {
  const std::string ptx = ptx_of(row_sum_gpu(4));
  EXPECT_EQ(count(ptx, "bar\\.sync"), 6U);
  for (const char* last : {"31", "15", "7", "3", "1"}) {
    EXPECT_EQ(count(ptx, std::string("setp\\.gt\\.u32\\s+%p\\d+, %r\\d+, ") + last + ";"), 1U)
        << last;
  }
}

TEST(Nvptx, TheInnerLoopOfAProductHasNothingBesideIt) {
  const std::string body = loop_body(ptx_of(matmul_gpu(256, 256, 256)), "k1");
  EXPECT_EQ(count(body, "fma\\.rn\\.f32"), 16U) << body;
  EXPECT_EQ(count(body, "ld\\.shared\\.v4\\.f32"), 2U) << body;
  EXPECT_EQ(count(body, "mul"), 0U) << body;
  EXPECT_EQ(count(body, "mov|cvt\\.s64"), 0U) << body;
}

TEST(Nvptx, IndicesHave32Bits) {
  for (const ir::Function& f : {matmul_gpu(256, 256, 256), border_sum_gpu(1000, 1)}) {
    const std::string ptx = ptx_of(f);
    EXPECT_EQ(count(ptx, "mul\\.lo\\.s64|mad\\.lo\\.s64|shl\\.b64.*, 3"), 0U) << ptx;
  }
}

TEST(Nvptx, IndicesBeyond32BitsStayWide) {
  const ir::Buffer a = ir::Buffer::make("a", ir::kF32, {int64_t{3} << 30});
  const ir::Buffer out = ir::Buffer::make("out", ir::kF32, {3 * 64});
  const ir::Var b("b"), t("t");
  const ir::Stmt store =
      ir::store(out, {b * 64 + t}, ir::load(a, {b * (int64_t{1} << 30) + t * 100}));
  const ir::Stmt threads =
      ir::make_for(t, 0, 64, ir::ForKind::kThread, store, ir::ThreadTag::kThreadX);
  const ir::Function f{
      .name = "wide",
      .params = {a, out},
      .num_inputs = 1,
      .body = ir::make_for(b, 0, 3, ir::ForKind::kThread, threads, ir::ThreadTag::kBlockX)};
  const std::string ir = emit(f, gpu("sm_90"), Emit::kLlvmIr).bytes;
  EXPECT_EQ(count(ir, "mul nsw i64 .*, 1073741824"), 1U) << ir;
  EXPECT_EQ(count(ir, "mul nsw i32 .*, 1073741824"), 0U) << ir;
  EXPECT_EQ(count(ir, "mul nsw i32 .*, 64"), 1U) << ir;
}

TEST(Nvptx, WhatWorksInPlaceIsNeitherConstantNorApart) {
  ir::Function f = copy_gpu(4, 0, ir::kF32);
  const std::string apart = emit(f, gpu("sm_86"), Emit::kLlvmIr).bytes;
  EXPECT_EQ(count(apart, "addrspace\\(1\\) noalias align 256"), 2U) << apart;
  EXPECT_EQ(count(apart, "!invariant\\.load"), 1U) << apart;
  f.in_place = 0;
  const std::string in_place = emit(f, gpu("sm_86"), Emit::kLlvmIr).bytes;
  EXPECT_EQ(count(in_place, "noalias align"), 0U) << in_place;
  EXPECT_EQ(count(in_place, "!invariant\\.load"), 0U) << in_place;
}

TEST(Nvptx, APredicateIsABranchAroundOneLoad) {
  const std::string ptx = ptx_of(border_sum_gpu(100, 1), "sm_86");
  EXPECT_EQ(count(ptx, "ld\\.global\\.nc\\.f32"), 3U);
  EXPECT_FALSE(has(ptx, "call"));
}

TEST(Nvptx, QuotientsAndRootsAreRounded) {
  ElementWise f("exact");
  f.input(ir::kF32);
  f.input(ir::kF32);
  f.output(ir::kF32, 1, [](auto& in) { return in[0] / in[1]; });
  f.output(ir::kF32, 1, [](auto& in) { return ir::call(ir::Intrinsic::kSqrt, {in[0]}); });
  const std::string ptx = ptx_of(f.get());
  EXPECT_TRUE(has(ptx, "div.rn.f32"));
  EXPECT_TRUE(has(ptx, "sqrt.rn.f32"));
  EXPECT_FALSE(has(ptx, "approx"));
  EXPECT_FALSE(has(ptx, "ftz"));
}

// Every function of every type has instructions: nothing is called.
TEST(Nvptx, EveryFunctionIsSelected) {
  for (const ir::Intrinsic fn : all_functions()) {
    for (const ir::DType t : {ir::kF32, ir::kF64, ir::kF16, ir::kBF16}) {
      for (const char* processor : {"sm_80", "sm_90"}) {
        const std::string ptx = ptx_of(function_kernel(fn, t, {1, 4}), processor);
        EXPECT_FALSE(has(ptx, "call")) << to_string(fn);
        EXPECT_FALSE(has(ptx, ".extern")) << to_string(fn);
      }
    }
  }
}

TEST(Nvptx, WhatIsNoKernelIsRefused) {
  const ir::Buffer out = ir::Buffer::make("out", ir::kF32, {8});
  const ir::Var i("i"), b("b");
  const ir::Stmt store = ir::store(out, {i + b}, ir::make_float(ir::kF32, 1));
  const auto with = [&](const ir::Stmt& body) {
    return ir::Function{.name = "bad", .params = {out}, .num_inputs = 0, .body = body};
  };
  const ir::Stmt blocks =
      ir::make_for(b, 0, 2, ir::ForKind::kThread, store, ir::ThreadTag::kBlockX);
  EXPECT_THROW(ptx_of(with(ir::make_for(i, 0, 4, ir::ForKind::kSerial, blocks))), InternalError);
  const ir::Stmt from_one =
      ir::make_for(b, 1, 2, ir::ForKind::kThread, store, ir::ThreadTag::kThreadX);
  EXPECT_THROW(ptx_of(with(ir::make_for(i, 0, 4, ir::ForKind::kSerial, from_one))), InternalError);
  EXPECT_THROW(jit(scale_rows_gpu(), gpu("sm_90")), UserError);
}

TEST(Multiples, OfIndices) {
  const ir::Var i("i"), j("j");
  EXPECT_EQ(nvptx::multiple_of(i * 8 + j * 4), 4);
  EXPECT_EQ(nvptx::multiple_of(i * 8 + 2), 2);
  EXPECT_EQ(nvptx::multiple_of(i * 12), 4);
  EXPECT_EQ(nvptx::multiple_of(i + j * 4), 1);
  EXPECT_EQ(nvptx::multiple_of(ir::floor_mod(i * 4, 64) + 8), 4);
  EXPECT_EQ(nvptx::multiple_of(ir::min(i * 8, j * 16) * 2), 16);
  EXPECT_EQ(nvptx::multiple_of(ir::select(ir::lt(i, j), i * 4, j * 8)), 4);
  EXPECT_EQ(nvptx::multiple_of(ir::floor_div(i * 4, 8)), 1);
  EXPECT_EQ(
      nvptx::multiple_of(ir::make_binary(ir::BinaryOp::kBitXor, i * 4, ir::floor_mod(j, 8) * 4)),
      4);
}

TEST(Ptxas, ItsReportIsRead) {
  const char* text =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'a_0' for 'sm_90'\n"
      "ptxas info    : Function properties for a_0\n"
      "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem, 552 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'a_1' for 'sm_90'\n"
      "ptxas info    : Function properties for a_1\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, 552 bytes cmem[0]\n";
  const std::vector<nvptx::PtxasReport> expected = {{.kernel = "a_0",
                                                     .registers = 40,
                                                     .stack_bytes = 16,
                                                     .spill_store_bytes = 8,
                                                     .spill_load_bytes = 12,
                                                     .shared_bytes = 1024},
                                                    {.kernel = "a_1", .registers = 8}};
  EXPECT_EQ(nvptx::parse_report(text), expected);
  EXPECT_TRUE(nvptx::parse_report("").empty());
}

class Environment {  // one variable, for a moment
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

TEST(Ptxas, IsLookedForWhereItIsNamed) {
  {
    const Environment none("TENON_PTXAS", "none");
    EXPECT_FALSE(nvptx::find_ptxas());
    const GpuModule m = gpu_module_from(emit(row_sum_gpu(2), gpu("sm_80"), Emit::kObject).bytes);
    EXPECT_TRUE(m.image.empty());
    EXPECT_TRUE(has(m.ptx, ".entry row_sum_0"));
  }
  const Environment wrong("TENON_PTXAS", "/no/such/ptxas");
  EXPECT_THROW(nvptx::find_ptxas(), UserError);
}

TEST(Ptxas, FunctionsThatAreEmittedTogetherShareAnImage) {
  const std::vector<ir::Function> functions = {row_sum_gpu(2), matmul_gpu(64, 64, 64)};
  const auto codes = make_compiler(gpu("sm_90"))->emit_objects(functions);
  ASSERT_EQ(codes.size(), 2U);
  std::vector<GpuModule> together;
  for (size_t i = 0; i < codes.size(); ++i) {
    together.push_back(gpu_module_from(codes[i].bytes));
    const Code alone = emit(functions[i], gpu("sm_90"), Emit::kObject);
    const GpuModule m = gpu_module_from(alone.bytes);
    EXPECT_EQ(together[i].launches, m.launches);
    EXPECT_EQ(together[i].ptx, m.ptx);
    EXPECT_EQ(codes[i].workspace_bytes, alone.workspace_bytes);
  }
  EXPECT_EQ(together[0].image, together[1].image);
  EXPECT_EQ(together[0].image.empty(), !nvptx::find_ptxas());
}

TEST(Ptxas, MachineCodeWithoutSpills) {
  const auto ptxas = nvptx::find_ptxas();
  if (!ptxas) GTEST_SKIP() << "there is no ptxas here";
  const nvptx::Assembled a = nvptx::assemble(*ptxas, {ptx_of(matmul_gpu(256, 256, 256))}, "sm_90");
  EXPECT_EQ(a.image.substr(0, 4), "\177ELF");
  ASSERT_EQ(a.kernels.size(), 1U);
  EXPECT_EQ(a.kernels[0].kernel, "matmul_0");
  EXPECT_GT(a.kernels[0].registers, 20);
  EXPECT_LT(a.kernels[0].registers, 96);
  EXPECT_EQ(a.kernels[0].spill_store_bytes, 0);
  EXPECT_EQ(a.kernels[0].stack_bytes, 0);
  const nvptx::Assembled both =
      nvptx::assemble(*ptxas, {ptx_of(row_sum_gpu(2)), ptx_of(matmul_gpu(256, 256, 256))}, "sm_90");
  ASSERT_EQ(both.kernels.size(), 2U);
  EXPECT_EQ(std::count(both.kernels.begin(), both.kernels.end(), a.kernels[0]), 1) << "as alone";
  for (const int64_t n : {4, 32})
    EXPECT_EQ(nvptx::assemble(*ptxas, {ptx_of(combine_gpu(n, ir::kF32))}, "sm_90").kernels.size(),
              1U);
  try {
    nvptx::assemble(*ptxas, {".version 7.8\n.target sm_90\nnonsense\n"}, "sm_90");
    FAIL() << "nonsense is taken";
  } catch (const UserError& e) {
    EXPECT_TRUE(has(e.what(), "ptxas refuses a kernel: ")) << e.what();
    EXPECT_FALSE(has(e.what(), "\n")) << e.what();
  }
}

}  // namespace
}  // namespace tenon::backend
