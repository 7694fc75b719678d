// SPDX-License-Identifier: Apache-2.0
// The rows of the table in templates.cpp.
#pragma once

#include "templates/template.h"

namespace tenon::templates {

std::optional<Written> write_winograd(space::Builder& b, const Request& request);
std::optional<Written> write_strassen(space::Builder& b, const Request& request);
std::optional<Written> write_im2col(space::Builder& b, const Request& request);
std::optional<Written> write_conv(space::Builder& b, const Request& request);
std::optional<Written> write_tiled(space::Builder& b, const Request& request);
std::optional<Written> write_conv_bfloat16(space::Builder& b, const Request& request);
std::optional<Written> write_depthwise(space::Builder& b, const Request& request);
std::optional<Written> write_pair(space::Builder& b, const Request& request);
std::optional<Written> write_conv_transpose(space::Builder& b, const Request& request);
std::optional<Written> write_matmul(space::Builder& b, const Request& request);
std::optional<Written> write_matmul_bfloat16(space::Builder& b, const Request& request);
std::optional<Written> write_attention(space::Builder& b, const Request& request);
std::optional<Written> write_contraction(space::Builder& b, const Request& request);
std::optional<Written> write_pool(space::Builder& b, const Request& request);
std::optional<Written> write_rows(space::Builder& b, const Request& request);
std::optional<Written> write_reduce_all(space::Builder& b, const Request& request);
std::optional<Written> write_elementwise(space::Builder& b, const Request& request);
std::optional<Written> write_fused(space::Builder& b, const Request& request);
std::optional<Written> write_plain(space::Builder& b, const Request& request);
std::optional<Written> write_none(space::Builder& b, const Request& request);

}  // namespace tenon::templates
