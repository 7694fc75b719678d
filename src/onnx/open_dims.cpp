// SPDX-License-Identifier: Apache-2.0
#include "onnx/open_dims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

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
  if (has_any(name, {"frame", "time", "step"}) || name == "t") return kFrames;
  if (has_any(name, {"past", "seq", "len", "token"}) || name == "l") return kTokens;
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

// A word for a shell.
std::string quoted(const std::string& word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_.,:=/@%+-").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Proposes sizes input by input.
class Proposal {
 public:
  Proposal(const std::vector<StatedInput>& inputs, const ImportOptions& given)
      : computed_(computed_dims(inputs)), given_(given), sizes_(given.dims) {
    for (const StatedInput& in : inputs) {
      for (size_t a = 0; a < in.dim_names.size(); ++a) {
        const std::string& name = in.dim_names[a];
        if (!name.empty() && !computed_.count(name)) sizes_.emplace(name, likely_size(in, a));
      }
    }
  }

  void add(const StatedInput& in) {
    if (!in.has_shape) {
      shapes_.push_back("--shape " + quoted(in.name + ":1x3x224x224"));
      return;
    }
    bool nameless = false;
    for (size_t a = 0; a < in.shape.size(); ++a) {
      nameless = nameless || (in.shape[a] < 0 && in.dim_names[a].empty());
    }
    std::vector<std::string> shape;
    for (size_t a = 0; a < in.shape.size(); ++a) {
      const std::string& name = in.dim_names[a];
      shape.push_back(size(in, a));
      const bool asked = in.shape[a] < 0 && !nameless && !given_.dims.count(name);
      if (asked && !computed_.count(name) && named_.insert(name).second) {
        dims_.push_back(fmt::format("{}={}", name, shape[a]));
      }
    }
    if (nameless) {
      shapes_.push_back("--shape " + quoted(fmt::format("{}:{}", in.name, fmt::join(shape, "x"))));
    }
  }

  std::string text() const {
    std::vector<std::string> options = shapes_;
    if (!dims_.empty()) {
      options.insert(options.begin(), "--dims " + quoted(fmt::format("{}", fmt::join(dims_, ","))));
    }
    return fmt::format("{}", fmt::join(options, " "));
  }

 private:
  std::string size(const StatedInput& in, size_t axis) const {
    const std::string& name = in.dim_names[axis];
    if (in.shape[axis] >= 0) return std::to_string(in.shape[axis]);
    if (const auto it = computed_.find(name); it != computed_.end()) {
      return std::to_string(it->second.at(sizes_).value_or(1));
    }
    if (!name.empty() && given_.dims.count(name)) return std::to_string(given_.dims.at(name));
    return looks_like_batch(in, axis) ? "1..8" : std::to_string(likely_size(in, axis));
  }

  ComputedDims computed_;
  const ImportOptions& given_;
  std::map<std::string, int64_t> sizes_;  // that are given, or likely
  std::set<std::string> named_;
  std::vector<std::string> dims_, shapes_;
};

}  // namespace

ComputedDims computed_dims(const std::vector<StatedInput>& inputs) {
  std::set<std::string> names;
  for (const StatedInput& in : inputs) names.insert(in.dim_names.begin(), in.dim_names.end());
  ComputedDims computed;
  for (const std::string& name : names) {
    std::set<std::string> others = names;
    others.erase(name);
    if (const auto sum = parse_size_sum(name, others)) computed.emplace(name, *sum);
  }
  return computed;
}

void refuse_computed(const ComputedDims& computed, const std::string& name) {
  const auto it = computed.find(name);
  if (it == computed.end()) return;
  std::vector<std::string> of;
  for (const auto& [dim, factor] : it->second.factors) of.push_back("'" + dim + "'");
  throw RequestError(fmt::format("'{}' is computed, and has no size of its own", name),
                     fmt::format("give sizes of {}", fmt::join(of, " and ")));
}

bool looks_like_batch(const StatedInput& input, size_t axis) {
  const std::string name = lower(input.dim_names[axis]);
  if (has_any(name, {"batch"}) || name == "b" || name == "bs") return true;
  // A number of something else is the last axis of several: 1 x n.
  if (name == "n" && (axis == 0 || axis + 1 < input.shape.size())) return true;
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
  const bool named = std::any_of(input.dim_names.begin(), input.dim_names.end(),
                                 [](const std::string& name) { return !name.empty(); });
  return dims.empty() ? "a scalar" : fmt::format("{}", fmt::join(dims, named ? " x " : "x"));
}

std::string proposed_options(const std::vector<StatedInput>& inputs, const ImportOptions& given) {
  Proposal proposal(inputs, given);
  for (const StatedInput& in : inputs) {
    if (!given.shapes.count(in.name) && !given.bound.count(in.name)) proposal.add(in);
  }
  return proposal.text();
}

}  // namespace tenon::onnx
