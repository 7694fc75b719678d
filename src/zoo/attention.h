// SPDX-License-Identifier: Apache-2.0
// The parts of a transformer layer, on x: [batch, tokens, width], as PyTorch exports them.
#pragma once

#include "zoo/model_builder.h"

namespace tenon::zoo {

// One LayerNormalization from opset 17 on; before that the nine nodes that it stands for.
Tensor layer_norm(ModelBuilder& m, const std::string& name, const Tensor& x, double epsilon);

// 0.5 x (1 + erf(x / sqrt 2))
Tensor gelu(ModelBuilder& m, const std::string& name, const Tensor& x);

// softmax(q k' / sqrt(d) + mask) v, for q: [batch, heads, tokens, d], v alike and k_transposed:
// [batch, heads, d, tokens]; a mask without a name is absent. Gives [batch, tokens, heads * d].
Tensor attend(ModelBuilder& m, const std::string& name, const Tensor& q, const Tensor& k_transposed,
              const Tensor& v, const Tensor& mask);

}  // namespace tenon::zoo
