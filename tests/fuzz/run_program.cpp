// SPDX-License-Identifier: Apache-2.0
#include "fuzz/run_program.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "fuzz/random_dag.h"
#include "ir/print.h"
#include "lower/lower.h"

namespace tenon::fuzz {

namespace {

constexpr size_t kGuard = 64;
constexpr unsigned char kGarbage = 0xA5;

struct Free {
  void operator()(void* p) const { std::free(p); }
};

// 64-byte aligned, with a guard behind the last byte.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : bytes_(bytes) {
    const size_t all = (bytes + kGuard + 63) / 64 * 64;
    data_.reset(static_cast<unsigned char*>(std::aligned_alloc(64, all)));
    std::memset(data_.get(), kGarbage, all);
  }
  unsigned char* data() { return data_.get(); }
  void check(const std::string& name) const {
    for (size_t i = 0; i < kGuard; ++i) {
      TENON_CHECK(data_.get()[bytes_ + i] == kGarbage)
          << name << " was overrun by " << i + 1 << " bytes or more";
    }
  }

 private:
  size_t bytes_;
  std::unique_ptr<unsigned char, Free> data_;
};

}  // namespace

std::vector<ir::Array> run_kernel(const schedule::State& s, const ir::Function& f,
                                  const backend::Kernel& kernel,
                                  const std::vector<ir::Array>& inputs,
                                  const tenon_runtime* runtime) {
  const std::vector<ir::Array> packed = lower::pack_inputs(s, inputs);
  std::vector<ir::Array> outputs = lower::make_outputs(s);
  std::vector<Guarded> memory;
  std::vector<void*> params;
  for (const ir::Array& a : packed) {
    memory.emplace_back(static_cast<size_t>(a.bytes()));
    std::memcpy(memory.back().data(), a.data(), static_cast<size_t>(a.bytes()));
  }
  for (const ir::Array& a : outputs) memory.emplace_back(static_cast<size_t>(a.bytes()));
  for (Guarded& g : memory) params.push_back(g.data());
  Guarded workspace(static_cast<size_t>(kernel.workspace_bytes()));
  kernel.entry()(params.data(), workspace.data(), runtime);
  for (size_t i = 0; i < memory.size(); ++i) memory[i].check(f.params[i].name());
  workspace.check("the workspace");
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::memcpy(outputs[i].data(), memory[packed.size() + i].data(),
                static_cast<size_t>(outputs[i].bytes()));
  }
  return lower::unpack_outputs(s, outputs);
}

namespace {

// Collective chunks, last first: what a pool may do, without threads.
void run_backwards(const tenon_runtime*, tenon_body body, void* closure, int64_t n) {
  const int64_t chunk = n > 3 ? (n + 2) / 3 : 1;
  for (int64_t end = n; end > 0; end -= std::min(chunk, end)) {
    body(closure, std::max<int64_t>(0, end - chunk), end);
  }
}

std::string check_compiled(const schedule::State& s, const ir::Function& f,
                           const std::vector<ir::Array>& inputs,
                           const std::vector<ir::Array>& expected, backend::Compiler& compiler) {
  const auto kernel = compiler.jit(f);
  const tenon_runtime backwards{run_backwards, nullptr, 3};
  for (const tenon_runtime* runtime : {static_cast<const tenon_runtime*>(nullptr), &backwards}) {
    const std::string why =
        compare(expected, run_kernel(s, f, *kernel, inputs, runtime), s.dag(), s.error_factor());
    if (!why.empty()) {
      return (runtime == nullptr ? "compiled: " : "compiled, in parallel: ") + why;
    }
  }
  return "";
}

}  // namespace

Outcome check_program(const schedule::State& s, const std::vector<ir::Array>& inputs,
                      const std::vector<ir::Array>& expected, backend::Compiler* compiler,
                      bool every_pass) {
  ir::Function last;
  std::string stage = "lower";
  std::string problem;
  lower::RunOptions options;
  options.verify = true;
  options.on_pass = [&](int, std::string_view name, const ir::Function& f, bool changed) {
    stage = "after " + std::string(name);
    last = f;
    if (every_pass && changed && problem.empty()) {
      problem = compare(expected, lower::interpret(s, f, inputs), s.dag(), s.error_factor());
      if (!problem.empty()) problem = stage + ": " + problem + "\n" + ir::to_string(f);
    }
  };
  try {
    const auto f = lower::lower(s, options);
    if (!f) return {"", true};
    if (!problem.empty()) return {problem};
    stage = "interpreted";
    problem = compare(expected, lower::interpret(s, *f, inputs), s.dag(), s.error_factor());
    if (!problem.empty()) return {"interpreted: " + problem + "\n" + ir::to_string(*f)};
    if (compiler == nullptr) return {};
    stage = "compiled";
    problem = check_compiled(s, *f, inputs, expected, *compiler);
    if (!problem.empty()) return {problem + "\n" + ir::to_string(*f)};
  } catch (const InternalError& e) {
    return {stage + ": " + e.what() + "\n" + (last.body.defined() ? ir::to_string(last) : "")};
  }
  return {};
}

}  // namespace tenon::fuzz
