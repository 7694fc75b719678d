// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "support/check.h"
#include "te/bounds.h"
#include "te/limits.h"
#include "te/text.h"
#include "te/text/lexer.h"
#include "te/text/parse_expr.h"

namespace tenon::te {
namespace {

using ir::BinaryOp;
using text::Cursor;
using text::Token;
using text::TokenKind;

constexpr std::array<std::pair<std::string_view, BinaryOp>, 8> kReductions = {{
    {"sum", BinaryOp::kAdd},
    {"prod", BinaryOp::kMul},
    {"min", BinaryOp::kMin},
    {"max", BinaryOp::kMax},
    {"minimum", BinaryOp::kMinimum},
    {"maximum", BinaryOp::kMaximum},
    {"all", BinaryOp::kAnd},
    {"any", BinaryOp::kOr},
}};

class DagParser {
 public:
  DagParser(const std::string& source, const std::string& file)
      : cursor_(text::tokenize(source, file), file) {}

  ComputeDag run() {
    while (cursor_.peek().kind != TokenKind::kEnd) {
      if (cursor_.peek().kind != TokenKind::kNewline) {
        statement();
        end_statement();
      } else {
        cursor_.next();
      }
    }
    check_uses();
    dag_.validate();
    return std::move(dag_);
  }

 private:
  void end_statement() {
    if (cursor_.peek().kind != TokenKind::kNewline) {
      cursor_.fail(cursor_.peek(),
                   fmt::format("expected end of line, found {}", describe(cursor_.peek())));
    }
    cursor_.next();
  }

  void statement() {
    if (cursor_.accept_word("kernel")) {
      dag_.name = cursor_.expect_name("a name for the kernel").text;
    } else if (cursor_.accept_word("input")) {
      input(false);
    } else if (cursor_.accept_word("const")) {
      input(true);
    } else if (cursor_.accept_word("output")) {
      do {
        output();
      } while (cursor_.accept(","));
    } else {
      op();
    }
  }

  const Token& new_name(const std::string& what) {
    const Token& name = cursor_.expect_name(what);
    if (names_.tensors.count(name.text) != 0) {
      cursor_.fail(name, fmt::format("the name '{}' is taken already", name.text));
    }
    return name;
  }

  int64_t extent() {
    const Token& t = cursor_.next();
    const bool negative = t.is("-");
    const Token& n = negative ? cursor_.next() : t;
    if (n.kind != TokenKind::kInt) {
      cursor_.fail(n, fmt::format("expected an extent, found {}", describe(n)));
    }
    if (negative || n.magnitude < 1 || n.magnitude > static_cast<uint64_t>(kMaxExtent)) {
      cursor_.fail(t, fmt::format("extent {}{} is not in 1..2^31", negative ? "-" : "", n.text));
    }
    return static_cast<int64_t>(n.magnitude);
  }

  void check_shape(const Token& name, const std::vector<int64_t>& shape, const char* what) {
    if (const std::string why = shape_error(shape); !why.empty()) {
      cursor_.fail(name, fmt::format("{}'{}': {}", what, name.text, why));
    }
  }

  // input NAME: TYPE[4, 5]
  void input(bool constant) {
    const Token name = new_name("the name of an input");
    if (dag_.inputs.size() >= kMaxInputs) {
      cursor_.fail(name, fmt::format("there are more than {} inputs", kMaxInputs));
    }
    cursor_.expect(":", "after the name of an input");
    const Token& type = cursor_.expect_name("a type");
    const auto dtype = ir::parse_dtype(type.text);
    if (!dtype || dtype->is_vector()) {
      cursor_.fail(type, fmt::format("unknown type '{}'", type.text),
                   "types: bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64");
    }
    const Token open = cursor_.expect("[", "after the type of an input");
    std::vector<int64_t> shape;
    if (!cursor_.accept("]")) {
      do {
        shape.push_back(extent());
      } while (cursor_.accept(","));
      cursor_.expect_close("]", open);
    }
    check_shape(name, shape, "");
    dag_.inputs.push_back({Tensor::make(name.text, *dtype, shape), constant});
    names_.tensors[name.text] = dag_.inputs.back().tensor;
  }

  void output() {
    const Token& name = cursor_.expect_name("the name of an output");
    const auto found = names_.tensors.find(name.text);
    if (found == names_.tensors.end()) {
      cursor_.fail(name, fmt::format("unknown tensor '{}'", name.text));
    }
    if (dag_.producer(found->second) == nullptr) {
      cursor_.fail(name, fmt::format("output '{}' is an input, not computed", name.text));
    }
    if (!outputs_.insert(name.text).second) {
      cursor_.fail(name, fmt::format("'{}' is an output twice", name.text));
    }
    dag_.outputs.push_back(found->second);
  }

  // i: 4, j: 5
  std::vector<Axis> axes(std::string_view close, const Token& open) {
    std::vector<Axis> all;
    if (cursor_.accept(close)) {
      return all;
    }
    do {
      const Token name = cursor_.expect_name("the name of an axis");
      cursor_.expect(":", fmt::format("and an extent after axis '{}'", name.text));
      all.push_back({ir::Var(name.text), extent()});
      if (!names_.axes.emplace(name.text, all.back().var).second) {
        cursor_.fail(name, fmt::format("axis '{}' appears twice", name.text));
      }
    } while (cursor_.accept(","));
    cursor_.expect_close(close, open);
    return all;
  }

  // sum(k: 8) in front of a body; min, max, minimum and maximum are functions unless an axis follows.
  std::optional<BinaryOp> reduction_ahead() const {
    const Token& word = cursor_.peek();
    for (const auto& [name, code] : kReductions) {
      if (word.is_word(name) && cursor_.peek(1).is("(")) {
        const bool has_axis = cursor_.peek(2).kind == TokenKind::kName && cursor_.peek(3).is(":");
        const bool only_reduces = code != BinaryOp::kMin && code != BinaryOp::kMax &&
                                  code != BinaryOp::kMinimum && code != BinaryOp::kMaximum;
        return has_axis || only_reduces ? std::optional(code) : std::nullopt;
      }
    }
    return std::nullopt;
  }

  void reduction(ComputeOp& op, BinaryOp code) {
    const Token word = cursor_.next();
    const Token open = cursor_.next();
    op.combiner = code;
    op.reduce_axes = axes(")", open);
    std::vector<int64_t> extents;
    for (const Axis& a : op.reduce_axes) {
      extents.push_back(a.extent);
    }
    if (extents.empty()) {
      cursor_.fail(word, fmt::format("'{}' has no axis to reduce over", word.text));
    }
    check_shape(word, extents, "axes of ");
  }

  // NAME[i: 4, j: 5] = sum(k: 8) BODY
  void op() {
    const Token name = new_name("a statement");
    if (!cursor_.peek().is("[")) {
      cursor_.fail(cursor_.peek(),
                   fmt::format("expected '[' and axes after '{}', found {}", name.text,
                               describe(cursor_.peek())),
                   "statements: input, const, output, kernel, NAME[axes] = expression");
    }
    if (dag_.ops.size() >= kMaxOps) {
      cursor_.fail(name, fmt::format("there are more than {} ops", kMaxOps));
    }
    const Token open = cursor_.next();
    auto op = std::make_shared<ComputeOp>();
    names_.axes.clear();
    op->axes = axes("]", open);
    std::vector<int64_t> shape;
    for (const Axis& a : op->axes) {
      shape.push_back(a.extent);
    }
    check_shape(name, shape, "");
    cursor_.expect("=", fmt::format("after the axes of '{}'", name.text));
    const std::optional<BinaryOp> combiner = reduction_ahead();
    const Token at = cursor_.peek();
    if (combiner) {
      reduction(*op, *combiner);
    }
    body(*op, at);
    op->output = Tensor::make(name.text, op->body.dtype(), shape);
    names_.tensors[name.text] = op->output;
    places_.push_back(name);
    dag_.ops.push_back(std::move(op));
  }

  void body(ComputeOp& op, const Token& reduction) {
    text::ExprParser expr(cursor_, names_);
    const text::Operand o = expr.parse();
    if (o.literal()) {
      cursor_.fail(o.at, "the type of this constant is not known",
                   "write it with its type, as in f32(0.0)");
    }
    op.body = o.expr;
    if (op.is_reduction()) {
      const bool logical = *op.combiner == BinaryOp::kAnd || *op.combiner == BinaryOp::kOr;
      const bool floats = *op.combiner == BinaryOp::kMinimum || *op.combiner == BinaryOp::kMaximum;
      if (logical != op.body.dtype().is_bool() || (floats && !op.body.dtype().is_float())) {
        cursor_.fail(reduction, fmt::format("type mismatch: '{}' of {}", reduction.text,
                                            ir::to_string(op.body.dtype())));
      }
    }
    if (const auto error = check_bounds(op)) {
      cursor_.fail(expr.places().at(error->load), error->message, error->hint);
    }
  }

  void check_uses() {
    if (dag_.outputs.empty()) {
      cursor_.fail(cursor_.peek(), "nothing is an output", "add a line 'output NAME'");
    }
    for (size_t i = 0; i < dag_.ops.size(); ++i) {
      const ComputeOp& op = *dag_.ops[i];
      if (outputs_.count(op.name()) == 0 && dag_.readers(op.output).empty()) {
        cursor_.fail(places_[i],
                     fmt::format("'{}' is computed but neither read nor an output", op.name()));
      }
    }
  }

  Cursor cursor_;
  ComputeDag dag_;
  text::Names names_;
  std::set<std::string> outputs_;
  std::vector<Token> places_;  // of each op
};

}  // namespace

ComputeDag parse(const std::string& text, const std::string& file) {
  return DagParser(text, file).run();
}

}  // namespace tenon::te
