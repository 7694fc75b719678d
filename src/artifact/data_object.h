// SPDX-License-Identifier: Apache-2.0
// Bytes as a relocatable object, so that a linker puts them into a library as they are.
//
//   data_object(arch, "net_rt_weights", bytes)   =>   net_rt_weights: hidden, read-only, at a multiple of 4096
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "target/target.h"

namespace tenon::artifact {

// Code reaches two gigabytes in each direction; beside the data there is some of it.
inline constexpr int64_t kMostEmbedded = (int64_t{1} << 31) - (int64_t{64} << 20);

std::string data_object(target::Arch arch, const std::string& symbol, std::string_view bytes);

}  // namespace tenon::artifact
