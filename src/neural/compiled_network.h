// SPDX-License-Identifier: Apache-2.0
// A network that tenon itself compiled for this machine, ready to run.
//
//   const auto net = compile_network({"treegru", onnx, 4}, "models/networks", 2);
//   net->run(inputs, scores);
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "artifact/model.h"
#include "support/private_folder.h"

namespace tenon::neural {

class CompiledNetwork {
 public:
  // The folder, if there is one, is removed in the end.
  CompiledNetwork(std::optional<PrivateFolder> folder, const artifact::Model& model);

  // One output. Safe to call from several threads.
  void run(const std::vector<std::vector<float>>& inputs, std::vector<float>& output) const;

 private:
  using Session = std::unique_ptr<artifact::Session>;
  // A session is for one thread at a time.
  Session take() const;
  void give_back(Session s) const;

  std::optional<PrivateFolder> folder_;  // outlives the model that lies in it
  artifact::Model model_;
  mutable std::mutex mutex_;
  mutable std::vector<Session> idle_;
};

struct NetworkSource {
  std::string name;
  std::string onnx;
  size_t kept;  // of this name in a cache, the newest: models are renewed with every run
};

// Kept in the cache for the next program, or found there; an empty one keeps nothing.
std::unique_ptr<CompiledNetwork> compile_network(const NetworkSource& source,
                                                 const std::filesystem::path& cache, int threads);

}  // namespace tenon::neural
