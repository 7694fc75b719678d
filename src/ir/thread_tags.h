// SPDX-License-Identifier: Apache-2.0
// A thread tag names blocks or threads of a GPU along x, y or z, or the virtual threads of one thread.
//
//   is_block_tag(kBlockY)    is_real_thread(kThreadY)    dimension_of(kBlockY) == dimension_of(kThreadY) == 1
#pragma once

#include <cstddef>

#include "ir/ir.h"
#include "support/check.h"

namespace tenon::ir {

inline bool is_block_tag(ThreadTag tag) {
  return tag >= ThreadTag::kBlockX && tag <= ThreadTag::kBlockZ;
}
inline bool is_real_thread(ThreadTag tag) {
  return tag >= ThreadTag::kThreadX && tag <= ThreadTag::kThreadZ;
}
// The tag names threads of a block; virtual ones count too.
inline bool is_thread_tag(ThreadTag tag) {
  return is_real_thread(tag) || tag == ThreadTag::kVThread;
}

// 0, 1, 2 for x, y, z.
inline size_t dimension_of(ThreadTag tag) {
  TENON_CHECK(is_block_tag(tag) || is_real_thread(tag))
      << "thread tag " << static_cast<int>(tag) << " is no dimension of a GPU";
  const ThreadTag first = is_block_tag(tag) ? ThreadTag::kBlockX : ThreadTag::kThreadX;
  return static_cast<size_t>(tag) - static_cast<size_t>(first);
}

}  // namespace tenon::ir
