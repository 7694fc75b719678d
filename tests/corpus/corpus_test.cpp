// SPDX-License-Identifier: Apache-2.0
// Every case in this folder was a bug once: its steps are legal or refused, and what they make is right after every
// pass and compiled for every target that runs here.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "corpus/file_name.h"
#include "fuzz/case.h"

namespace tenon::fuzz {
namespace {

std::vector<std::string> case_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(TENON_CORPUS)) {
    if (entry.path().extension() == ".case") {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

class CorpusTest : public ::testing::TestWithParam<std::string> {};

TEST_P(CorpusTest, IsRight) {
  std::ostringstream text;
  text << std::ifstream(GetParam()).rdbuf();
  Case c = parse_case(text.str(), GetParam());
  ASSERT_EQ(check_case(c, nullptr, true).problem, "") << text.str();
  if (!target::parse_target(c.target).is_cpu()) return;  // steps that others refuse
  for (const target::Target& t : target::known_targets()) {
    if (target::runs_here(t)) {
      const auto compiler = backend::make_compiler(t);
      c.target = t.name + c.target.substr(std::min(c.target.find(' '), c.target.size()));
      ASSERT_EQ(check_case(c, compiler.get()).problem, "") << text.str();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, CorpusTest, ::testing::ValuesIn(case_files()), name_of);

}  // namespace
}  // namespace tenon::fuzz
