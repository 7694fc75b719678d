// SPDX-License-Identifier: Apache-2.0
// Against the other side of the formats: Python's zipfile always, NumPy where it is installed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "files/array_files.h"
#include "files/file.h"
#include "files/random_array.h"

namespace tenon::files {
namespace {

using testing::random_array;
using testing::same_array;

std::string path_of(const std::string& name) {
  return ::testing::TempDir() + "tenon_numpy_" + name;
}

// The exit code of a Python script; its output goes to the test's.
int python(const std::string& script) {
  write_file(path_of("script.py"), script);
  return std::system(fmt::format("python3 {} 2>{}", path_of("script.py"), path_of("log")).c_str());
}

#define SKIP_UNLESS(module)                                         \
  if (python("import " module) != 0) {                              \
    GTEST_SKIP() << "python3 with the module " module " is absent"; \
  }

TEST(Numpy, PythonReadsOurArchives) {
  SKIP_UNLESS("zipfile");
  for (const Compression c : {Compression::kStored, Compression::kDeflated}) {
    write_file(path_of("ours.zip"),
               zip_bytes({{"a.npy", "hello"}, {"b", std::string(999, 'b')}}, c));
    EXPECT_EQ(
        python(fmt::format("import zipfile\n"
                           "z = zipfile.ZipFile('{}')\n"
                           "assert z.testzip() is None\n"
                           "assert z.namelist() == ['a.npy', 'b']\n"
                           "assert z.read('a.npy') == b'hello' and z.read('b') == b'b' * 999\n",
                           path_of("ours.zip"))),
        0)
        << read_file(path_of("log"));
  }
}

TEST(Numpy, WeReadPythonsArchives) {
  SKIP_UNLESS("zipfile");
  for (const char* method : {"ZIP_STORED", "ZIP_DEFLATED"}) {
    // As np.savez does it: each member opened for writing with room for 64-bit sizes in its local header.
    ASSERT_EQ(python(fmt::format("import zipfile\n"
                                 "z = zipfile.ZipFile('{}', 'w', zipfile.{})\n"
                                 "for n, d in (('x.npy', b'hello'), ('y', b'y' * 70000)):\n"
                                 "  with z.open(n, 'w', force_zip64=True) as f: f.write(d)\n"
                                 "z.close()\n",
                                 path_of("theirs.zip"), method)),
              0);
    const auto members = parse_zip(read_file(path_of("theirs.zip")), "theirs");
    ASSERT_EQ(members.size(), 2U);
    EXPECT_EQ(members[0].bytes, "hello");
    EXPECT_EQ(members[1].bytes, std::string(70000, 'y'));
  }
}

TEST(Numpy, SavesAndLoadsTheSameArrays) {
  SKIP_UNLESS("numpy");
  Rng rng(13);
  NamedArrays arrays;
  for (const ir::DType dtype : testing::kAllTypes) {
    arrays.push_back({ir::to_string(dtype), random_array(dtype, {2, 3, 5}, rng)});
  }
  write_npz(path_of("in.npz"), arrays, Compression::kDeflated);
  ASSERT_EQ(python(fmt::format(
                "import numpy as np\n"
                "a = np.load('{}')\n"
                "np.savez('{}', **a)\n"
                "np.savez_compressed('{}', **{{k: np.asfortranarray(v) for k, v in a.items()}})\n"
                "np.save('{}', a['i32'].astype('>i4'))\n",
                path_of("in.npz"), path_of("c.npz"), path_of("fortran.npz"), path_of("big.npy"))),
            0)
      << read_file(path_of("log"));
  for (const char* name : {"c.npz", "fortran.npz"}) {
    const NamedArrays read = read_npz(path_of(name));
    ASSERT_EQ(read.size(), arrays.size());
    for (const NamedArray& array : arrays) {
      EXPECT_TRUE(same_array(*find_array(read, array.name), array.array)) << name << array.name;
    }
  }
  EXPECT_TRUE(same_array(read_npy(path_of("big.npy")), *find_array(arrays, "i32")));
}

}  // namespace
}  // namespace tenon::files
