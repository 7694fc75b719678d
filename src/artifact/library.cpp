// SPDX-License-Identifier: Apache-2.0
#include "artifact/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <fstream>

#include "ir/dtype.h"
#include "support/check.h"

namespace tenon::artifact {
namespace {

// Before it is loaded: the loader trusts a file, and a shortened one ends the process.
void check_file(const ManifestFile& manifest) {
  const std::string name = manifest.library().filename();
  const FileEntry* written = manifest.find(name);
  if (written == nullptr) {
    throw UserError(fmt::format("{} lists no {}", manifest.path.string(), name),
                    "tenon compile MODEL -o DIR --emit so,h writes one");
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(manifest.library(), error)) {
    throw UserError(fmt::format("{} is not there, though {} lists it", manifest.library().string(),
                                manifest.path.string()));
  }
  if (describe_file(manifest.directory(), name).sha256 != written->sha256) {
    throw UserError(fmt::format("{} is not the library that {} was written with: its hash differs",
                                manifest.library().string(), manifest.path.string()),
                    "compile the model again");
  }
}

}  // namespace

namespace {

// Otherwise the loader says that there is no such file.
void check_machine(const ManifestFile& file) {
  if (is_for_this_machine(file.library())) return;
  throw UserError(fmt::format("{} is for {} and does not run on this machine",
                              file.library().string(), file.target),
                  "compile the model for this one");
}

}  // namespace

bool is_for_this_machine(const std::filesystem::path& library) {
#if defined(__x86_64__)
  constexpr Elf64_Half kMachine = EM_X86_64;
#else
  constexpr Elf64_Half kMachine = EM_AARCH64;
#endif
  Elf64_Ehdr header{};
  std::ifstream(library, std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
  return header.e_machine == kMachine;
}

ManifestFile read_artifact(const std::filesystem::path& path) {
  ManifestFile file = read_manifest(find_manifest(path));
  if (is_for_this_machine(file.library())) {
    const Library checked(file);
  }
  return file;
}

Library::Library(const ManifestFile& file) : path_(file.library().string()), name_(file.name) {
  check_file(file);
  check_machine(file);
  handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    throw UserError(fmt::format("cannot load {}: {}", path_, dlerror()),
                    fmt::format("it was compiled for {}", file.target));
  }
  try {
    find_all();
    const std::string difference = manifest_difference(manifest(), level_of(file.text, target()));
    if (!difference.empty()) {
      throw UserError(
          fmt::format("{} is not the manifest of {}: {}", file.path.string(), path_, difference),
          "put back the one that was written with the library; a process that has "
          "loaded an older library of that path must let go of it first");
    }
  } catch (...) {
    dlclose(handle_);
    throw;
  }
}

Library::~Library() { dlclose(handle_); }

template <class Fn>
bool Library::look_for(Fn*& to, const char* what) {
  to = reinterpret_cast<Fn*>(dlsym(handle_, (name_ + "_" + what).c_str()));
  return to != nullptr;
}

template <class Fn>
void Library::find(Fn*& to, const char* what) {
  if (!look_for(to, what)) {
    throw UserError(fmt::format("{} does not define {}_{}: another version of tenon wrote it",
                                path_, name_, what),
                    "compile the model again");
  }
}

void Library::find_all() {
  decltype(tenon_model_interface)* interface = nullptr;
  find(interface, "interface");
  if (interface() != TENON_MODEL_INTERFACE) {
    throw UserError(fmt::format("{} has version {} of the C interface, not {}", path_, interface(),
                                TENON_MODEL_INTERFACE),
                    "compile the model again");
  }
  find(create_with, "create_with");
  find(destroy, "destroy");
  find(run, "run");
  find(error, "error");
  find(set_shape, "set_shape");
  find(input_now, "input_now");
  find(output_now, "output_now");
  if (!look_for(output_given, "output_given")) output_given = output_now;
  find(set_hook, "set_hook");
  find(threads, "threads");
  find(manifest, "manifest");
  find(step_count, "step_count");
  find(target, "target");
  find(weights_bytes, "weights_bytes");
  find(workspace_bytes, "workspace_bytes");
  find(input_count_, "input_count");
  find(output_count_, "output_count");
  find(input_, "input");
  find(output_, "output");
  if (look_for(run_device, "run_device")) {
    find(driver_error, "driver_error");
  }
}

TensorInfo Library::info(const tenon_model_tensor& t) const {
  const auto dtype = ir::parse_dtype(t.dtype);
  if (!dtype) {
    throw UserError(fmt::format("{} has a tensor of type '{}', which is not known", path_, t.dtype),
                    "compile the model again");
  }
  TensorInfo info{t.name, *dtype, std::vector<int64_t>(t.shape, t.shape + t.rank)};
  if (t.dims != nullptr) info.dims.assign(t.dims, t.dims + t.rank);
  TENON_CHECK(info.bytes() == static_cast<int64_t>(t.bytes)) << path_ << " " << t.name;
  return info;
}

std::vector<TensorInfo> Library::tensors(int32_t count, Tensor* tensor) const {
  std::vector<TensorInfo> list;
  for (int32_t i = 0; i < count; ++i) list.push_back(info(*tensor(i)));
  return list;
}

std::vector<TensorInfo> Library::inputs() const { return tensors(input_count_(), input_); }
std::vector<TensorInfo> Library::outputs() const { return tensors(output_count_(), output_); }

}  // namespace tenon::artifact
