// SPDX-License-Identifier: Apache-2.0
// Runs a compiled model from C++17 through the class of NAME.hpp, with inputs of ones, and prints the first values of each
// output. For a model that was compiled by `tenon compile net.onnx -o out`:
//
//   c++ -std=c++17 -Iout main.cpp out/libnet.so -Wl,-rpath,out -o main
//   ./main [THREADS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>
#include <vector>

#include <net.hpp>

namespace {

void print_tensor(const net_tensor& t, const std::vector<float>& values) {
  std::printf("%s:", t.name);
  for (std::size_t i = 0; i < std::min<std::size_t>(5, values.size()); ++i) {
    std::printf(" %.5f", static_cast<double>(values[i]));
  }
  std::printf("\n");
}

void run_with_ones(net_model& model) {
  std::vector<std::vector<float>> in, out;
  for (std::int32_t i = 0; i < net_model::input_count(); ++i) {
    in.push_back(model.make_input<float>(i));
    std::fill(in.back().begin(), in.back().end(), 1.0F);
  }
  for (std::int32_t i = 0; i < net_model::output_count(); ++i) {
    out.push_back(model.make_output<float>(i));
  }
  model.run(std::vector<net_model::Input>(in.begin(), in.end()),
            std::vector<net_model::Output>(out.begin(), out.end()));
  for (std::int32_t i = 0; i < net_model::output_count(); ++i) {
    print_tensor(model.output(i), out[static_cast<std::size_t>(i)]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    net_model made(argc > 1 ? std::atoi(argv[1]) : 0);
    net_model model = std::move(made);  // whoever has it last destroys the context
    run_with_ones(model);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
