// SPDX-License-Identifier: Apache-2.0
// A session with its inputs and outputs in aligned memory, so that a run copies nothing.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "artifact/model.h"

namespace tenon::artifact {

class LoadedSession {
 public:
  LoadedSession(const Model& model, int threads, const std::vector<ir::Array>& inputs)
      : LoadedSession(model, SessionOptions{threads, nullptr}, inputs) {}
  LoadedSession(const Model& model, const SessionOptions& options,
                const std::vector<ir::Array>& inputs)
      : session_(model, options) {
    std::vector<std::vector<int64_t>> shapes;
    for (const ir::Array& array : inputs) shapes.push_back(array.shape());
    if (!model.dims().empty()) session_.set_shapes(shapes);
    for (const ir::Array& array : inputs) {
      void* data = allocate(array.bytes());
      if (array.bytes() > 0) {
        std::memcpy(data, array.data(), static_cast<size_t>(array.bytes()));
      }
      inputs_.push_back(data);
    }
    for (size_t i = 0; i < model.outputs().size(); ++i) {
      outputs_.push_back(allocate(session_.output(i).bytes()));
    }
  }

  void run() { session_.run(inputs_.data(), outputs_.data()); }
  Session& session() { return session_; }

 private:
  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  void* allocate(int64_t bytes) {
    const auto size = static_cast<size_t>(bytes) + static_cast<size_t>(kAlignment);
    owned_.emplace_back(std::aligned_alloc(kAlignment, size / 64 * 64));
    TENON_CHECK(owned_.back() != nullptr) << "no memory for " << bytes << " bytes";
    return owned_.back().get();
  }

  Session session_;
  std::vector<std::unique_ptr<void, Free>> owned_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

}  // namespace tenon::artifact
