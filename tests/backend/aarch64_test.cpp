// SPDX-License-Identifier: Apache-2.0
// AArch64 code: compiled here, linked with a small C program by the cross compiler, run under qemu
// and compared with the interpreter. Skipped where those tools are not installed.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "backend/element_wise.h"
#include "backend/harness.h"
#include "backend/kernels.h"
#include "backend/look_up_kernel.h"
#include "backend/random_program.h"

namespace tenon::backend {
namespace {

namespace fs = std::filesystem;
using ir::Array;
using ir::BinaryOp;
using ir::DType;
using ir::Function;

const DType kTypes[] = {ir::kBool, ir::kI8,  ir::kI16, ir::kI32,  ir::kI64, ir::kU8, ir::kU16,
                        ir::kU32,  ir::kU64, ir::kF16, ir::kBF16, ir::kF32, ir::kF64};

struct Case {
  Function f;
  std::vector<Array> args;
  int64_t workspace_bytes = 0;
  Tolerance tolerance = {};
};

// A directory that goes away with its contents.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "tenon-aarch64-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Scratch() { fs::remove_all(path_); }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Reads all parameters of all kernels from a file, runs each kernel alone and with a runtime that
// claims two threads, checks the bytes after each buffer, and writes all parameters back, twice.
std::string main_program(const std::vector<Case>& cases) {
  std::string text =
      "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include "
      "\"tenon/runtime.h\"\n";
  std::string rows;
  for (const Case& c : cases) {
    text += fmt::format("void {}(void* const*, void*, const tenon_runtime*);\n", c.f.name);
    text += fmt::format("static const long bytes_{}[] = {{", c.f.name);
    for (const Array& a : c.args) {
      text += fmt::format("{}, ", a.bytes());
    }
    text += "0};\n";
    rows += fmt::format("  {{{}, {}, bytes_{}, {}}},\n", c.f.name, c.args.size(), c.f.name,
                        c.workspace_bytes);
  }
  text +=
      "static const struct { tenon_kernel fn; int n; const long* bytes; long workspace; } "
      "kernels[] = {\n" +
      rows + "};\n";
  text += R"(
enum { kGuard = 64 };
static char* take(long bytes) {
  char* p = aligned_alloc(64, (bytes + kGuard + 63) / 64 * 64);
  memset(p + bytes, 0x5C, kGuard);
  return p;
}
static void check(const char* p, long bytes) {
  for (int i = 0; i < kGuard; ++i) if (p[bytes + i] != 0x5C) exit(3);
}
static void parallel(const tenon_runtime* rt, tenon_body body, void* closure, int64_t n) {
  (void)rt;
  for (int64_t i = n; i > 0; --i) body(closure, i - 1, i);
}
int main(int argc, char** argv) {
  if (argc != 3) return 1;
  FILE* in = fopen(argv[1], "rb");
  FILE* out = fopen(argv[2], "wb");
  tenon_runtime rt = {parallel, 0, 2};
  for (unsigned k = 0; k < sizeof kernels / sizeof kernels[0]; ++k) {
    long start = ftell(in);
    for (int pass = 0; pass < 2; ++pass) {
      void* params[256];
      char* workspace = take(kernels[k].workspace);
      fseek(in, start, SEEK_SET);
      for (int i = 0; i < kernels[k].n; ++i) {
        params[i] = take(kernels[k].bytes[i]);
        if (fread(params[i], 1, kernels[k].bytes[i], in) != (size_t)kernels[k].bytes[i]) return 2;
      }
      kernels[k].fn(params, workspace, pass ? &rt : NULL);
      check(workspace, kernels[k].workspace);
      for (int i = 0; i < kernels[k].n; ++i) {
        check(params[i], kernels[k].bytes[i]);
        fwrite(params[i], 1, kernels[k].bytes[i], out);
      }
    }
  }
  return fclose(out);
}
)";
  return text;
}

Case make_case(Function f, size_t number, uint64_t seed, bool small) {
  f.name = fmt::format("kernel{}", number);
  Rng rng(seed);
  Case c{std::move(f), {}};
  c.args = small ? small_args(c.f, rng, 0, 8) : random_args(c.f, rng);
  return c;
}

Function operators(DType t) {
  using enum BinaryOp;
  ElementWise f("operators");
  f.input(t);
  f.input(t);
  std::vector<BinaryOp> ops = {kEq, kNe};
  if (t.is_bool()) {
    ops.insert(ops.end(), {kAnd, kOr});
  } else {
    ops.insert(ops.end(), {kAdd, kSub, kMul, kMin, kMax, kLt, kLe});
  }
  if (t.is_float()) {
    ops.insert(ops.end(), {kDiv, kMinimum, kMaximum});
  }
  for (const BinaryOp op : ops) {
    for (const int lanes : {1, 3, 8}) {
      f.output(ir::is_comparison(op) ? ir::kBool : t, lanes,
               [&](auto& in) { return ir::make_binary(op, in[0], in[1]); });
      if (t.is_float() && (op == kMin || op == kMax || op == kMinimum || op == kMaximum)) {
        const ir::Expr half = ir::make_float(t.with_lanes(lanes), 0.5);
        f.output(t, lanes, [&](auto& in) { return ir::make_binary(op, in[0], half); });
        f.output(t, lanes, [&](auto& in) { return ir::make_binary(op, half, in[0]); });
      }
    }
  }
  for (const DType to : kTypes) {
    f.output(to, 8, [&](auto& in) { return ir::cast(to.with_lanes(8), in[0]); });
    f.output(to, 1, [&](auto& in) { return ir::cast(to, in[0]); });
  }
  return f.get();
}

Function functions(DType t) {
  using enum ir::Intrinsic;
  ElementWise f("functions");
  f.input(t);
  for (const ir::Intrinsic fn : {kExp, kTanh, kErf, kSigmoid, kSin, kFloor, kRound, kAtan}) {
    for (const int lanes : {1, 4, 8}) {
      f.output(t, lanes, [&](auto& in) { return ir::call(fn, {in[0]}); });
    }
  }
  return f.get();
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const auto add = [&](Function f, bool small) {
    cases.push_back(make_case(std::move(f), cases.size(), cases.size() + 1, small));
  };
  for (const DType t : kTypes) {
    add(operators(t), false);
    for (const int64_t i : {3, 17, 18, 100}) {
      if (!t.is_float()) break;
      cases.back().args[0].set_double(i, std::nan(""));
      cases.back().args[1].set_double(i + 1, std::nan(""));
    }
  }
  add(matmul_kernel({12, 48, 7, 6, 2, 4}), true);
  add(matmul_kernel({6, 20, 3, 3, 2, 5}), true);
  add(conv3x3_kernel({2, 2, 3, 6, 3, 2, 4}), true);
  add(depthwise3x3_kernel(3, 5, 8, 4, 4), true);
  for (const DotCase& c : dot_cases()) {
    add(dot_kernel(c, false), c.sum.is_float());
    add(dot_kernel(c, true), c.sum.is_float());
    add(masked_dot_kernel(c), true);
  }
  for (const DType t : {ir::kF32, ir::kF16, ir::kBF16, ir::kI8}) {
    add(relu_add_kernel(37, 8, t), true);
  }
  add(look_up_kernel(ir::kU8, ir::kI8, {1, 3, 8, 16, 24, 48}), false);
  add(look_up_kernel(ir::kI8, ir::kU8, {16}), false);
  add(row_normalize_kernel(3, 4, 4), true);
  add(functions(ir::kF32), true);
  cases.back().tolerance = {1e-6, 1e-7};
  add(functions(ir::kF64), true);
  cases.back().tolerance = {1e-14, 1e-15};
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    Rng rng(seed);
    add(RandomProgram(rng).make(), true);
  }
  return cases;
}

bool found(const char* tool) {
  return std::system(fmt::format("command -v {} > /dev/null 2>&1", tool).c_str()) == 0;
}

// One pass of one kernel, taken from the front of `bytes`.
std::vector<Array> take_results(const Case& c, std::string_view& bytes) {
  std::vector<Array> after = c.args;
  for (Array& a : after) {
    const auto n = static_cast<size_t>(a.bytes());
    std::memcpy(a.data(), bytes.data(), n);
    bytes.remove_prefix(n);
  }
  return after;
}

class AArch64Test : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Targets, AArch64Test, ::testing::Values("aarch64", "aarch64-dotprod"));

TEST_P(AArch64Test, AgreesWithTheInterpreterUnderQemu) {
  if (!found("aarch64-linux-gnu-gcc") || !found("qemu-aarch64")) {
    GTEST_SKIP() << "needs aarch64-linux-gnu-gcc and qemu-aarch64";
  }
  const Scratch dir;
  std::vector<Case> cases = all_cases();
  const auto compiler = make_compiler(target::parse_target(GetParam()));
  std::string objects;
  std::string inputs;
  for (Case& c : cases) {
    const Code object = compiler->emit(c.f, Emit::kObject);
    c.workspace_bytes = object.workspace_bytes;
    write_file(dir / (c.f.name + ".o"), object.bytes);
    objects += " " + (dir / (c.f.name + ".o")).string();
    for (const Array& a : c.args) {
      inputs.append(reinterpret_cast<const char*>(a.data()), static_cast<size_t>(a.bytes()));
    }
  }
  write_file(dir / "main.c", main_program(cases));
  write_file(dir / "in", inputs);
  const std::string link =
      fmt::format("aarch64-linux-gnu-gcc -O1 -static -I{} -o {} {} {} -lm", TENON_INCLUDE,
                  (dir / "main").string(), (dir / "main.c").string(), objects);
  ASSERT_EQ(std::system(link.c_str()), 0) << link;
  const std::string run = fmt::format("qemu-aarch64 {} {} {}", (dir / "main").string(),
                                      (dir / "in").string(), (dir / "out").string());
  ASSERT_EQ(std::system(run.c_str()), 0) << "a guard was overwritten, or worse";
  const std::string bytes = read_file(dir / "out");
  ASSERT_EQ(bytes.size(), 2 * inputs.size());
  std::string_view rest = bytes;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.f.name);
    std::vector<Array> expected = c.args;
    ir::interpret(c.f, expected);
    for (int pass = 0; pass < 2; ++pass) {
      expect_equal(c.f, expected, take_results(c, rest), c.tolerance);
    }
  }
}

}  // namespace
}  // namespace tenon::backend
