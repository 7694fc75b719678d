// SPDX-License-Identifier: Apache-2.0
// OpenBLAS: sgemm on plain row-major matrices (it packs inside each call), sdot for the 2-norm.
#include <cblas.h>

#include <cmath>
#include <limits>
#include <memory>

#include "bench/kernels/sources.h"

namespace tenon::bench {
namespace {

using Output = std::shared_ptr<std::vector<float>>;

Output poisoned(int64_t count) {
  return std::make_shared<std::vector<float>>(static_cast<size_t>(count),
                                              std::numeric_limits<float>::quiet_NaN());
}

timing::Contestant sgemm(const Workload& w, const Data& data) {
  const float* a = data.inputs[0].values.data();
  const float* b = data.inputs[1].values.data();
  const Output c = poisoned(w.m * w.n);
  const auto m = static_cast<blasint>(w.m);
  const auto n = static_cast<blasint>(w.n);
  const auto k = static_cast<blasint>(w.k);
  return {.name = "openblas",
          .run =
              [=] {
                cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0F, a, k, b, n,
                            0.0F, c->data(), n);
              },
          .output = [c] { return *c; }};
}

timing::Contestant sdot(const Workload& w, const Data& data) {
  const float* x = data.inputs[0].values.data();
  const Output out = poisoned(1);
  const auto count = static_cast<blasint>(w.m * w.n);
  return {.name = "openblas",
          .run = [=] { (*out)[0] = std::sqrt(cblas_sdot(count, x, 1, x, 1)); },
          .output = [out] { return *out; }};
}

}  // namespace

std::vector<timing::Contestant> make_openblas(const Workload& w, const Data& data,
                                              const tenon_runtime* rt) {
  openblas_set_num_threads(rt->threads);
  switch (w.kind) {
    case Kind::kMatmul:
      return {sgemm(w, data)};
    case Kind::kNorm2:
      return {sdot(w, data)};
    default:
      return {};
  }
}

// "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ... Cooperlake": the second word is the version.
std::string openblas_version() {
  const std::string text = openblas_get_config();
  const size_t begin = text.find(' ') + 1;
  return text.substr(begin, text.find(' ', begin) - begin) + " " + openblas_get_corename();
}

}  // namespace tenon::bench
