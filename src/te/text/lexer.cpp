// SPDX-License-Identifier: Apache-2.0
#include "te/text/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "support/check.h"

namespace tenon::te::text {
namespace {

constexpr size_t kMaxText = size_t{1} << 24;

// Words that mean something where a plain name could stand.
constexpr std::array<std::string_view, 11> kWords = {
    "kernel", "input", "const", "output", "and", "or", "not", "true", "false", "inf", "nan"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || is_digit(c) || c == '.'; }

int hex_digit(char c) {
  if (is_digit(c)) {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

class Lexer {
 public:
  Lexer(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  std::vector<Token> run() {
    if (text_.size() > kMaxText) {
      fail(here(), "the text is larger than 16 MiB");
    }
    while (at_ < text_.size()) {
      step();
    }
    emit(TokenKind::kNewline, here(), "");
    emit(TokenKind::kEnd, here(), "");
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  char take() {
    const char c = text_[at_++];
    column_ += 1;
    if (c == '\n') {
      line_ += 1;
      column_ = 1;
    }
    return c;
  }

  Token here() const {
    Token t;
    t.line = line_;
    t.column = column_;
    return t;
  }

  [[noreturn]] void fail(const Token& at, const std::string& message) const {
    text::fail(file_, at, message);
  }

  Token& emit(TokenKind kind, Token t, std::string text) {
    t.kind = kind;
    t.text = std::move(text);
    tokens_.push_back(std::move(t));
    return tokens_.back();
  }

  void step() {
    const char c = peek();
    if (c == '\n') {
      const Token at = here();
      take();
      if (depth_ == 0) {
        emit(TokenKind::kNewline, at, "");
      }
    } else if (c == ' ' || c == '\t' || c == '\r') {
      take();
    } else if (c == '#') {
      while (at_ < text_.size() && peek() != '\n') {
        take();
      }
    } else if (starts_name(c)) {
      name();
    } else if (c == '"') {
      quoted();
    } else if (is_digit(c)) {
      number();
    } else {
      punct();
    }
  }

  void name() {
    const Token at = here();
    std::string s;
    while (continues_name(peek())) {
      s += take();
    }
    emit(TokenKind::kName, at, s);
  }

  void quoted() {
    const Token at = here();
    take();
    std::string s;
    while (peek() != '"') {
      if (at_ >= text_.size() || peek() == '\n') {
        fail(at, "unterminated quoted name");
      }
      s += peek() == '\\' ? escaped() : take();
    }
    take();
    if (s.empty()) {
      fail(at, "empty name");
    }
    emit(TokenKind::kName, at, s).quoted = true;
  }

  char escaped() {
    const Token at = here();
    take();
    if (peek() == '"' || peek() == '\\') {
      return take();
    }
    const int high = hex_digit(peek(1));
    const int low = hex_digit(peek(2));
    if (peek() != 'x' || high < 0 || low < 0) {
      fail(at, "unknown escape in a quoted name; \\\" \\\\ and \\xNN are known");
    }
    take();
    take();
    take();
    return static_cast<char>(high * 16 + low);
  }

  void digits(std::string& s) {
    while (is_digit(peek())) {
      s += take();
    }
  }

  void number() {
    const Token at = here();
    std::string s;
    digits(s);
    bool is_float = false;
    if (peek() == '.' && is_digit(peek(1))) {
      is_float = true;
      s += take();
      digits(s);
    }
    if (peek() == 'e' || peek() == 'E') {
      is_float = true;
      s += take();
      if (peek() == '+' || peek() == '-') {
        s += take();
      }
      if (!is_digit(peek())) {
        fail(at, fmt::format("the exponent of '{}' has no digits", s));
      }
      digits(s);
    }
    if (continues_name(peek())) {
      fail(here(), fmt::format("'{}' directly after the number {}", peek(), s));
    }
    convert(emit(is_float ? TokenKind::kFloat : TokenKind::kInt, at, s));
  }

  void convert(Token& t) const {
    const char* begin = t.text.data();
    const char* end = begin + t.text.size();
    if (t.kind == TokenKind::kInt) {
      if (std::from_chars(begin, end, t.magnitude).ec != std::errc()) {
        fail(t, fmt::format("the integer {} is too large", t.text));
      }
      t.number = static_cast<double>(t.magnitude);
    } else if (std::from_chars(begin, end, t.number).ec != std::errc()) {
      fail(t, fmt::format("the number {} is out of range", t.text));
    }
  }

  void punct() {
    static constexpr std::array<std::string_view, 20> kAll = {
        "//", "==", "!=", "<=", ">=", "(", ")", "[", "]", ",",
        ":",  "=",  "+",  "-",  "*",  "/", "%", "<", ">", ";"};
    const Token at = here();
    const std::string_view rest = std::string_view(text_).substr(at_);
    for (const std::string_view p : kAll) {
      if (rest.substr(0, p.size()) == p) {
        for (size_t i = 0; i < p.size(); ++i) {
          take();
        }
        depth_ += p == "(" || p == "[" ? 1 : 0;
        depth_ -= (p == ")" || p == "]") && depth_ > 0 ? 1 : 0;
        emit(TokenKind::kPunct, at, std::string(p));
        return;
      }
    }
    const char c = peek();
    fail(at, c >= ' ' && c <= '~'
                 ? fmt::format("unexpected character '{}'", c)
                 : fmt::format("unexpected byte 0x{:02x}", static_cast<uint8_t>(c)));
  }

  const std::string& text_;
  const std::string& file_;
  size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
  int depth_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

void fail(const std::string& file, const Token& at, const std::string& message,
          const std::string& hint) {
  throw UserError(file, at.line, at.column, message, hint);
}

std::vector<Token> tokenize(const std::string& text, const std::string& file) {
  return Lexer(text, file).run();
}

std::string quote_name(const std::string& name) {
  const bool plain = !name.empty() && starts_name(name[0]) &&
                     std::all_of(name.begin(), name.end(), continues_name) &&
                     std::find(kWords.begin(), kWords.end(), name) == kWords.end();
  if (plain) {
    return name;
  }
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c < ' ' || c == '\x7f') {
      out += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string describe(const Token& t) {
  switch (t.kind) {
    case TokenKind::kNewline:
      return "end of line";
    case TokenKind::kEnd:
      return "end of text";
    default:
      return fmt::format("'{}'", t.text);
  }
}

bool Cursor::accept(std::string_view punct) {
  const bool yes = peek().is(punct);
  at_ += yes ? 1 : 0;
  return yes;
}

bool Cursor::accept_word(std::string_view word) {
  const bool yes = peek().is_word(word);
  at_ += yes ? 1 : 0;
  return yes;
}

const Token& Cursor::expect(std::string_view punct, const std::string& where) {
  if (!peek().is(punct)) {
    fail(peek(), fmt::format("expected '{}' {}, found {}", punct, where, describe(peek())));
  }
  return next();
}

void Cursor::expect_close(std::string_view punct, const Token& open) {
  if (!accept(punct)) {
    fail(peek(), fmt::format("expected '{}' to close the '{}' of line {}, column {}, found {}",
                             punct, open.text, open.line, open.column, describe(peek())));
  }
}

const Token& Cursor::expect_name(const std::string& what) {
  if (peek().kind != TokenKind::kName) {
    fail(peek(), fmt::format("expected {}, found {}", what, describe(peek())));
  }
  return next();
}

}  // namespace tenon::te::text
