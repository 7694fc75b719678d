// SPDX-License-Identifier: Apache-2.0
// A backend::GpuModule that is loaded into the card: its launches put into a stream, or into a graph.
#pragma once

#include <string>
#include <vector>

#include "backend/gpu_module.h"
#include "measure/run/cuda_card.h"

namespace tenon::run {

class CardModule {
 public:
  // Bytes of backend::to_bytes. Machine code where there is some for this card, PTX otherwise. Throws Unfit.
  CardModule(Card& card, const std::string& bytes);
  ~CardModule();
  CardModule(const CardModule&) = delete;
  CardModule& operator=(const CardModule&) = delete;

  // What launches point at: the parameters in their order, then the workspace.
  using Pointers = std::vector<runtime::cuda::DevicePointer>;
  void check_arguments(size_t params, int64_t workspace_bytes) const;  // throws Unfit
  // All launches, each after the one before.
  void enqueue(const Pointers& p) const;
  // The same as nodes after `last`, which becomes the last of them.
  void add_to(runtime::cuda::Graph graph, runtime::cuda::GraphNode& last, const Pointers& p) const;

 private:
  runtime::cuda::Status load(const std::string& code, std::string& said);
  void find_kernels();
  runtime::cuda::KernelNodeParams params_of(size_t launch, const Pointers& p,
                                            std::vector<void*>& arguments) const;

  Card& card_;
  backend::GpuModule module_;
  runtime::cuda::Module loaded_ = nullptr;
  std::vector<runtime::cuda::Function> kernels_;  // by launch
};

}  // namespace tenon::run
