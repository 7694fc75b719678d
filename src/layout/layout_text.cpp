// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <charconv>

#include "layout/layout.h"
#include "support/check.h"

namespace tenon::layout {
namespace {

constexpr LayoutOp kOps[] = {LayoutOp::kSplit,  LayoutOp::kReorder, LayoutOp::kFuse,
                             LayoutOp::kPad,    LayoutOp::kUnfold,  LayoutOp::kStoreAt,
                             LayoutOp::kSwizzle};

// Written as a list in brackets rather than as separate numbers.
bool takes_list(LayoutOp op) { return op == LayoutOp::kSplit || op == LayoutOp::kReorder; }

std::string to_text(const LayoutStep& step) {
  const std::string args = fmt::format("{}", fmt::join(step.args, ","));
  if (step.op == LayoutOp::kReorder) {
    return fmt::format("reorder([{}])", args);
  }
  const char* form = takes_list(step.op) ? "{}({},[{}])" : "{}({},{})";
  return fmt::format(fmt::runtime(form), to_string(step.op), step.dim, args);
}

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Layout parse(std::vector<int64_t> shape) {
    Layout l(std::move(shape));
    skip();
    while (at_ < text_.size()) {
      if (!l.steps().empty()) {
        expect('.');
      }
      skip();
      const size_t start = at_;
      const LayoutStep step = parse_step();
      if (const std::string reason = l.why_not(step); !reason.empty()) {
        at_ = start;
        fail(reason);
      }
      l = l.then(step);
      skip();
    }
    return l;
  }

 private:
  [[noreturn]] void fail(const std::string& message, const std::string& hint = "") const {
    throw UserError("layout", 1, static_cast<int>(at_) + 1, message, hint);
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
  }
  bool eat(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) {
      return false;
    }
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!eat(c)) {
      fail(fmt::format("'{}' expected", c));
    }
  }
  int64_t number() {
    skip();
    int64_t v = 0;
    const char* first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), v);
    if (error != std::errc()) {
      fail("a number expected");
    }
    at_ += static_cast<size_t>(end - first);
    return v;
  }
  LayoutOp op() {
    const size_t start = at_;
    while (at_ < text_.size() &&
           (std::islower(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      ++at_;
    }
    const std::string_view word(text_.data() + start, at_ - start);
    for (const LayoutOp o : kOps) {
      if (to_string(o) == word) {
        return o;
      }
    }
    at_ = start;
    fail(fmt::format("'{}' is not a layout primitive", word),
         "split, reorder, fuse, pad, unfold, store_at, swizzle");
  }
  LayoutStep parse_step() {
    LayoutStep step{op(), 0, {}};
    expect('(');
    if (step.op != LayoutOp::kReorder) {
      step.dim = number();
      expect(',');
    }
    const bool list = takes_list(step.op);
    if (list) {
      expect('[');
    }
    do {
      step.args.push_back(number());
    } while (eat(','));
    if (list) {
      expect(']');
    }
    expect(')');
    return step;
  }

  const std::string& text_;
  size_t at_ = 0;
};

}  // namespace

std::string to_string(const Layout& l) {
  std::string out;
  for (const LayoutStep& step : l.steps()) {
    out += (out.empty() ? "" : ".") + to_text(step);
  }
  return out;
}

Layout parse_layout(const std::string& text, std::vector<int64_t> logical_shape) {
  return Parser(text).parse(std::move(logical_shape));
}

}  // namespace tenon::layout
