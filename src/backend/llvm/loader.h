// SPDX-License-Identifier: Apache-2.0
// Loads a relocatable object into this process. Symbols that it does not define come from libc and
// libm.
#pragma once

#include <memory>
#include <string>

namespace tenon::backend::llvm_cpu {

class LoadedObject {
 public:
  // Throws InternalError if the object cannot be loaded.
  explicit LoadedObject(std::string object);
  ~LoadedObject();
  void* symbol(const std::string& name) const;  // never null: a missing symbol is an InternalError

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon::backend::llvm_cpu
