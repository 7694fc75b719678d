// SPDX-License-Identifier: Apache-2.0
// The words that options of `tenon tune` take, and what they mean.
//
//   words(kVerify)             // {"best", "all", "off"}
//   find(kVerify, "all")       // tune::Verify::kAll
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "support/check.h"
#include "tune/scheduler.h"
#include "tune/tuner.h"

namespace tenon::tools {

template <class E>
struct Word {
  const char* word;
  E value;
};
inline constexpr Word<tune::Verify> kVerify[] = {
    {"best", tune::Verify::kBest}, {"all", tune::Verify::kAll}, {"off", tune::Verify::kOff}};
inline constexpr Word<bool> kOnOff[] = {{"on", true}, {"off", false}};
inline constexpr Word<tune::Objective> kObjectives[] = {
    {"sum", tune::Objective::kSum},
    {"targets", tune::Objective::kTargets},
    {"speedup", tune::Objective::kSpeedup},
    {"early-stop", tune::Objective::kEarlyStop}};

template <class E, size_t N>
std::vector<std::string> words(const Word<E> (&table)[N]) {
  std::vector<std::string> list;
  for (const auto& row : table) {
    list.emplace_back(row.word);
  }
  return list;
}

template <class E, size_t N>
E find(const Word<E> (&table)[N], const std::string& word) {
  const auto it = std::find_if(std::begin(table), std::end(table),
                               [&](const auto& row) { return row.word == word; });
  TENON_CHECK(it != std::end(table)) << word;
  return it->value;
}

template <class Rows>
std::vector<std::string> row_names(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) {
    names.emplace_back(row.name);
  }
  return names;
}

}  // namespace tenon::tools
