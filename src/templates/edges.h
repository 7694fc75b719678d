// SPDX-License-Identifier: Apache-2.0
// The layouts that templates know by name: channels (dimension 1) in blocks, positions between.
//
//   N C H W  ->  N C/16 H W 16      block 16
//   block 1 is the plain order, a block of all channels is N H W C
#pragma once

#include <optional>
#include <string>

#include "target/target.h"
#include "templates/template.h"

namespace tenon::templates {

layout::Layout blocked(const std::vector<int64_t>& shape, int64_t block);

// The block of a layout, or nothing if it is of another kind. Where several blocks are the same memory, `prefer` is
// taken if it is one of them.
std::optional<int64_t> block_of(const layout::Layout& l, int64_t prefer);

// The block that is asked for the tensor, `prefer` if it is free, nothing if it is to be stored in another way.
std::optional<int64_t> block_for(const Request& request, const te::Tensor& t, int64_t prefer);

// The block that suits both the writer and the readers of a tensor with so many channels.
int64_t default_block(int64_t channels, int64_t element_bytes, const target::Target& t);

// The name of the innermost axis of `op` once its tensor is stored in blocks.
std::string last_axis(const te::ComputeOp& op, int64_t block);

// True if the tensor is free or to be stored in its plain order.
bool may_be_plain(const Request& request, const te::Tensor& t);

}  // namespace tenon::templates
