// SPDX-License-Identifier: Apache-2.0
#include "simt/harness.h"

#include <cstdlib>

#include "backend/backend.h"
#include "simt/run_module.h"
#include "support/check.h"

namespace tenon::simt {

using runtime::cuda::Driver;
using runtime::cuda::Status;

const Driver& driver() {
  static const Driver* opened = [] {
    setenv("TENON_CUDA_LIBRARY", TENON_SIMT_LIBRARY, 1);
    char sentence[runtime::kSentenceBytes];
    const Driver* d = runtime::cuda::open_driver(sentence);
    TENON_CHECK(d != nullptr) << sentence;
    TENON_CHECK(d->Init(0) == runtime::cuda::kSuccess);
    return d;
  }();
  return *opened;
}

const target::Target& gpu(const std::string& processor) {
  for (const target::Target& t : target::gpu_targets()) {
    if (t.gpu().processor == processor) return t;
  }
  TENON_CHECK(false) << processor;
  return target::gpu_targets().front();
}

const target::Target& simt_target() { return gpu("simt"); }

backend::GpuModule compile(const ir::Function& f) {
  static const auto compiler = backend::make_compiler(simt_target());
  return backend::gpu_module_from(compiler->emit(f, backend::Emit::kObject).bytes);
}

Status run(const ir::Function& f, std::vector<ir::Array>& args) {
  return run_module(driver(), compile(f), args);
}

}  // namespace tenon::simt
