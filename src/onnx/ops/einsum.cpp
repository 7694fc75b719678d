// SPDX-License-Identifier: Apache-2.0
// Einsum: "bij,bjk->bik". What has the form of a matrix product becomes one, anything else is one sum over
// the letters that the output does not have.
#include <algorithm>
#include <map>
#include <string>

#include "onnx/ops/emit.h"
#include "onnx/ops/linear.h"

namespace tenon::onnx {
namespace {

using ir::Expr;
// Of one node: their product is one expression.
constexpr size_t kMostOperands = 64;

using Labels = std::string;  // one character per dimension; those of an ellipsis are 0, 1, 2, ...

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
  std::map<char, int64_t> extent;
};

Labels ellipsis(int64_t count) {
  Labels l;
  for (int64_t d = 0; d < count; ++d) l.push_back(static_cast<char>('0' + d));
  return l;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char ch : text) {
    if (ch == at) {
      parts.emplace_back();
    } else {
      parts.back().push_back(ch);
    }
  }
  return parts;
}

bool is_letter(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z'); }

// `text` with "..." replaced by the last `wide` of the ellipsis' labels out of `widest`.
Labels labels_of(const std::string& text, int64_t wide, int64_t widest) {
  Labels l;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "...") == 0) {
      l += ellipsis(widest).substr(static_cast<size_t>(widest - wide));
      i += 2;
    } else if (is_letter(text[i])) {
      l.push_back(text[i]);
    } else {
      refuse("'{}' is not a term of an equation", text);
    }
  }
  return l;
}

// How many dimensions the ellipsis of a term stands for; 0 without one.
int64_t dots_of(const std::string& term, int64_t rank) {
  const bool dots = term.find("...") != std::string::npos;
  const int64_t letters = static_cast<int64_t>(term.size()) - (dots ? 3 : 0);
  if (letters > rank || (!dots && letters != rank)) {
    refuse("term '{}' for an operand of {} dimensions", term, rank);
  }
  return rank - letters;
}

// Letters that occur once, in order: what the output has when the equation does not say.
Labels implicit_output(const std::vector<Labels>& inputs, int64_t widest) {
  std::map<char, int> count;
  for (const Labels& l : inputs) {
    for (const char ch : l) ++count[ch];
  }
  Labels out = ellipsis(widest);
  for (const auto& [ch, n] : count) {
    if (is_letter(ch) && n == 1) out.push_back(ch);
  }
  return out;
}

Equation read_equation(Convert& c) {
  std::string text = c.string_or("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  const auto terms = split(text.substr(0, arrow), ',');
  if (terms.size() != c.num_inputs()) {
    refuse("equation '{}' for {} operands", text, c.num_inputs());
  }
  int64_t widest = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    widest = std::max(widest, dots_of(terms[i], c.rank(i)));
  }
  Equation e;
  for (size_t i = 0; i < terms.size(); ++i) {
    e.inputs.push_back(labels_of(terms[i], dots_of(terms[i], c.rank(i)), widest));
    for (size_t d = 0; d < e.inputs[i].size(); ++d) {
      int64_t& extent = e.extent.emplace(e.inputs[i][d], 1).first->second;
      const int64_t here = c.shape(i)[d];
      if (extent != 1 && here != 1 && extent != here) {
        refuse("'{}' stands for {} and for {}", e.inputs[i][d], extent, here);
      }
      extent = extent == 1 ? here : extent;
    }
  }
  e.output = arrow == std::string::npos ? implicit_output(e.inputs, widest)
                                        : labels_of(text.substr(arrow + 2), widest, widest);
  for (const char ch : e.output) {
    if (!e.extent.count(ch)) refuse("'{}' of the output is in no operand", ch);
    if (std::count(e.output.begin(), e.output.end(), ch) > 1) {
      refuse("'{}' is twice in the output", ch);
    }
  }
  return e;
}

Shape extents(const Equation& e, const Labels& labels) {
  Shape s;
  for (const char ch : labels) s.push_back(e.extent.at(ch));
  return s;
}

bool has(const Labels& l, char ch) { return l.find(ch) != Labels::npos; }

bool is_plain(Convert& c, const Equation& e, size_t input) {
  Labels sorted = e.inputs[input];
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
         c.shape(input) == extents(e, e.inputs[input]);
}

ValueId arranged(Convert& c, const Equation& e, size_t input, const Labels& wanted,
                 const Shape& shape) {
  std::vector<int64_t> perm;
  for (const char ch : wanted) perm.push_back(static_cast<int64_t>(e.inputs[input].find(ch)));
  return c.b().reshape(c.b().transpose(c.input(input), perm), shape);
}

// Batch, rows, columns and the letters that are summed over, if every letter is one of these.
struct Contraction {
  Labels batch, rows, columns, summed;
};
bool as_contraction(Convert& c, const Equation& e, Contraction& k) {
  if (e.inputs.size() != 2 || !is_plain(c, e, 0) || !is_plain(c, e, 1)) return false;
  for (const auto& [ch, extent] : e.extent) {
    const bool a = has(e.inputs[0], ch), b = has(e.inputs[1], ch), out = has(e.output, ch);
    if (!out && !(a && b)) return false;
    Labels& group = !out ? k.summed : a && b ? k.batch : a ? k.rows : k.columns;
    group.push_back(ch);
  }
  return !k.summed.empty();
}

ValueId contract(Convert& c, const Equation& e, const Contraction& k) {
  const auto size = [&](const Labels& l) { return count_elements(extents(e, l)); };
  const Shape a{size(k.batch), size(k.rows), size(k.summed)};
  const Shape b{size(k.batch), size(k.summed), size(k.columns)};
  const ValueId y = multiply(c, arranged(c, e, 0, k.batch + k.rows + k.summed, a),
                             arranged(c, e, 1, k.batch + k.summed + k.columns, b), graph::MatMul{});
  const Labels have = k.batch + k.rows + k.columns;
  std::vector<int64_t> perm;
  for (const char ch : e.output) perm.push_back(static_cast<int64_t>(have.find(ch)));
  return c.b().transpose(c.b().reshape(y, extents(e, have)), perm);
}

ValueId sum_of_products(Convert& c, const Equation& e, const std::vector<ValueId>& operands) {
  Labels summed;
  for (const auto& [ch, extent] : e.extent) {
    if (!has(e.output, ch)) summed.push_back(ch);
  }
  const Shape shape = extents(e, e.output);
  const ir::DType t = c.dtype(0);
  return c.b().compute("einsum", operands, [&](te::Builder& b, Tensors in) {
    const auto body = [&](Axes axes, Axes reduced) {
      Expr product;
      for (size_t i = 0; i < in.size(); ++i) {
        std::vector<Expr> at;
        for (size_t d = 0; d < e.inputs[i].size(); ++d) {
          const char ch = e.inputs[i][d];
          const size_t o = e.output.find(ch);
          const Expr axis = o != Labels::npos ? axes[o] : reduced[summed.find(ch)];
          at.push_back(in[i].shape()[d] == 1 ? Expr(0) : axis);
        }
        const Expr v = ir::cast(wide(t), ir::load(in[i], at));
        product = product.defined() ? product * v : v;
      }
      return product;
    };
    if (summed.empty()) {
      return b.compute("einsum", shape, [&](Axes axes) { return ir::cast(t, body(axes, {})); });
    }
    const te::Tensor sum =
        b.reduce("einsum.sum", shape, ir::BinaryOp::kAdd, extents(e, summed), body);
    return te::elementwise(b, "einsum", {sum}, [&](Args x) { return ir::cast(t, x[0]); });
  });
}

}  // namespace

std::vector<ValueId> convert_einsum(Convert& c) {
  const std::vector<ValueId> operands = all_inputs(c);
  if (operands.empty()) refuse("no operands");
  if (operands.size() > kMostOperands) {
    refuse("{} operands; at most {} are multiplied by one node", operands.size(), kMostOperands);
  }
  require_same_type(c, operands);
  const Equation e = read_equation(c);
  for (const ValueId v : operands) {
    if (is_empty(c, v)) refuse("an operand without elements");
  }
  Contraction k;
  if (as_contraction(c, e, k)) return {contract(c, e, k)};
  return {sum_of_products(c, e, operands)};
}

}  // namespace tenon::onnx
