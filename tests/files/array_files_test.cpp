// SPDX-License-Identifier: Apache-2.0
#include "files/array_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "files/file.h"
#include "files/random_array.h"

namespace tenon::files {
namespace {

using testing::random_array;
using testing::same_array;
using testing::user_error;

std::string path_of(const std::string& name) {
  return ::testing::TempDir() + "tenon_files_" + name;
}

TEST(ArrayFiles, RoundTripsArchivesOfEveryType) {
  Rng rng(3);
  NamedArrays arrays;
  for (const ir::DType dtype : testing::kAllTypes) {
    arrays.push_back({"layer.0/" + ir::to_string(dtype), random_array(dtype, {3, 7}, rng)});
  }
  for (const Compression c : {Compression::kStored, Compression::kDeflated}) {
    const std::string path = path_of("all.npz");
    write_npz(path, arrays, c);
    const NamedArrays read = read_npz(path);
    ASSERT_EQ(read.size(), arrays.size());
    for (size_t i = 0; i < read.size(); ++i) {
      EXPECT_EQ(read[i].name, arrays[i].name);
      EXPECT_TRUE(same_array(read[i].array, arrays[i].array)) << read[i].name;
    }
    EXPECT_EQ(find_array(read, "layer.0/u8")->dtype(), ir::kU8);
    EXPECT_EQ(find_array(read, "layer.1/u8"), nullptr);
  }
}

TEST(ArrayFiles, RawFilesHaveExactlyTheElements) {
  Rng rng(5);
  const ir::Array array = random_array(ir::kF16, {5, 3}, rng);
  const std::string path = path_of("x.bin");
  write_raw(path, array);
  EXPECT_EQ(std::filesystem::file_size(path), 30U);
  EXPECT_TRUE(same_array(read_raw(path, ir::kF16, {5, 3}), array));
  EXPECT_NE(user_error([&] {
              read_raw(path, ir::kF32, {5, 3});
            }).find("has 30 bytes, f32 [5, 3] needs 60"),
            std::string::npos);
  EXPECT_NE(user_error([&] { read_raw(path, ir::kF32, {-1}); }).find("not possible"),
            std::string::npos);
}

TEST(ArrayFiles, NamesTheFileAndTheMember) {
  const std::string path = path_of("bad.npz");
  write_file(path, zip_bytes({{"x.npy", "nonsense, and long enough"}}, Compression::kStored));
  EXPECT_NE(user_error([&] { read_npz(path); }).find("bad.npz(x.npy): "), std::string::npos);
  write_file(path, zip_bytes({{"notes.txt", ""}}, Compression::kStored));
  EXPECT_NE(user_error([&] { read_npz(path); }).find("no .npy file"), std::string::npos);
  EXPECT_NE(
      user_error([] { read_npy("no/such.npy"); }).find("no/such.npy: cannot be read: No such file"),
      std::string::npos);
  EXPECT_NE(user_error([] { read_file(::testing::TempDir()); }).find("cannot be read"),
            std::string::npos);
}

TEST(ArrayFiles, AFailedWriteLeavesNothingBehind) {
  const std::string folder = path_of("folder");
  std::filesystem::create_directories(folder + "/target");
  EXPECT_NE(user_error([&] { write_file(folder + "/target", "x"); }).find("cannot be written"),
            std::string::npos);
  EXPECT_NE(user_error([&] { write_file(folder + "/no/such", "x"); }).find("cannot be written"),
            std::string::npos);
  const auto entries = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

}  // namespace
}  // namespace tenon::files
