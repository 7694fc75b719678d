// SPDX-License-Identifier: Apache-2.0
#include "files/npy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "files/random_array.h"

namespace tenon::files {
namespace {

using testing::kAllTypes;
using testing::random_array;
using testing::same_array;
using testing::user_error;

const std::vector<std::vector<int64_t>> kShapes = {{},     {1},       {7},         {0},
                                                   {3, 5}, {2, 0, 3}, {2, 3, 5, 1}};

TEST(Npy, RoundTripsEveryType) {
  Rng rng(1);
  for (const ir::DType dtype : kAllTypes) {
    for (const auto& shape : kShapes) {
      const ir::Array array = random_array(dtype, shape, rng);
      const std::string bytes = npy_bytes(array);
      EXPECT_EQ((bytes.size() - static_cast<size_t>(array.bytes())) % 64, 0U);
      EXPECT_TRUE(same_array(parse_npy(bytes, "x"), array)) << ir::to_string(dtype);
    }
  }
}

// A file of version `version` around `dict` and `data`, as other programs may write it.
std::string file_of(const std::string& dict, const std::string& data, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes.push_back(static_cast<char>(version));
  bytes.push_back('\0');
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    bytes.push_back(static_cast<char>(dict.size() >> (8 * i) & 0xff));
  }
  return bytes + dict + data;
}

std::string dict_of(const std::string& descr, const std::string& order, const std::string& shape) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}\n", descr, order,
                     shape);
}

TEST(Npy, MatchesTheBytesOfNumpy) {
  ir::Array array(ir::kI16, {2});
  array.set_double(0, 1);
  array.set_double(1, -2);
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }";
  expected.append(128 - 1 - expected.size(), ' ');
  expected += '\n';
  expected += std::string("\x01\x00\xfe\xff", 4);
  EXPECT_EQ(npy_bytes(array), expected);
}

TEST(Npy, ReadsOtherSpellings) {
  const std::string data("\x01\x00\x02\x00\x03\x00", 6);
  for (const int version : {1, 2, 3}) {
    for (const char* shape : {"(3,)", "(3)", "( 3 , )", "(3L,)"}) {
      const ir::Array a = parse_npy(file_of(dict_of("<u2", "False", shape), data, version), "x");
      EXPECT_EQ(a.shape(), (std::vector<int64_t>{3}));
      EXPECT_EQ(a.get(2).i, 3);
    }
  }
  const std::string reordered = "{\"shape\": (3,), \"fortran_order\": False, \"descr\": \"<u2\"}";
  EXPECT_EQ(parse_npy(file_of(reordered, data), "x").get(1).i, 2);
}

TEST(Npy, ConvertsBigEndianAndFortranOrder) {
  const std::string data("\x00\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06", 12);
  const ir::Array a = parse_npy(file_of(dict_of(">i2", "True", "(2, 3)"), data), "x");
  const double expected[] = {1, 3, 5, 2, 4, 6};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(a.get_double(i), expected[i]) << i;
  }
}

TEST(Npy, BoolsAreZeroOrOne) {
  const ir::Array a =
      parse_npy(file_of(dict_of("|b1", "False", "(3,)"), std::string("\x00\x01\x7f", 3)), "x");
  EXPECT_EQ(static_cast<int>(a.data()[2]), 1);
  EXPECT_EQ(static_cast<int>(a.data()[0]), 0);
}

TEST(Npy, BadFilesAreUserErrors) {
  const std::string four(16, 'x');
  const struct {
    std::string bytes;
    const char* message;
  } rows[] = {
      {"", "no .npy file"},
      {"hello, this is text", "no .npy file"},
      {file_of("", "", 9), "version 9"},
      {std::string("\x93NUMPY\x02\x00\x10\x00", 10), "ends inside its header"},
      {std::string("\x93NUMPY\x01\x00\xff\x00{}", 12), "its header claims 255 bytes"},
      {file_of("{}", ""), "needs descr, fortran_order and shape"},
      {file_of("[1]", ""), "'{' expected"},
      {file_of("{'descr': '<f4', 'color': 3}", ""), "unknown key 'color'"},
      {file_of(dict_of("<c8", "False", "(2,)"), four), "type '<c8'"},
      {file_of(dict_of("|O", "False", "(2,)"), four), "type '|O'"},
      {file_of(dict_of("<U4", "False", "(1,)"), four), "type '<U4'"},
      {file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", four), "fields"},
      {file_of(dict_of("<f4", "Maybe", "(4,)"), four), "True or False"},
      {file_of(dict_of("<f4", "False", "(-4,)"), four), "an extent expected"},
      {file_of(dict_of("<f4", "False", "(4,"), four), "an extent expected"},
      {file_of(dict_of("<f4", "False", "(99999999999999999999,)"), four), "63 bits"},
      {file_of(dict_of("<f4", "False", "(4611686018427387904, 4)"), four), "not possible"},
      {file_of(dict_of("<f4", "False", "(1000000000000,)"), four), "needs 4000000000000 bytes"},
      {file_of(dict_of("<f4", "False", "(3,)"), four), "needs 12 bytes of data, the file has 16"},
      {file_of(dict_of("<f4", "False", "(4,)") + "x", four), "text after the dictionary"},
      {file_of("{'descr': '<f4", four), "a string without an end"},
  };
  for (const auto& row : rows) {
    const std::string message = user_error([&] { parse_npy(row.bytes, "bad.npy"); });
    EXPECT_EQ(message.rfind("bad.npy: ", 0), 0U) << message;
    EXPECT_NE(message.find(row.message), std::string::npos) << message << " lacks " << row.message;
  }
}

TEST(Npy, NoMutationEscapes) {
  Rng rng(7);
  const std::string good = npy_bytes(random_array(ir::kF32, {3, 5}, rng));
  for (int run = 0; run < 4000; ++run) {
    std::string bytes = good.substr(0, static_cast<size_t>(rng.between(0, 188)));
    for (int64_t i = rng.between(0, 3); i > 0 && !bytes.empty(); --i) {
      const auto at = static_cast<size_t>(rng.between(0, static_cast<int64_t>(bytes.size()) - 1));
      bytes[at] = static_cast<char>(rng.next());
    }
    try {
      parse_npy(bytes, "mutated");
    } catch (const UserError&) {
      continue;  // anything else ends the test
    }
  }
}

}  // namespace
}  // namespace tenon::files
