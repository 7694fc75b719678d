// SPDX-License-Identifier: Apache-2.0
#include "fuzz/run_program.h"

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

Outcome check_program(const schedule::State& s, const std::vector<ir::Array>& inputs,
                      const std::vector<ir::Array>& expected,
                      backend::llvm_cpu::Compiler* compiler) {
  ir::Function last;
  lower::RunOptions options;
  options.verify = true;
  options.on_pass = [&](int, std::string_view, const ir::Function& f, bool) { last = f; };
  try {
    const auto f = lower::lower(s, options);
    if (!f) return {"", true};
    std::string problem = compare(expected, lower::interpret(s, *f, inputs), s.dag());
    if (!problem.empty()) return {"interpreted: " + problem + "\n" + ir::to_string(*f)};
    if (compiler == nullptr) return {};
    const auto kernel = compiler->jit(*f);
    problem = compare(expected, run_kernel(s, *f, *kernel, inputs), s.dag());
    if (!problem.empty()) return {"compiled: " + problem + "\n" + ir::to_string(*f)};
  } catch (const InternalError& e) {
    return {std::string(e.what()) + "\n" + (last.body.defined() ? ir::to_string(last) : "")};
  }
  return {};
}

}  // namespace tenon::fuzz
