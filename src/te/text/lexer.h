// SPDX-License-Identifier: Apache-2.0
// Tokens of the text form. Newlines end statements, except inside ( ) and [ ]; # starts a comment.
// Names are letters, digits, _ and dots, or anything in double quotes ("conv/1"; \" \\ \xNN inside).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::te::text {

enum class TokenKind : uint8_t { kName, kInt, kFloat, kPunct, kNewline, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;     // the name itself, or the characters
  bool quoted = false;  // a quoted name is never a keyword
  uint64_t magnitude = 0;
  double number = 0;
  int line = 0;
  int column = 0;

  bool is(std::string_view punct) const { return kind == TokenKind::kPunct && text == punct; }
  bool is_word(std::string_view word) const {
    return kind == TokenKind::kName && !quoted && text == word;
  }
};

[[noreturn]] void fail(const std::string& file, const Token& at, const std::string& message,
                       const std::string& hint = "");

std::vector<Token> tokenize(const std::string& text, const std::string& file);

// The name as it must be written: quoted if it is not plain or is a word of the language.
std::string quote_name(const std::string& name);
// "'max'", "end of line": for messages.
std::string describe(const Token& t);

// A position in the tokens, with the steps that every rule of the grammar takes.
class Cursor {
 public:
  Cursor(std::vector<Token> tokens, std::string file)
      : tokens_(std::move(tokens)), file_(std::move(file)) {}
  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& next() {
    const Token& t = peek();
    at_ += t.kind == TokenKind::kEnd ? 0 : 1;
    return t;
  }
  bool accept(std::string_view punct);
  bool accept_word(std::string_view word);
  const Token& expect(std::string_view punct, const std::string& where);
  void expect_close(std::string_view punct, const Token& open);
  const Token& expect_name(const std::string& what);
  [[noreturn]] void fail(const Token& at, const std::string& message,
                         const std::string& hint = "") const {
    text::fail(file_, at, message, hint);
  }

 private:
  std::vector<Token> tokens_;
  std::string file_;
  size_t at_ = 0;
};

}  // namespace tenon::te::text
