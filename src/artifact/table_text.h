// SPDX-License-Identifier: Apache-2.0
// Constants as LLVM IR text, of which tables are made.
//
//   text.string("conv")  =>  "@s0", after   @s0 = private unnamed_addr constant [5 x i8] c"conv\00"   was written
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tenon::artifact {

class TableText {
 public:
  explicit TableText(std::string& out) : out_(out) {}

  // Names of constants with these contents; equal ones are defined once. Strings end in a zero.
  std::string string(const std::string& s);
  std::string numbers(const std::vector<int32_t>& values);
  std::string wide_numbers(const std::vector<int64_t>& values);  // at a multiple of 64 bytes
  // "null" for an empty one.
  std::string array(const std::string& type, const std::vector<std::string>& items,
                    int alignment = 0);
  // Bytes at a multiple of 64, with a zero behind them; "null" if there are none.
  std::string bytes(const std::string& s);

 private:
  void define_bytes(const std::string& name, const std::string& s);

  std::string& out_;
  std::map<std::string, std::string> strings_, contents_;
  int arrays_ = 0;
};

}  // namespace tenon::artifact
