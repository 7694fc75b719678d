// SPDX-License-Identifier: Apache-2.0
// Compiles a model, runs it once on ones, and prints the largest element of its first output.
//   cpp_api model.onnx folder
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tenon/tenon.h"

namespace {

// Every input filled with ones of its type (f32 and i64 are enough for an example).
std::vector<char> ones(const tenon::api::Tensor& t) {
  std::vector<char> bytes(static_cast<size_t>(t.bytes), 0);
  const float one = 1;
  const int64_t one_int = 1;
  const size_t size = t.dtype == "i64" ? sizeof one_int : sizeof one;
  const void* source = t.dtype == "i64" ? static_cast<const void*>(&one_int) : &one;
  for (size_t at = 0; at + size <= bytes.size(); at += size) std::memcpy(&bytes[at], source, size);
  return bytes;
}

void compile_and_run(const char* model, const char* folder) {
  tenon::api::compile(model, folder);
  const auto library = tenon::api::Library::load(folder);
  tenon::api::Session session(library);

  std::vector<std::vector<char>> in;
  for (const auto& t : library.inputs()) in.push_back(ones(t));
  std::vector<std::vector<char>> out;
  for (const auto& t : library.outputs()) out.emplace_back(static_cast<size_t>(t.bytes));
  std::vector<const void*> inputs;
  for (const auto& x : in) inputs.push_back(x.data());
  std::vector<void*> outputs;
  for (auto& x : out) outputs.push_back(x.data());
  session.run(inputs, outputs);

  const auto* first = reinterpret_cast<const float*>(out[0].data());
  const auto* last = first + out[0].size() / sizeof(float);
  const auto* best = std::max_element(first, last);
  std::printf("%s: element %td is the largest: %g\n", library.name().c_str(), best - first,
              static_cast<double>(*best));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: cpp_api MODEL.onnx FOLDER\n");
    return 2;
  }
  try {
    compile_and_run(argv[1], argv[2]);
  } catch (const tenon::api::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
