// SPDX-License-Identifier: Apache-2.0
// Random small complex operators with element-wise tails, for tests of layout spaces.
#pragma once

#include <string>

#include "support/rng.h"
#include "te/ops.h"

namespace tenon::search {

// Convolutions of every kind (1d to 3d, grouped, depthwise, transposed; strides 1 to 3, dilation 1 or 2, padding or
// none) and matrix products, plain, dense and batched, followed by nothing, or a bias, a residual, a relu. Input X (and
// Z for a second factor that is not constant, S for a residual), output named R.
te::ComputeDag random_complex(Rng& rng);

}  // namespace tenon::search
