// SPDX-License-Identifier: Apache-2.0
#include "onnx/sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "onnx/open_dims.h"

namespace tenon::onnx {
namespace {

constexpr int64_t kMostSizes = 1 << 16;  // of one dimension, so that a slip of the finger ends

int64_t parse_size(std::string_view text, const std::string& whole) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end || text.empty() || value < 0) {
    throw UserError(fmt::format("'{}': '{}' is no size", whole, text));
  }
  return value;
}

void add_range(std::string_view text, const std::string& whole, std::set<int64_t>& out) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    out.insert(parse_size(text, whole));
    return;
  }
  const size_t colon = text.find(':', dots);
  const int64_t first = parse_size(text.substr(0, dots), whole);
  const int64_t last = parse_size(text.substr(dots + 2, colon - dots - 2), whole);
  const int64_t step =
      colon == std::string_view::npos ? 1 : parse_size(text.substr(colon + 1), whole);
  if (last < first || step < 1) {
    throw UserError(fmt::format("'{}': '{}' is no range of sizes", whole, text),
                    "16..512:16 is one: from 16 to 512 in steps of 16");
  }
  if ((last - first) / step >= kMostSizes) {
    throw UserError(
        fmt::format("'{}': '{}' are {} sizes, more than the {} that a dimension may have", whole,
                    text, (last - first) / step + 1, kMostSizes),
        "give fewer, or steps: 16..512:16 is from 16 to 512 in steps of 16");
  }
  for (int64_t n = first; n <= last; n += step) out.insert(n);
}

// Collects the dimensions with several sizes while inputs are looked at one by one.
class Reader {
 public:
  Reader(const SizeRequest& request, const std::vector<StatedInput>& inputs) : request_(request) {
    out_.fixed.bound = request.bound;
    out_.computed = computed_dims(inputs);
    for (const StatedInput& in : inputs) note_shown(in);
    for (const auto& [name, sizes] : request.dims) {
      if (is_axis_without_name(name, inputs)) continue;
      refuse_computed(out_.computed, name);
      if (sizes.size() == 1) {
        out_.fixed.dims[name] = sizes[0];
      } else {
        out_.named[name] = add(name, sizes);
      }
    }
  }

  void read(const StatedInput& in) {
    if (request_.bound.count(in.name)) return;
    read_.push_back(in);
    const auto given = request_.shapes.find(in.name);
    if (given != request_.shapes.end()) {
      read_given(in, given->second);
    } else if (in.has_shape) {
      read_stated(in);
    } else {
      out_.input_dims.emplace_back();
    }
  }

  OpenSizes finish() && {
    drop_unused();
    add_sums();
    return std::move(out_);
  }

 private:
  size_t add(const std::string& name, const Sizes& sizes) {
    out_.dims.push_back({name, sizes});
    return out_.dims.size() - 1;
  }

  // Sizes of names that a constant or a shape with one size shows: no other input has to take a default for them.
  void note_shown(const StatedInput& in) {
    const auto bound = request_.bound.find(in.name);
    const auto given = request_.shapes.find(in.name);
    for (size_t a = 0; a < in.dim_names.size(); ++a) {
      if (in.dim_names[a].empty() || out_.computed.count(in.dim_names[a])) continue;
      if (bound != request_.bound.end() && a < bound->second.shape().size()) {
        shown_.emplace(in.dim_names[a], bound->second.shape()[a]);
      } else if (given != request_.shapes.end() && a < given->second.size() &&
                 given->second[a].size() == 1) {
        shown_.emplace(in.dim_names[a], given->second[a][0]);
      }
    }
  }

  static std::string axis_name(const std::string& input, size_t axis) {
    return fmt::format("{}.{}", input, axis);
  }

  // Whether "x.2" is an open axis of an input that the file has no name for, and no name of another.
  static bool is_axis_without_name(const std::string& name,
                                   const std::vector<StatedInput>& inputs) {
    bool found = false;
    for (const StatedInput& in : inputs) {
      for (size_t a = 0; a < in.shape.size(); ++a) {
        if (in.shape[a] >= 0) continue;
        if (in.dim_names[a] == name) return false;
        found = found || (in.dim_names[a].empty() && axis_name(in.name, a) == name);
      }
    }
    return found;
  }

  // Sizes of an axis without a name that are given by its place; -1 and its one size where it has only one.
  std::optional<int32_t> take_axis(const StatedInput& in, size_t axis, OpenSizes::Extent& extent) {
    const auto given = request_.dims.find(axis_name(in.name, axis));
    if (!in.dim_names[axis].empty() || given == request_.dims.end()) return std::nullopt;
    if (given->second.size() > 1) return static_cast<int32_t>(add(given->first, given->second));
    extent = {given->second[0]};
    return -1;
  }

  // First axes without names that have the same sizes are one dimension: a batch.
  size_t nameless(const std::string& input, size_t axis, const Sizes& sizes) {
    if (axis > 0) return add(axis_name(input, axis), sizes);
    const auto [it, fresh] = batches_.try_emplace(sizes, 0);
    if (fresh) {
      const bool plain = !out_.named.count("batch") && batches_.size() == 1;
      it->second = add(plain ? "batch" : input + ".0", sizes);
    }
    return it->second;
  }

  size_t named(const std::string& name, const Sizes& sizes) {
    const auto [it, fresh] = out_.named.try_emplace(name, 0);
    if (fresh) it->second = add(name, sizes);
    if (out_.dims[it->second].sizes != sizes) {
      throw RequestError(
          fmt::format("dimension '{}' is given sizes twice, and not the same", name));
    }
    return it->second;
  }

  void read_given(const StatedInput& in, const std::vector<Sizes>& shape) {
    std::vector<OpenSizes::Extent> extents;
    std::vector<int32_t> dims;
    for (size_t a = 0; a < shape.size(); ++a) {
      const bool has_name = a < in.dim_names.size() && !in.dim_names[a].empty();
      if (shape[a].size() == 1) {
        extents.push_back({shape[a][0]});
        dims.push_back(-1);
        continue;
      }
      if (has_name) refuse_computed(out_.computed, in.dim_names[a]);
      if (a < in.shape.size() && in.shape[a] >= 0) {
        throw RequestError(fmt::format("input '{}': axis {} of {} has one size only", in.name, a,
                                       stated_shape(in)));
      }
      const size_t dim =
          has_name ? named(in.dim_names[a], shape[a]) : nameless(in.name, a, shape[a]);
      extents.push_back({-1, static_cast<int32_t>(dim)});
      dims.push_back(static_cast<int32_t>(dim));
    }
    out_.shapes[in.name] = std::move(extents);
    out_.input_dims.push_back(std::move(dims));
  }

  // By the names in the file, or what a batch has where nothing is said.
  void read_stated(const StatedInput& in) {
    std::vector<OpenSizes::Extent> extents;
    std::vector<int32_t> dims(in.shape.size(), -1);
    bool by_shape = false, complete = true;
    for (size_t a = 0; a < in.shape.size(); ++a) {
      extents.push_back({in.shape[a]});
      if (in.shape[a] >= 0) continue;
      const std::string& name = in.dim_names[a];
      if (out_.computed.count(name)) {
        extents[a].sum = name;
        continue;
      }
      if (!name.empty() && out_.fixed.dims.count(name)) {
        extents[a] = {out_.fixed.dims.at(name)};
        continue;
      }
      if (const auto it = out_.named.find(name); !name.empty() && it != out_.named.end()) {
        dims[a] = static_cast<int32_t>(it->second);
      } else if (const auto shown = shown_.find(name); shown != shown_.end()) {
        extents[a] = {shown->second};
      } else if (const auto axis = take_axis(in, a, extents[a])) {
        dims[a] = *axis;
        by_shape = true;
      } else if (looks_like_batch(in, a)) {
        dims[a] = take_batch(in, a, extents[a]);
        by_shape = by_shape || name.empty();
      } else {
        complete = false;
      }
      if (dims[a] >= 0) extents[a] = {-1, dims[a]};
    }
    if (by_shape && complete) out_.shapes[in.name] = std::move(extents);
    out_.input_dims.push_back(std::move(dims));
  }

  // The dimension, or -1 and its one size.
  int32_t take_batch(const StatedInput& in, size_t axis, OpenSizes::Extent& extent) {
    const std::string& name = in.dim_names[axis];
    const Sizes& sizes = request_.batch;
    const std::string shown = name.empty() ? "batch" : name;
    const auto text = fmt::format("{}={}{}", shown, sizes.front(),
                                  sizes.size() > 1 ? fmt::format("..{}", sizes.back()) : "");
    if (std::find(out_.taken.begin(), out_.taken.end(), text) == out_.taken.end()) {
      out_.taken.push_back(text);
    }
    if (sizes.size() == 1) {
      extent = {sizes[0]};
      if (!name.empty()) out_.fixed.dims[name] = sizes[0];
      return -1;
    }
    return static_cast<int32_t>(name.empty() ? nameless(in.name, axis, sizes) : named(name, sizes));
  }

  // A name that no input has is refused when the model is imported, which wants it as one size.
  void drop_unused() {
    std::set<int32_t> used;
    for (const auto& dims : out_.input_dims) used.insert(dims.begin(), dims.end());
    for (const auto& [name, dim] : out_.named) {
      if (!used.count(static_cast<int32_t>(dim))) {
        throw RequestError(
            fmt::format("no input of the model has a dimension '{}' that is open", name));
      }
    }
  }

  // Sums are computed after all inputs were read. The import asks for the sizes that a sum still lacks.
  void add_sums() {
    shown_.insert(out_.fixed.dims.begin(), out_.fixed.dims.end());
    std::set<std::string> unknown;
    for (auto& [name, sum] : out_.computed) {
      sum = sum.with(shown_);
      for (const auto& [dim, factor] : sum.factors) {
        if (!out_.named.count(dim)) unknown.insert(name);
      }
    }
    for (const StatedInput& in : read_) {
      std::map<size_t, SizeSum>& sums = out_.input_sums.emplace_back();
      for (size_t a = 0; a < in.dim_names.size(); ++a) {
        const auto it = out_.computed.find(in.dim_names[a]);
        if (it == out_.computed.end()) continue;
        if (unknown.count(it->first)) {
          if (!request_.shapes.count(in.name)) out_.shapes.erase(in.name);
        } else if (!it->second.factors.empty()) {
          sums.emplace(a, it->second);
        }
      }
    }
  }

  const SizeRequest& request_;
  OpenSizes out_;
  std::vector<StatedInput> read_;         // inputs that are no constants
  std::map<std::string, int64_t> shown_;  // sizes of names by a given shape or a constant
  std::map<Sizes, size_t> batches_;
};

}  // namespace

Sizes parse_sizes(const std::string& text, const std::string& whole) {
  std::set<int64_t> all;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find('|', begin);
    add_range(std::string_view(text).substr(begin, end - begin), whole, all);
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  return {all.begin(), all.end()};
}

ImportOptions OpenSizes::at(const std::vector<int64_t>& sizes) const {
  ImportOptions options = fixed;
  for (const auto& [name, dim] : named) options.dims[name] = sizes.at(dim);
  for (const auto& [input, extents] : shapes) {
    graph::Shape& shape = options.shapes[input];
    for (const Extent& e : extents) {
      shape.push_back(e.dim >= 0      ? sizes.at(static_cast<size_t>(e.dim))
                      : e.sum.empty() ? e.size
                                      : computed.at(e.sum).at(options.dims).value());
    }
  }
  return options;
}

OpenSizes open_sizes(const Source& source, const SizeRequest& request) {
  const std::vector<StatedInput> inputs = source.inputs();
  Reader reader(request, inputs);
  std::vector<std::string> names;
  for (const StatedInput& in : inputs) {
    reader.read(in);
    names.push_back(in.name);
  }
  for (const auto& [name, shape] : request.shapes) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw RequestError(fmt::format("the model has no input '{}'", name),
                         fmt::format("it has: {}", fmt::join(names, ", ")));
    }
  }
  return std::move(reader).finish();
}

}  // namespace tenon::onnx
