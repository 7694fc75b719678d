// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tenon::ir {

struct DType;
struct ExprNode;
struct StmtNode;
struct BufferNode;
class Expr;
class Stmt;
class Var;
class Buffer;

#define TENON_NODE(Name) struct Name;
#include "ir/nodes.def"
#undef TENON_NODE

}  // namespace tenon::ir
