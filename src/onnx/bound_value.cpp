// SPDX-License-Identifier: Apache-2.0
#include "onnx/bound_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "onnx/open_dims.h"
#include "onnx/tensor.h"

namespace tenon::onnx {
namespace {

constexpr size_t kMostElements = 1 << 20;  // more come from files

// Words in row-major order, and how the lists around them are nested.
struct Written {
  std::vector<std::string> words;
  graph::Shape shape;
};

class ValueReader {
 public:
  ValueReader(const std::string& text, const std::string& whole) : text_(text), whole_(whole) {}

  Written read() {
    const bool bare = text_.find(',') != std::string::npos && skip() != '[';
    if (bare) {
      read_items('\0', 0);
    } else {
      read_item(0);
    }
    if (skip() != '\0') refuse("has something behind its end");
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw RequestError(fmt::format("'{}': the value {}", whole_, why),
                       "a number, true, false, or a list such as 1,2,3 or [[1,2],[3,4]]");
  }

  char skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  void read_item(size_t depth) {
    if (skip() == '[') {
      ++at_;
      read_items(']', depth);
      return;
    }
    const size_t end = std::min(text_.find_first_of(",[] ", at_), text_.size());
    if (end == at_) refuse("is not complete");
    if (depth < out_.shape.size()) refuse("has lists that are not nested alike");
    out_.words.push_back(text_.substr(at_, end - at_));
    if (out_.words.size() > kMostElements) refuse("is too long: give a file, NAME=@FILE.npy");
    at_ = end;
  }

  // Up to the closing bracket; lists of one depth have as many items as the first of them.
  void read_items(char closing, size_t depth) {
    constexpr size_t kDeepest = 12;
    if (depth >= kDeepest) refuse("has too many brackets");
    const bool first = depth == out_.shape.size();
    if (first && !out_.words.empty()) refuse("has lists that are not nested alike");
    if (first) out_.shape.push_back(0);
    int64_t count = 0;
    if (closing == '\0' || skip() != closing) {
      do {
        read_item(depth + 1);
        ++count;
      } while (skip() == ',' && ++at_ > 0);
    }
    if (closing != '\0') {
      if (skip() != closing) refuse("is not complete");
      ++at_;
    }
    if (!measured(depth)) {
      out_.shape[depth] = count;
      known_[depth] = true;
    } else if (out_.shape[depth] != count) {
      refuse("has lists of different lengths");
    }
  }

  bool measured(size_t depth) {
    if (known_.size() <= depth) known_.resize(depth + 1, false);
    return known_[depth];
  }

  const std::string& text_;
  const std::string& whole_;
  size_t at_ = 0;
  Written out_;
  std::vector<bool> known_;  // by depth: the length of the first list
};

std::optional<double> real(const std::string& word) {
  double v = 0;
  const char* end = word.data() + word.size();
  const char* begin = word.data() + (word.starts_with("+") ? 1 : 0);
  const auto [last, error] = std::from_chars(begin, end, v);
  return error == std::errc() && last == end ? std::optional(v) : std::nullopt;
}

// Whole numbers beyond 2^53 are no doubles.
template <class Int>
std::optional<Int> whole_number(const std::string& word) {
  Int v = 0;
  const char* end = word.data() + word.size();
  const auto [last, error] = std::from_chars(word.data(), end, v);
  if (error == std::errc() && last == end) return v;
  const std::optional<double> d = real(word);  // 1e6 is one too
  constexpr double kExact = 9007199254740992;
  const bool fits =
      d && std::floor(*d) == *d && std::abs(*d) <= kExact && (std::is_signed_v<Int> || *d >= 0);
  return fits ? std::optional(static_cast<Int>(*d)) : std::nullopt;
}

// False: the word is no value of the array's type.
bool set(ir::Array& a, int64_t i, const std::string& word) {
  const ir::DType t = a.dtype();
  if (t.is_bool()) {
    const bool yes = word == "true" || word == "True" || word == "1";
    a.set(i, {yes ? 1 : 0, 0});
    return yes || word == "false" || word == "False" || word == "0";
  }
  if (t.is_float()) {
    const std::optional<double> v = real(word);
    if (v) a.set_double(i, *v);
    return v.has_value();
  }
  if (t == ir::kU64) {
    const std::optional<uint64_t> v = whole_number<uint64_t>(word);
    if (v) a.set(i, {static_cast<int64_t>(*v), 0});
    return v.has_value();
  }
  const std::optional<int64_t> v = whole_number<int64_t>(word);
  if (!v || *v < ir::lowest_int(t) || *v > ir::highest_int(t)) return false;
  a.set(i, {*v, 0});
  return true;
}

// The stated shape where what is written fits it, otherwise none.
std::optional<graph::Shape> fitting(const StatedInput& in, const Written& w) {
  if (!in.has_shape) return w.shape;
  graph::Shape shape = in.shape;
  const bool one = w.shape.empty();
  if (!one && w.shape.size() != shape.size()) return std::nullopt;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t extent = one ? 1 : w.shape[d];
    if (shape[d] >= 0 && shape[d] != extent) return std::nullopt;
    shape[d] = extent;
  }
  return shape;
}

}  // namespace

ir::Array parse_bound(const StatedInput& input, const std::string& text, const std::string& whole) {
  if (!input.dtype) {
    throw RequestError(fmt::format("'{}': input '{}' is no tensor of numbers", whole, input.name));
  }
  const Written w = ValueReader(text, whole).read();
  const std::optional<graph::Shape> shape = fitting(input, w);
  if (!shape) {
    throw RequestError(fmt::format(
        "'{}': {} does not fit input '{}', which is {}", whole,
        w.shape.empty() ? "one value" : fmt::format("a list of {}", fmt::join(w.shape, "x")),
        input.name, stated_shape(input)));
  }
  ir::Array array(*input.dtype, *shape);
  for (size_t i = 0; i < w.words.size(); ++i) {
    if (!set(array, static_cast<int64_t>(i), w.words[i])) {
      throw RequestError(fmt::format("'{}': '{}' is no {}, which input '{}' has", whole, w.words[i],
                                     ir::to_string(*input.dtype), input.name));
    }
  }
  return array;
}

}  // namespace tenon::onnx
