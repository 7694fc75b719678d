// SPDX-License-Identifier: Apache-2.0
#include "support/sha256.h"

#include <gtest/gtest.h>

#include "support/rng.h"

namespace tenon {
namespace {

// FIPS 180-4 and the examples that come with it.
TEST(Sha256, KnownAnswers) {
  const struct {
    std::string text;
    const char* digest;
  } rows[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(1000000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(sha256_hex(row.text), row.digest) << row.text.size() << " bytes";
  }
}

TEST(Sha256, PiecesMakeTheSameDigest) {
  Rng rng(5);
  for (int run = 0; run < 200; ++run) {
    std::string text(static_cast<size_t>(rng.between(0, 400)), '\0');
    for (char& c : text) {
      c = static_cast<char>(rng.between(-128, 127));
    }
    Sha256 pieces;
    for (size_t at = 0; at < text.size();) {
      const auto n = std::min(text.size() - at, static_cast<size_t>(rng.between(0, 130)));
      pieces.add(text.data() + at, n);
      at += n;
    }
    EXPECT_EQ(hex(pieces.digest()), sha256_hex(text)) << "run " << run;
  }
}

}  // namespace
}  // namespace tenon
