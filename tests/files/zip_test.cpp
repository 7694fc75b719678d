// SPDX-License-Identifier: Apache-2.0
#include "files/zip.h"

#include <gtest/gtest.h>

#include "files/random_array.h"

namespace tenon::files {
namespace {

using testing::user_error;

std::vector<ZipMember> some_members() {
  return {{"a.npy", "hello"}, {"empty", ""}, {"zeros", std::string(100000, '\0')}};
}

TEST(Zip, RoundTrips) {
  for (const Compression c : {Compression::kStored, Compression::kDeflated}) {
    const std::string bytes = zip_bytes(some_members(), c);
    EXPECT_EQ(bytes, zip_bytes(some_members(), c)) << "the same members give the same bytes";
    const auto members = parse_zip(bytes, "x.zip");
    ASSERT_EQ(members.size(), 3U);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(members[i].name, some_members()[i].name);
      EXPECT_EQ(members[i].bytes, some_members()[i].bytes);
    }
  }
  EXPECT_LT(zip_bytes(some_members(), Compression::kDeflated).size(), 1000U);
  EXPECT_TRUE(parse_zip(zip_bytes({}, Compression::kStored), "x").empty());
}

TEST(Zip, FindsTheDirectoryInFrontOfAComment) {
  std::string bytes = zip_bytes(some_members(), Compression::kDeflated);
  bytes[bytes.size() - 2] = 3;
  EXPECT_EQ(parse_zip(bytes + "abc", "x").size(), 3U);
}

// Replaces the four bytes at `at`, counted from the first directory entry.
std::string patched(size_t at, uint32_t value) {
  std::string bytes = zip_bytes(some_members(), Compression::kDeflated);
  const size_t entry = bytes.find("PK\x01\x02");
  for (size_t i = 0; i < 4; ++i) {
    bytes[entry + at + i] = static_cast<char>(value >> (8 * i));
  }
  return bytes;
}

// The format counts the bytes of a name with sixteen bits.
TEST(Zip, NamesThatTheFormatCannotHoldAreRefused) {
  const std::string longest(UINT16_MAX, 'n');
  const auto written = zip_bytes({{longest, "x"}}, Compression::kStored);
  EXPECT_EQ(parse_zip(written, "long.npz").at(0).name, longest);
  EXPECT_THROW(zip_bytes({{longest + "n", "x"}}, Compression::kStored), UserError);
}

TEST(Zip, BadArchivesAreUserErrors) {
  const std::string good = zip_bytes(some_members(), Compression::kDeflated);
  std::string flipped = good;
  flipped[38] = static_cast<char>(flipped[38] ^ 1);  // in the data of the first member
  const struct {
    std::string bytes;
    const char* message;
  } rows[] = {
      {"", "too short"},
      {std::string(100, 'x'), "no directory"},
      {good.substr(0, good.size() - 1), "no directory"},
      {flipped, "member 'a.npy'"},
      {patched(16, 0x12345678), "checksum of member 'a.npy'"},
      {patched(24, 0xfffffff0), "more than"},
      {patched(24, 0xffffffff), "beyond 4 GiB"},
      {patched(24, 6), "cannot be unpacked"},
      {patched(24, 4), "cannot be unpacked"},
      {patched(20, 0x7fffffff), "the file ends"},
      {patched(42, 0x7fffffff), "the file ends"},
      {patched(42, 5), "no member 'a.npy' here"},
      {patched(8, 1 | 8U << 16), "encrypted"},
      {patched(8, 99U << 16), "method 99"},
  };
  for (const auto& row : rows) {
    const std::string message = user_error([&] { parse_zip(row.bytes, "bad.npz"); });
    EXPECT_EQ(message.rfind("bad.npz: byte ", 0), 0U) << message;
    EXPECT_NE(message.find(row.message), std::string::npos) << message << " lacks " << row.message;
  }
}

TEST(Zip, NoMutationEscapes) {
  Rng rng(11);
  const std::string good =
      zip_bytes({{"a.npy", "hello"}, {"b", "bbbbbbbb"}}, Compression::kDeflated);
  for (int run = 0; run < 4000; ++run) {
    std::string bytes = good;
    for (int64_t i = rng.between(1, 3); i > 0; --i) {
      const auto at = static_cast<size_t>(rng.between(0, static_cast<int64_t>(bytes.size()) - 1));
      bytes[at] = static_cast<char>(rng.next());
    }
    try {
      parse_zip(bytes, "mutated");
    } catch (const UserError&) {
      continue;
    }
  }
}

}  // namespace
}  // namespace tenon::files
