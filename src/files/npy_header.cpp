// SPDX-License-Identifier: Apache-2.0
#include "files/npy_header.h"

#include <fmt/format.h>

#include <optional>

#include "support/check.h"

namespace tenon::files {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeader = 1 << 20;
constexpr size_t kMaxRank = 64;

struct TypeRow {
  std::string_view name;  // after the byte order
  ir::DType dtype;
};

constexpr TypeRow kTypes[] = {
    {"b1", ir::kBool}, {"i1", ir::kI8},  {"i2", ir::kI16},  {"i4", ir::kI32}, {"i8", ir::kI64},
    {"u1", ir::kU8},   {"u2", ir::kU16}, {"u4", ir::kU32},  {"u8", ir::kU64}, {"f2", ir::kF16},
    {"f4", ir::kF32},  {"f8", ir::kF64}, {"V2", ir::kBF16},
};

// A Python dictionary literal of the three known keys, and nothing else.
class HeaderParser {
 public:
  HeaderParser(std::string_view bytes, size_t begin, size_t end, const std::string& name)
      : text_(bytes.substr(0, end)), at_(begin), name_(name) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      parse_entry();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (at_ != text_.size()) {
      fail("text after the dictionary");
    }
    if (!has_descr_ || !has_order_ || !has_shape_) {
      fail("the dictionary needs descr, fortran_order and shape");
    }
    return header_;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw UserError(name_, 0, 0, fmt::format("byte {} of the header: {}", at_, message));
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) {
      ++at_;
    }
  }
  bool accept(char c) {
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }
  void expect(char c) {
    if (!accept(c)) {
      fail(fmt::format("'{}' expected", c));
    }
  }
  std::string parse_string() {
    skip_spaces();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') {
      fail("a string expected (arrays with fields are not supported)");
    }
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) {
      fail("a string without an end");
    }
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool parse_bool() {
    skip_spaces();
    for (const auto& [word, value] :
         {std::pair{std::string_view("True"), true}, {"False", false}}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    fail("True or False expected");
  }
  int64_t parse_int() {
    skip_spaces();
    int64_t value = 0;
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (value > (INT64_MAX - 9) / 10) {
        fail("an extent that does not fit into 63 bits");
      }
      value = 10 * value + (text_[at_++] - '0');
    }
    if (at_ == begin) {
      fail("an extent expected");
    }
    accept('L');  // Python 2 wrote 3L
    return value;
  }
  std::vector<int64_t> parse_tuple() {
    expect('(');
    std::vector<int64_t> values;
    while (!accept(')')) {
      if (values.size() == kMaxRank) {
        fail(fmt::format("more than {} dimensions", kMaxRank));
      }
      values.push_back(parse_int());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }
  void parse_descr() {
    const std::string descr = parse_string();
    const char order = descr.empty() ? '\0' : descr[0];
    for (const TypeRow& row : kTypes) {
      if (descr.size() == 3 && std::string_view(descr).substr(1) == row.name &&
          (order == '<' || order == '>' || order == '|' || order == '=')) {
        header_.dtype = row.dtype;
        header_.big_endian = order == '>';
        return;
      }
    }
    fail(fmt::format("elements of type '{}' are not supported", descr));
  }
  void parse_entry() {
    const std::string key = parse_string();
    expect(':');
    if (key == "descr") {
      parse_descr();
      has_descr_ = true;
    } else if (key == "fortran_order") {
      header_.fortran_order = parse_bool();
      has_order_ = true;
    } else if (key == "shape") {
      header_.shape = parse_tuple();
      has_shape_ = true;
    } else {
      fail(fmt::format("unknown key '{}'", key));
    }
  }

  std::string_view text_;
  size_t at_;
  const std::string& name_;
  NpyHeader header_;
  bool has_descr_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

size_t little_endian(std::string_view bytes, size_t at, size_t count) {
  size_t value = 0;
  for (size_t i = count; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

}  // namespace

NpyHeader parse_npy_header(std::string_view bytes, const std::string& name) {
  if (bytes.size() < 10 || bytes.substr(0, kMagic.size()) != kMagic) {
    throw UserError(name, 0, 0, "this is no .npy file: it does not begin with \\x93NUMPY");
  }
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3) {
    throw UserError(name, 0, 0, fmt::format("version {} of .npy is not known", version));
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t begin = 8 + length_bytes;
  if (bytes.size() < begin) {
    throw UserError(name, 0, 0, "ends inside its header");
  }
  const size_t length = little_endian(bytes, 8, length_bytes);
  if (length > kMaxHeader || begin + length > bytes.size()) {
    throw UserError(
        name, 0, 0,
        fmt::format("its header claims {} bytes, the file has {}", length, bytes.size()));
  }
  NpyHeader header = HeaderParser(bytes, begin, begin + length, name).parse();
  header.data_at = begin + length;
  return header;
}

std::string npy_descr(ir::DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) {
      return fmt::format("{}{}", dtype.bytes() == 1 ? '|' : '<', row.name);
    }
  }
  TENON_CHECK(false) << "no .npy type for " << ir::to_string(dtype);
  return "";
}

}  // namespace tenon::files
