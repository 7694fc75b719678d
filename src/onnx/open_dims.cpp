// SPDX-License-Identifier: Apache-2.0
#include "onnx/open_dims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace tenon::onnx {
namespace {

std::string lower(std::string s) {
  std::transform(s.begin(), s.end(), s.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return s;
}

bool has_any(const std::string& name, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* w) { return name.find(w) != std::string::npos; });
}

bool is_float(const StatedInput& in) { return in.dtype && in.dtype->is_float(); }

constexpr int64_t kPixels = 224;
constexpr int64_t kTokens = 128;
constexpr int64_t kFrames = 100;
constexpr int64_t kSamples = 16000;  // a second of speech

// By the name of the dimension; 0: it says nothing.
int64_t size_by_name(const std::string& name, const StatedInput& in) {
  if (has_any(name, {"height", "width", "pixel"}) || name == "h" || name == "w") return kPixels;
  if (has_any(name, {"channel"}) || name == "c") return 3;
  if (has_any(name, {"sample", "audio", "wave"})) return kSamples;
  if (has_any(name, {"frame", "time"})) return kFrames;
  if (has_any(name, {"past"})) return kTokens;
  if (has_any(name, {"seq", "len", "token"})) return kTokens;
  return has_any(lower(in.name), {"audio", "wave", "speech"}) && in.shape.size() <= 2 ? kSamples
                                                                                      : 0;
}

// By the axis of a tensor of that rank and type.
int64_t size_by_place(const StatedInput& in, size_t axis) {
  const size_t rank = in.shape.size();
  if (is_float(in) && rank >= 4) {
    const bool channels_last = in.shape[rank - 1] == 1 || in.shape[rank - 1] == 3;
    if (axis == (channels_last ? rank - 1 : 1)) return 3;
    return rank == 4 ? kPixels : 16;
  }
  if (is_float(in) && rank == 3 && axis == 1) return kFrames;
  return kTokens;
}

void propose(const StatedInput& in, const ImportOptions& given, std::set<std::string>& named,
             std::vector<std::string>& dims, std::vector<std::string>& shapes) {
  bool nameless = !in.has_shape;
  for (size_t a = 0; a < in.shape.size(); ++a) {
    if (in.shape[a] >= 0) continue;
    nameless = nameless || in.dim_names[a].empty();
  }
  if (!in.has_shape) {
    shapes.push_back(fmt::format("--shape {}:1x3x224x224", in.name));
    return;
  }
  std::vector<std::string> shape;
  for (size_t a = 0; a < in.shape.size(); ++a) {
    const std::string& name = in.dim_names[a];
    const std::string size = in.shape[a] >= 0 ? std::to_string(in.shape[a])
                             : !name.empty() && given.dims.count(name)
                                 ? std::to_string(given.dims.at(name))
                             : looks_like_batch(in, a) ? "1..8"
                                                       : std::to_string(likely_size(in, a));
    shape.push_back(size);
    if (in.shape[a] < 0 && !nameless && !given.dims.count(name) && named.insert(name).second) {
      dims.push_back(fmt::format("{}={}", name, size));
    }
  }
  if (nameless) shapes.push_back(fmt::format("--shape {}:{}", in.name, fmt::join(shape, "x")));
}

}  // namespace

bool looks_like_batch(const StatedInput& input, size_t axis) {
  const std::string name = lower(input.dim_names[axis]);
  if (has_any(name, {"batch"}) || name == "n" || name == "b" || name == "bs") return true;
  return axis == 0 && size_by_name(name, input) == 0 && (input.shape.size() > 1 || !name.empty());
}

int64_t likely_size(const StatedInput& input, size_t axis) {
  if (looks_like_batch(input, axis)) return 1;
  const int64_t by_name = size_by_name(lower(input.dim_names[axis]), input);
  return by_name > 0 ? by_name : size_by_place(input, axis);
}

std::string stated_shape(const StatedInput& input) {
  if (!input.has_shape) return "of any shape";
  std::vector<std::string> dims;
  for (size_t a = 0; a < input.shape.size(); ++a) {
    dims.push_back(input.shape[a] >= 0          ? std::to_string(input.shape[a])
                   : input.dim_names[a].empty() ? "?"
                                                : input.dim_names[a]);
  }
  return dims.empty() ? "a scalar" : fmt::format("{}", fmt::join(dims, "x"));
}

std::string proposed_options(const std::vector<StatedInput>& inputs, const ImportOptions& given) {
  std::set<std::string> named;
  std::vector<std::string> dims, options;
  for (const StatedInput& in : inputs) {
    if (!given.shapes.count(in.name) && !given.bound.count(in.name)) {
      propose(in, given, named, dims, options);
    }
  }
  if (!dims.empty()) {
    options.insert(options.begin(), fmt::format("--dims {}", fmt::join(dims, ",")));
  }
  return fmt::format("{}", fmt::join(options, " "));
}

}  // namespace tenon::onnx
