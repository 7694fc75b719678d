// SPDX-License-Identifier: Apache-2.0
// A session with its inputs and outputs in aligned memory, so that a run copies nothing.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "artifact/model.h"

namespace tenon::tools {

class LoadedSession {
 public:
  LoadedSession(const artifact::Model& model, int threads, const std::vector<ir::Array>& inputs)
      : LoadedSession(model, artifact::SessionOptions{threads, nullptr}, inputs) {}
  LoadedSession(const artifact::Model& model, const artifact::SessionOptions& options,
                const std::vector<ir::Array>& inputs)
      : session_(model, options) {
    for (const ir::Array& array : inputs) {
      void* data = allocate(array.bytes());
      if (array.bytes() > 0) {
        std::memcpy(data, array.data(), static_cast<size_t>(array.bytes()));
      }
      inputs_.push_back(data);
    }
    for (const artifact::TensorInfo& tensor : model.outputs()) {
      outputs_.push_back(allocate(tensor.bytes()));
    }
  }

  void run() { session_.run(inputs_.data(), outputs_.data()); }
  artifact::Session& session() { return session_; }

 private:
  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  void* allocate(int64_t bytes) {
    const auto size = static_cast<size_t>(bytes) + static_cast<size_t>(artifact::kAlignment);
    owned_.emplace_back(std::aligned_alloc(artifact::kAlignment, size / 64 * 64));
    TENON_CHECK(owned_.back() != nullptr) << "no memory for " << bytes << " bytes";
    return owned_.back().get();
  }

  artifact::Session session_;
  std::vector<std::unique_ptr<void, Free>> owned_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

}  // namespace tenon::tools
