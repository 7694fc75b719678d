// SPDX-License-Identifier: Apache-2.0
// Architectures by name, written as ONNX models with seeded weights.
//
//   const Architecture& a = zoo::find("resnet50");
//   std::string onnx = zoo::model_bytes(a, {.batch = 1, .seed = 7});   // the same options, the same bytes
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tenon::zoo {

class ModelBuilder;

// 0 stands for the architecture's own size.
struct Options {
  int64_t batch = 1;
  int64_t image = 0;   // height and width
  int64_t tokens = 0;  // length of the sequence
  uint64_t seed = 1;
};

// Which sizes may be asked for: multiples of `step` from `least` to `most`; 0: not an option here.
struct Sizes {
  int64_t usual = 0;
  int64_t step = 1;
  int64_t least = 0;
  int64_t most = 0;
};

struct Architecture {
  std::string_view name;
  std::string_view what;  // origin and kind, in a few words
  int64_t parameters;     // as published: what training would learn, without running statistics
  int opset;
  Sizes image;
  Sizes tokens;
  void (*build)(ModelBuilder& m, const Options& options);  // sizes filled in
};

// In the order in which they are listed to people.
std::span<const Architecture> architectures();
// UserError with the nearest names if there is none.
const Architecture& find(std::string_view name);

// UserError for sizes that the architecture does not take.
std::string model_bytes(const Architecture& architecture, const Options& options);

}  // namespace tenon::zoo
