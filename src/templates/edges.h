// SPDX-License-Identifier: Apache-2.0
// The layouts that templates know by name: channels (dimension 1) in blocks, positions between.
//
//   N C H W  ->  N C/16 H W 16      block 16
//   block 1 is the plain order, a block of all channels is N H W C
#pragma once

#include <optional>
#include <string>

#include "space/builder.h"
#include "support/function_ref.h"
#include "templates/template.h"

namespace tenon::templates {

layout::Layout blocked(const std::vector<int64_t>& shape, int64_t block);

// The block of a layout, or nothing if it is of another kind. Where several blocks are the same
// memory, `prefer` is taken if it is one of them.
std::optional<int64_t> block_of(const layout::Layout& l, int64_t prefer);

// The block that is asked for the tensor, `prefer` if it is free, nothing if it is to be stored in
// another way.
std::optional<int64_t> block_for(const Request& request, const te::Tensor& t, int64_t prefer);

// Bytes that an element counts for in a block of channels: numbers of 8 bits lie in blocks as long as those of their sums,
// which are of 32, so that all tensors between convolutions are stored alike.
int64_t block_bytes(ir::DType t);

// The block that suits both the writer and the readers of a tensor with so many channels.
int64_t default_block(int64_t channels, int64_t element_bytes, const target::Cpu& t);

// Stores tensors that are best stored alike (anchor.h: stored_like_output) in blocks: those of the
// request, else `block`. What is to be stored in another way is left alone. Returns the names of
// the tensors that were stored.
std::vector<std::string> store_alike(space::Builder& b, const Request& request,
                                     const std::vector<std::string>& names, int64_t block,
                                     FunctionRef<layout::Layout(int64_t)> in_blocks);

// The innermost axis of a computed stage as it is stored by now.
space::Loop last_axis(const space::Builder& b, space::StageRef stage);

// True if the tensor is free or to be stored in its plain order.
bool may_be_plain(const Request& request, const te::Tensor& t);

}  // namespace tenon::templates
