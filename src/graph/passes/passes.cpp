// SPDX-License-Identifier: Apache-2.0
#include "graph/passes.h"

#include <algorithm>
#include <chrono>

namespace tenon::graph {
namespace {

constexpr Pass kPasses[] = {
    {"fold_but_weights", "constants, but for 8-bit weights that are made real", fold_but_weights},
    {"store_unsigned", "i8 between quantising and dequantising becomes u8", store_unsigned},
    {"delay_dequantize", "moves and maxima are taken of 8-bit numbers", delay_dequantize},
    {"integer_products", "products of dequantised 8-bit numbers become integer sums",
     integer_products},
    {"integer_sums", "sums over dequantised images become integer sums", integer_sums},
    {"pad_channels", "integer convolutions get whole groups of four channels", pad_channels},
    {"fold_constants", "what depends on constants alone is computed now", fold_constants},
    {"byte_tables", "functions of one 8-bit number become tables", byte_tables},
    {"fold_padding", "zeros around the input of a convolution become its own", fold_padding},
    {"simplify_moves", "transposes and reshapes that cancel or compose", simplify_moves},
    {"merge_equal", "equal nodes on equal inputs become one", merge_equal},
    {"fold_scales", "batch norm and scales go into the weights", fold_scales},
    {"delay_scales", "constant factors of a product's operand follow it", delay_scales},
    {"widen_transposed", "phases of transposed convolutions side by side fill vectors",
     widen_transposed},
    {"sink_reshapes", "maps behind a view of a product become its epilogue", sink_reshapes},
    {"simplify_moves_again", "after folding", simplify_moves},
    {"scale_weights", "factors per channel in front of a pointwise convolution", scale_weights},
    {"merge_products", "projections of one tensor for attention are one product", merge_products},
    {"compose_moves", "moves behind each other become one", compose_moves},
    {"spread_dequantize", "each reader of 8-bit numbers makes them real itself", spread_dequantize},
};

}  // namespace

std::span<const Pass> passes() { return kPasses; }

void optimize(Graph& g, const PassContext& context, const OptimizeOptions& options) {
  g.compact();
  for (const Pass& p : kPasses) {
    if (std::find(options.skip.begin(), options.skip.end(), p.name) != options.skip.end()) continue;
    const auto start = std::chrono::steady_clock::now();
    p.run(g, context);
    if (options.verify) g.verify();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (options.watch) options.watch(p.name, g, took.count());
  }
}

}  // namespace tenon::graph
