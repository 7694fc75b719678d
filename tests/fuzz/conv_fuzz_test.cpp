// SPDX-License-Identifier: Apache-2.0
// Random convolutions under random layouts and algorithms: what the definition gives, bit for bit where no other
// algorithm rounds in another way, within its stated error otherwise.
#include <fmt/format.h>

#include "fuzz/fuzzer.h"
#include "fuzz/random_conv.h"

namespace tenon::fuzz {
namespace {

// Every algorithm is met, and most tensors are stored in another way than row by row.
std::string judge(const Counts& counts, int64_t runs) {
  for (const schedule::AlgorithmRow& row : schedule::algorithms()) {
    const auto it = counts.find(row.name);
    if (it == counts.end() || it->second.accepted < runs / 100)
      return fmt::format("{} is rarely met", row.name);
  }
  return counts.at("stored otherwise").accepted * 2 > runs ? "" : "layouts rarely change";
}

}  // namespace
}  // namespace tenon::fuzz

int main(int argc, char** argv) {
  using namespace tenon::fuzz;  // NOLINT(google-build-using-namespace): its own test
  return fuzz_main(argc, argv, {"ConvFuzz", random_conv, random_conv_trace, 2, judge});
}
