// SPDX-License-Identifier: Apache-2.0
// Packed files: there and back, in pieces, and damaged.
#include "files/packed.h"

#include <gtest/gtest.h>

#include <string>

#include "files/file.h"
#include "support/check.h"
#include "support/private_folder.h"
#include "support/rng.h"

namespace tenon::files {
namespace {

std::string lines(size_t n) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += "{\"line\":" + std::to_string(i) + "}\n";
  return out;
}

TEST(Packed, ComesBack) {
  for (const size_t n : {0U, 1U, 100U, 50000U}) {
    const std::string text = lines(n);
    EXPECT_EQ(unpacked(packed(text), "x"), text) << n;
  }
  EXPECT_LT(packed(lines(50000)).size(), lines(50000).size() / 5);
}

TEST(Packed, FramesMayFollowEachOther) {
  EXPECT_EQ(unpacked(packed("one ") + packed("two"), "x"), "one two");
}

TEST(Packed, DamageIsASentence) {
  const std::string whole = packed(lines(3000));
  Rng rng(3);
  for (int i = 0; i < 50; ++i) {
    const auto at = static_cast<size_t>(rng.between(4, static_cast<int64_t>(whole.size()) - 1));
    EXPECT_THROW(unpacked(whole.substr(0, at), "x"), UserError) << at;
  }
  EXPECT_THROW(unpacked("nonsense", "x"), UserError);
}

TEST(Packed, ByNameWhenWrittenAndByContentWhenRead) {
  const PrivateFolder folder = PrivateFolder::temporary("packed");
  const std::string text = lines(1000), named = (folder.path() / "a.jsonl.zst").string(),
                    plain = (folder.path() / "a.jsonl").string();
  write_maybe_packed(named, text);
  write_maybe_packed(plain, text);
  EXPECT_LT(read_file(named).size(), text.size() / 4);
  EXPECT_EQ(read_file(plain), text);
  EXPECT_EQ(read_maybe_packed(named), text);
  EXPECT_EQ(read_maybe_packed(plain), text);
}

}  // namespace
}  // namespace tenon::files
