// SPDX-License-Identifier: Apache-2.0
// One offset per access instead of one index per dimension.
//   A[i, j]  =>  A[i*64 + j]
#pragma once

#include "lower/pass.h"

namespace tenon::lower {

ir::Stmt flatten(const ir::Stmt& s, const PassContext& ctx);

}  // namespace tenon::lower
