// SPDX-License-Identifier: Apache-2.0
// What on a machine bears on speed and on how steady measurements are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tenon::timing {

enum class Health { kGood, kDisturbing, kUnknown };

struct Fact {
  std::string name;   // "governor"
  std::string value;  // "powersave"
  Health health = Health::kGood;
  std::string hint = {};  // what to do about it; may be empty
};

// `root` is / ; tests show other machines. `usable` are the logical CPUs of this process.
std::vector<Fact> examine_machine(const std::filesystem::path& root,
                                  const std::vector<int>& usable);

std::vector<Fact> examine_this_machine();

}  // namespace tenon::timing
