// SPDX-License-Identifier: Apache-2.0
// Every file in onnx/ was a damaged model that crashed the importer, took too much, or broke a check: it is imported
// or refused with a UserError.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "corpus/file_name.h"
#include "onnx/import.h"

namespace tenon::onnx {
namespace {

std::vector<std::string> model_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(TENON_ONNX_CORPUS)) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class OnnxCorpusTest : public ::testing::TestWithParam<std::string> {};

TEST_P(OnnxCorpusTest, IsImportedOrRefused) {
  try {
    import_file(GetParam()).graph.verify();
  } catch (const UserError& e) {
    EXPECT_EQ(std::string(e.what()).find("more memory than there is"), std::string::npos);
    EXPECT_FALSE(std::string(e.what()).empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Files, OnnxCorpusTest, ::testing::ValuesIn(model_files()), name_of);

}  // namespace
}  // namespace tenon::onnx
