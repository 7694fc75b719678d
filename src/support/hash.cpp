// SPDX-License-Identifier: Apache-2.0
#include "support/hash.h"

#include <bit>

namespace tenon {

Hasher& Hasher::add(double v) { return add(std::bit_cast<uint64_t>(v)); }

}  // namespace tenon
