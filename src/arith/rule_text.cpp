// SPDX-License-Identifier: Apache-2.0
#include "arith/rule_text.h"

#include <array>
#include <cctype>

#include "arith/rules.h"
#include "support/check.h"

namespace tenon::arith {
namespace {

using ir::BinaryOp;

constexpr std::string_view kLetters[kRuleLetters] = {"x", "y", "z",  "w",  "p",
                                                     "q", "r", "c0", "c1", "c2"};

class Parser {
 public:
  Parser(std::string_view text, RulePool& pool) : text_(text), pool_(pool) {}
  int parse() {
    const int root = disjunction();
    skip();
    TENON_CHECK(at_ == text_.size()) << "rule '" << text_ << "' at " << at_;
    return root;
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
  }
  bool eat(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) {
      return false;
    }
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    TENON_CHECK(eat(token)) << "rule '" << text_ << "' lacks " << token << " at " << at_;
  }
  int make(RuleNode n) {
    pool_.push_back(n);
    return static_cast<int>(pool_.size()) - 1;
  }
  int binary(BinaryOp op, int a, int b) { return make({RuleNode::kBinary, op, 0, a, b}); }

  int disjunction() {
    int a = conjunction();
    while (eat("||")) {
      a = binary(BinaryOp::kOr, a, conjunction());
    }
    return a;
  }
  int conjunction() {
    int a = comparison();
    while (eat("&&")) {
      a = binary(BinaryOp::kAnd, a, comparison());
    }
    return a;
  }
  int comparison() {
    const int a = sum();
    if (eat("<=")) return binary(BinaryOp::kLe, a, sum());
    if (eat("<")) return binary(BinaryOp::kLt, a, sum());
    if (eat("==")) return binary(BinaryOp::kEq, a, sum());
    if (eat("!=")) return binary(BinaryOp::kNe, a, sum());
    return a;
  }
  int sum() {
    int a = product();
    for (;;) {
      if (eat("+")) {
        a = binary(BinaryOp::kAdd, a, product());
      } else if (eat("-")) {
        a = binary(BinaryOp::kSub, a, product());
      } else {
        return a;
      }
    }
  }
  int product() {
    int a = primary();
    for (;;) {
      if (eat("*")) {
        a = binary(BinaryOp::kMul, a, primary());
      } else if (eat("//")) {
        a = binary(BinaryOp::kFloorDiv, a, primary());
      } else if (eat("/")) {
        a = binary(BinaryOp::kDiv, a, primary());
      } else if (eat("%")) {
        a = binary(BinaryOp::kFloorMod, a, primary());
      } else {
        return a;
      }
    }
  }
  int primary() {
    if (eat("!")) return make({RuleNode::kNot, BinaryOp::kAdd, 0, primary()});
    if (eat("(")) {
      const int a = disjunction();
      expect(")");
      return a;
    }
    skip();
    const size_t start = at_;
    while (at_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    }
    return word(text_.substr(start, at_ - start));
  }
  int word(std::string_view w) {
    if (w == "min") return pair(BinaryOp::kMin);
    if (w == "max") return pair(BinaryOp::kMax);
    if (w == "select") {
      const auto [a, b, c] = three();
      return make({RuleNode::kSelect, BinaryOp::kAdd, 0, a, b, c});
    }
    if (w == "true" || w == "false") return make({RuleNode::kTruth, BinaryOp::kAdd, w == "true"});
    for (size_t i = 0; i < kRuleLetters; ++i) {
      if (w == kLetters[i])
        return make({RuleNode::kLetter, BinaryOp::kAdd, static_cast<int64_t>(i)});
    }
    TENON_CHECK(w == "0" || w == "1") << "rule '" << text_ << "' has '" << w << "'";
    return make({RuleNode::kNumber, BinaryOp::kAdd, w[0] - '0'});
  }
  int pair(BinaryOp op) {
    expect("(");
    const int a = disjunction();
    expect(",");
    const int b = disjunction();
    expect(")");
    return binary(op, a, b);
  }
  std::array<int, 3> three() {
    expect("(");
    const int a = disjunction();
    expect(",");
    const int b = disjunction();
    expect(",");
    const int c = disjunction();
    expect(")");
    return {a, b, c};
  }

  std::string_view text_;
  RulePool& pool_;
  size_t at_ = 0;
};

}  // namespace

int parse_rule(std::string_view text, RulePool& pool) { return Parser(text, pool).parse(); }

}  // namespace tenon::arith
