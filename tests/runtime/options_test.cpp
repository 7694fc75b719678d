// SPDX-License-Identifier: Apache-2.0
// Options of callers that know fewer fields than the library, or more.
#include "runtime/options.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "runtime/sentence.h"

namespace tenon::runtime {
namespace {

struct Later {
  tenon_model_options known;
  const char* more[3];
};

class Options : public ::testing::Test {
 protected:
  bool read(const void* given) {
    return read_options(static_cast<const tenon_model_options*>(given), got_, sentence_);
  }
  tenon_model_options got_{};
  char sentence_[kSentenceBytes] = "";
};

TEST_F(Options, NoneAreTheDefaults) {
  got_.threads = 7;
  EXPECT_TRUE(read(nullptr));
  EXPECT_EQ(got_.threads, 0);
}

// Every length that an earlier version may have had: what it does not say is zero, whatever lies behind it.
TEST_F(Options, ShorterOnesAreFilledUpWithZeros) {
  tenon_model_options given;
  std::memset(&given, 0x55, sizeof given);
  for (size_t size = offsetof(tenon_model_options, threads) + sizeof(int32_t); size <= sizeof given;
       size += 4) {
    given.size = size;
    ASSERT_TRUE(read(&given)) << size << sentence_;
    EXPECT_EQ(got_.threads, 0x55555555);
    const char* bytes = reinterpret_cast<const char*>(&got_);
    for (size_t i = size; i < sizeof got_; ++i) ASSERT_EQ(bytes[i], 0) << size << " " << i;
  }
}

TEST_F(Options, LongerOnesMustNotAskForMore) {
  Later given{};
  given.known.size = sizeof given;
  given.known.threads = 3;
  EXPECT_TRUE(read(&given)) << sentence_;
  EXPECT_EQ(got_.threads, 3);
  given.more[2] = "x";
  EXPECT_FALSE(read(&given));
  EXPECT_NE(std::string(sentence_).find("does not know"), std::string::npos) << sentence_;
}

TEST_F(Options, ASizeMustBeSaid) {
  tenon_model_options given{};
  for (const size_t size : {size_t{0}, size_t{2}, size_t{8}, size_t{5000}, SIZE_MAX}) {
    given.size = size;
    EXPECT_FALSE(read(&given)) << size;
    EXPECT_NE(std::string(sentence_).find("sizeof(by_hand_options)"), std::string::npos)
        << sentence_;
  }
}

}  // namespace
}  // namespace tenon::runtime
