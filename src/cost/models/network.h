// SPDX-License-Identifier: Apache-2.0
// What networks of cost models share: their weights as a row of matrices, who runs them, and the
// plug-in tenon-torch, which trains them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "support/plug_in.h"

namespace tenon::cost {

// A matrix among the weights, row-major; one row: a bias.
struct NetworkPart {
  std::string_view name;
  int64_t rows, columns;
  size_t first = 0;  // of its numbers
  size_t size() const { return static_cast<size_t>(rows * columns); }
  size_t end() const { return first + size(); }
};

// Puts parts one behind the other.
template <size_t N>
std::array<NetworkPart, N> in_a_row(std::array<NetworkPart, N> parts) {
  for (size_t p = 1; p < N; ++p) parts[p].first = parts[p - 1].end();
  return parts;
}

// Whether what is compiled for a network may serve others.
enum class Keep : uint8_t {
  kForOthers,  // of a saved model: the next program may ask for the same
  kForThisRun,
};

// The functions of one trainer in the plug-in.
template <class Functions>
struct NetworkTrainer {
  const Functions* functions = nullptr;  // null: `why` says why not
  std::string why;
};

template <class Functions>
NetworkTrainer<Functions> find_trainer(const char* symbol, uint32_t version) {
  const Interface found = plug_in_interface("", symbol);
  const auto* functions = static_cast<const Functions*>(found.functions);
  if (functions != nullptr && functions->version != version) {
    return {nullptr, "its trainer is for another version of tenon"};
  }
  return {functions, found.why};
}

// Throws UserError unless training succeeded and left numbers.
void check_trained(int32_t failed, std::span<const float> weights);

}  // namespace tenon::cost
