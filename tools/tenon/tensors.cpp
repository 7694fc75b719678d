// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>

#include "artifact/random_array.h"
#include "files/folder.h"
#include "onnx/bound_value.h"
#include "support/nearest.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;
using artifact::TensorInfo;

// A name from a model as a file name.
std::string file_name(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

std::string type_text(ir::DType dtype, const std::vector<int64_t>& shape) {
  return fmt::format("{} {}", ir::to_string(dtype), shape_text(shape));
}

// Axes with open sizes are judged when the sizes are set.
bool same_shape(const TensorInfo& tensor, const std::vector<int64_t>& shape) {
  bool same = shape.size() == tensor.shape.size();
  for (size_t a = 0; same && a < shape.size(); ++a) {
    const bool open = (!tensor.dims.empty() && tensor.dims[a] >= 0) || tensor.sums.count(a) != 0;
    same = open || shape[a] == tensor.shape[a];
  }
  return same;
}

void check_fits(const std::string& file, const TensorInfo& tensor, const ir::Array& array) {
  if (array.dtype() != tensor.dtype || !same_shape(tensor, array.shape())) {
    throw UserError(file, 0, 0,
                    fmt::format("'{}' is {}, the file has {}", tensor.name,
                                type_text(tensor.dtype, tensor.shape),
                                type_text(array.dtype(), array.shape())));
  }
}

ir::Array read_tensor(const std::string& file, const TensorInfo& tensor) {
  ir::Array array = file.ends_with(".npy")  ? files::read_npy(file)
                    : file.ends_with(".pb") ? onnx::read_tensor_file(file)
                                            : files::read_raw(file, tensor.dtype, tensor.shape);
  check_fits(file, tensor, array);
  return array;
}

class InputLoader {
 public:
  InputLoader(const std::vector<TensorInfo>& tensors, const std::vector<artifact::Dim>& dims)
      : tensors_(tensors), dims_(dims), arrays_(tensors.size()) {}

  void add(const std::string& spec) {
    constexpr std::string_view kSeed = "seed:";
    const size_t at = spec.find("=@");
    if (spec.starts_with(kSeed)) {
      seed_ = parse_seed(spec.substr(kSeed.size()), spec);
    } else if (at != std::string::npos) {
      const size_t i = index_of(spec.substr(0, at), spec);
      take(i, read_tensor(spec.substr(at + 2), tensors_[i]));
    } else if (const size_t equals = spec.find('=');
               equals != std::string::npos && !fs::exists(spec)) {
      const size_t i = index_of(spec.substr(0, equals), spec);
      take(i, onnx::parse_bound(stated(tensors_[i]), spec.substr(equals + 1), "--inputs " + spec));
    } else {
      add_file(spec.starts_with("@") ? spec.substr(1) : spec);
    }
  }

  std::vector<ir::Array> finish() {
    Rng rng(seed_);
    artifact::compute_sizes(tensors_, dims_);
    std::vector<ir::Array> all;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      // Drawn for every tensor, so that giving one does not change the others.
      ir::Array drawn = artifact::random_array(tensors_[i].dtype, tensors_[i].shape, rng);
      all.push_back(arrays_[i] ? std::move(*arrays_[i]) : std::move(drawn));
    }
    return all;
  }

 private:
  static onnx::StatedInput stated(const TensorInfo& t) {
    onnx::StatedInput in{t.name, t.dtype, true, t.shape, {}};
    for (size_t a = 0; a < t.dims.size(); ++a) {
      if (t.dims[a] >= 0) in.shape[a] = -1;
    }
    for (const auto& [axis, sum] : t.sums) in.shape[axis] = -1;
    in.dim_names.resize(t.shape.size());
    return in;
  }

  static uint64_t parse_seed(const std::string& text, const std::string& spec) {
    uint64_t seed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw UserError(fmt::format("--inputs {}: seed:N expected", spec));
    }
    return seed;
  }

  size_t index_of(const std::string& name, const std::string& place) const {
    std::vector<std::string> names;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].name == name) {
        return i;
      }
      names.push_back(tensors_[i].name);
    }
    throw UserError(fmt::format("{}: the model has no input '{}'", place, name),
                    did_you_mean(name, names, fmt::format("inputs: {}", fmt::join(names, ", "))));
  }

  void add_folder(const std::string& folder) {
    bool any = false;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      for (const std::string& name :
           {fmt::format("input_{}.pb", i), file_name(tensors_[i].name) + ".npy"}) {
        const std::string file = (fs::path(folder) / name).string();
        if (!fs::exists(file)) continue;
        take(i, read_tensor(file, tensors_[i]));
        any = true;
        break;
      }
    }
    if (!any) {
      throw UserError(folder, 0, 0, "the folder holds no input of the model",
                      "input_0.pb, input_1.pb, ..., or NAME.npy");
    }
  }

  void add_npz(const std::string& file) {
    files::NamedArrays arrays = files::read_npz(file);
    if (arrays.empty()) throw UserError(file, 0, 0, "there is no array in it");
    for (files::NamedArray& named : arrays) {
      const size_t i = index_of(named.name, file);
      check_fits(file, tensors_[i], named.array);
      take(i, std::move(named.array));
    }
  }

  void add_file(const std::string& file) {
    if (fs::is_directory(file)) {
      add_folder(file);
    } else if (file.ends_with(".npz")) {
      add_npz(file);
    } else if (tensors_.size() == 1) {
      take(0, read_tensor(file, tensors_[0]));
    } else {
      throw UserError(
          fmt::format("--inputs {}: which of the {} inputs is it?", file, tensors_.size()),
          "NAME=@FILE, an .npz, a folder, or seed:N");
    }
  }

  // The open sizes that an array has are those of all inputs that are drawn.
  void take(size_t i, ir::Array array) {
    const std::vector<int32_t> dims = tensors_[i].dims;
    for (size_t a = 0; a < dims.size(); ++a) {
      for (TensorInfo& t : tensors_) {
        for (size_t b = 0; b < t.dims.size(); ++b) {
          if (dims[a] >= 0 && t.dims[b] == dims[a]) t.shape[b] = array.shape()[a];
        }
      }
    }
    arrays_[i] = std::move(array);
  }

  std::vector<TensorInfo> tensors_;
  const std::vector<artifact::Dim>& dims_;
  std::vector<std::optional<ir::Array>> arrays_;
  uint64_t seed_ = 1;
};

}  // namespace

void add_input_options(CLI::App& command, std::vector<std::string>& specs) {
  command
      .add_option("--inputs", specs,
                  "NAME=VALUE, NAME=@FILE.npy, FILE.npz, a folder with input_N.pb or NAME.npy, or "
                  "seed:N; what is not "
                  "given is random")
      ->allow_extra_args(false)
      ->type_name("SPEC");
}

std::vector<ir::Array> load_inputs(const std::vector<std::string>& specs,
                                   const std::vector<TensorInfo>& tensors,
                                   const std::vector<artifact::Dim>& dims) {
  InputLoader loader(tensors, dims);
  for (const std::string& spec : specs) {
    loader.add(spec);
  }
  return loader.finish();
}

std::vector<ir::Array> load_outputs(const std::string& path,
                                    const std::vector<TensorInfo>& tensors) {
  std::vector<ir::Array> arrays;
  if (fs::is_directory(path)) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      arrays.push_back(read_tensor(fmt::format("{}/output_{}.pb", path, i), tensors[i]));
    }
    return arrays;
  }
  if (!path.ends_with(".npz")) {
    if (tensors.size() != 1) {
      throw UserError(path, 0, 0, fmt::format("the model has {} outputs", tensors.size()),
                      "an .npz or a folder can hold them");
    }
    return {read_tensor(path, tensors[0])};
  }
  const files::NamedArrays named = files::read_npz(path);
  const bool by_name = std::any_of(tensors.begin(), tensors.end(), [&](const TensorInfo& t) {
    return files::find_array(named, t.name) != nullptr;
  });
  for (size_t i = 0; i < tensors.size(); ++i) {
    const ir::Array* array = by_name            ? files::find_array(named, tensors[i].name)
                             : i < named.size() ? &named[i].array
                                                : nullptr;
    if (array == nullptr) {
      throw UserError(path, 0, 0, fmt::format("there is no output '{}' in it", tensors[i].name));
    }
    check_fits(path, tensors[i], *array);
    arrays.push_back(*array);
  }
  return arrays;
}

void save_outputs(const std::string& path, const std::vector<TensorInfo>& tensors,
                  const std::vector<ir::Array>& arrays) {
  if (path == "-" || path.ends_with(".npz")) {
    files::NamedArrays named;
    for (size_t i = 0; i < arrays.size(); ++i) {
      named.push_back({tensors[i].name, arrays[i]});
    }
    files::write_npz(path, named, files::Compression::kStored);
    return;
  }
  if (path.ends_with("/") || fs::is_directory(path)) {
    files::make_folder(path);
    for (size_t i = 0; i < arrays.size(); ++i) {
      files::write_npy((fs::path(path) / (file_name(tensors[i].name) + ".npy")).string(),
                       arrays[i]);
    }
    return;
  }
  if (arrays.size() != 1) {
    throw UserError(path, 0, 0, fmt::format("the model has {} outputs", arrays.size()),
                    "an .npz or a folder can hold them");
  }
  if (path.ends_with(".npy")) {
    files::write_npy(path, arrays[0]);
  } else {
    files::write_raw(path, arrays[0]);
  }
}

}  // namespace tenon::tools
