// SPDX-License-Identifier: Apache-2.0
// Windows and transforms of signals.
#include "graph_fuzz/rows.h"

namespace tenon::graph_fuzz {
namespace {

bool window(Draft& d, const Row& row) {
  return d.node(row.name(), {d.int_scalar(d.rng().between(2, 20)).name},
                {{"periodic", d.rng().between(0, 1)}});
}

// Real or complex numbers in the last dimension.
bool dft(Draft& d, const Row& row) {
  const Drawn x = d.leaf(d.type_among(row.types),
                         {d.rng().between(1, 2), d.rng().between(1, 12), d.rng().between(1, 2)});
  const bool inverse = d.rng().chance(0.3);
  Attributes a;
  if (inverse) a.emplace_back("inverse", int64_t{1});
  if (!inverse && x.extent(2) == 1 && d.rng().chance(0.5)) a.emplace_back("onesided", int64_t{1});
  if (d.opset() < 20) {
    a.emplace_back("axis", int64_t{1});
    return d.node(row.name(), {x.name}, a);
  }
  return d.node(row.name(), {x.name, "", d.int_scalar(1).name}, a);
}

bool mel_weights(Draft& d, const Row& row) {
  return d.node(row.name(), {d.int_scalar(d.rng().between(2, 6)).name, d.int_scalar(16).name,
                             d.int_scalar(8192).name, d.constant(ir::Array(ir::kF32, {})).name,
                             d.constant(ir::kF32, {}, {3000, 4096, true}).name});
}

const Row kSignalRows[] = {
    {"BlackmanWindow", 17, 21, kI64, window},       {"DFT", 17, 21, kF32, dft},
    {"HammingWindow", 17, 21, kI64, window},        {"HannWindow", 17, 21, kI64, window},
    {"MelWeightMatrix", 17, 21, kI64, mel_weights},
};

}  // namespace

std::span<const Row> rows_signal() { return kSignalRows; }

}  // namespace tenon::graph_fuzz
