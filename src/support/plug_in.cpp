// SPDX-License-Identifier: Apache-2.0
#include "support/plug_in.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace tenon {

namespace {

constexpr const char* kTorch = "libtenon-torch.so";

// With a folder where the file lies beside the program.
std::string usual_place() {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto beside = self.parent_path() / kTorch;
  return !failed && std::filesystem::exists(beside, failed) ? beside.string() : kTorch;
}

}  // namespace

Interface plug_in_interface(const std::string& file, const char* symbol) {
  const std::string place = file.empty() ? usual_place() : file;
  void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return {nullptr, why == nullptr ? place + " cannot be loaded" : why};
  }
  using Api = const void* (*)();
  const auto api = reinterpret_cast<Api>(dlsym(library, symbol));
  const void* functions = api == nullptr ? nullptr : api();
  return {functions, functions == nullptr ? place + " has no " + symbol : ""};
}

}  // namespace tenon
