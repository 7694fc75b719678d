// SPDX-License-Identifier: Apache-2.0
// Inputs of the model: symbolic dimensions, shapes that the user gives, inputs that become constants.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "onnx/converter.h"
#include "onnx/importer.h"
#include "onnx/open_dims.h"
#include "onnx/tensor.h"

namespace tenon::onnx {
namespace {

using graph::Shape;
using TensorType = proto::TypeProto::Tensor;
using Dims = std::map<std::string, int64_t>;

// An input that is open.
struct NeedsSizes : Unsupported {
  using Unsupported::Unsupported;
};

// "shape 2x3", "a scalar"
std::string text(const Shape& shape) {
  return shape.empty() ? "a scalar" : fmt::format("shape {}", fmt::join(shape, "x"));
}

// The shape that the user gave fits what the file states; dimensions with names get their values. Those that are computed
// are compared where they are known.
void match(const TensorType& type, const Shape& given, const ComputedDims& computed, Dims& dims) {
  check_shape(given);
  if (!type.has_shape()) return;
  bool fits = type.shape().dim_size() == static_cast<int>(given.size());
  for (int d = 0; fits && d < type.shape().dim_size(); ++d) {
    const auto& dim = type.shape().dim(d);
    const int64_t extent = given[static_cast<size_t>(d)];
    if (dim.has_dim_value()) {
      fits = dim.dim_value() == extent || dim.dim_value() < 0;
    } else if (computed.count(dim.dim_param())) {
      const auto known = dims.find(dim.dim_param());
      if (known != dims.end() && known->second != extent) {
        throw RequestError(fmt::format("axis {} is {}, which is {} here, not {}", d,
                                       dim.dim_param(), known->second, extent));
      }
    } else if (!dim.dim_param().empty()) {
      fits = dims.emplace(dim.dim_param(), extent).first->second == extent;
    }
  }
  if (!fits) {
    throw RequestError(
        fmt::format("{} does not fit {}", text(given), stated_shape(stated_input("", type))));
  }
}

// "dimensions 'seq' and 'width' of shape 1 x seq x width are open"
std::string what_is_open(const StatedInput& in, const ComputedDims& computed, const Dims& dims) {
  if (!in.has_shape) return "the file states no shape";
  std::set<std::string> names;
  bool nameless = false;
  for (size_t a = 0; a < in.shape.size(); ++a) {
    if (in.shape[a] >= 0 || dims.count(in.dim_names[a])) continue;
    nameless = nameless || in.dim_names[a].empty();
    if (const auto it = computed.find(in.dim_names[a]); it != computed.end()) {
      for (const auto& [name, factor] : it->second.with(dims).factors) {
        names.insert("'" + name + "'");
      }
    } else if (!in.dim_names[a].empty()) {
      names.insert("'" + in.dim_names[a] + "'");
    }
  }
  if (nameless) return fmt::format("shape {} is open", stated_shape(in));
  return fmt::format("dimension{} {} of shape {} {} open", names.size() == 1 ? "" : "s",
                     fmt::join(names, ", "), stated_shape(in), names.size() == 1 ? "is" : "are");
}

// The shape with names replaced; problems name all that is missing, with a hint for the whole model.
Shape resolve(const StatedInput& in, const ComputedDims& computed, const Dims& dims,
              const std::string& hint) {
  Shape shape;
  bool open = !in.has_shape;
  for (size_t a = 0; a < in.shape.size(); ++a) {
    const auto it = in.dim_names[a].empty() ? dims.end() : dims.find(in.dim_names[a]);
    open = open || (in.shape[a] < 0 && it == dims.end());
    shape.push_back(in.shape[a] >= 0 || it == dims.end() ? in.shape[a] : it->second);
  }
  if (open) throw NeedsSizes(what_is_open(in, computed, dims), "give sizes: " + hint);
  check_shape(shape);
  return shape;
}

template <class Map>
void require_known(const Map& given, const std::set<std::string>& known, std::string_view what) {
  for (const auto& [name, value] : given) {
    if (!known.count(name)) {
      throw RequestError(
          fmt::format("the model has no {} '{}'", what, name),
          known.empty()
              ? std::string(what == "dimension" ? "all of its sizes are fixed" : "it has none")
              : fmt::format("it has: {}", fmt::join(known, ", ")));
    }
  }
}

bool is_sequence_of_tensors(const proto::ValueInfoProto& info) {
  return info.type().has_sequence_type() &&
         info.type().sequence_type().elem_type().has_tensor_type();
}

// Those of x.0, x.1, .. whose shapes are given.
std::vector<std::string> tensors_of_sequence(const std::string& name,
                                             const std::map<std::string, Shape>& shapes) {
  std::vector<std::string> list;
  for (;;) {
    const std::string next = fmt::format("{}.{}", name, list.size());
    if (!shapes.count(next)) return list;
    list.push_back(next);
  }
}

}  // namespace

StatedInput stated_input(const std::string& name, const proto::TypeProto::Tensor& type) {
  StatedInput s{name, element_type(type.elem_type()), type.has_shape(), {}, {}};
  for (const auto& d : type.shape().dim()) {
    const bool stated = d.has_dim_value() && d.dim_value() >= 0;
    s.shape.push_back(stated ? d.dim_value() : -1);
    s.dim_names.push_back(stated ? "" : d.dim_param());
  }
  return s;
}

// A sequence is an input for each of its tensors, x.0, x.1, ..; an empty one is given as the shape [0].
void Importer::read_sequence_input(const proto::ValueInfoProto& info, Names& names) {
  const std::string& name = info.name();
  const ir::DType element =
      numeric_type(info.type().sequence_type().elem_type().tensor_type().elem_type());
  const std::vector<std::string> tensors = tensors_of_sequence(name, options_.shapes);
  const auto whole = options_.shapes.find(name);
  const bool is_empty = whole != options_.shapes.end() && whole->second == Shape{0};
  if (tensors.empty() && !is_empty) {
    throw Unsupported(
        "is a sequence: how many tensors it has, and their sizes, must be known when compiling",
        fmt::format("say it for each: --shape {0}.0:3x4 --shape {0}.1:3x4", name));
  }
  const ValueId handle = builder_.variable(name, ir::kBool, {});
  std::vector<Piece> pieces;
  for (const std::string& one : tensors) {
    check_shape(options_.shapes.at(one));
    pieces.push_back({builder_.input(one, element, options_.shapes.at(one)), Piece::kOne});
  }
  sequences_.add(handle, std::move(pieces));
  names.here.insert_or_assign(name, handle);
}

void Importer::read_input(const proto::ValueInfoProto& info, const Dims& dims,
                          const ComputedDims& computed, const std::string& hint, Names& names) {
  const std::string& name = info.name();
  if (is_sequence_of_tensors(info)) return read_sequence_input(info, names);
  if (!info.type().has_tensor_type()) {
    throw Unsupported("maps, optional and sparse values are not supported as inputs");
  }
  const TensorType& type = info.type().tensor_type();
  const ir::DType element = numeric_type(type.elem_type());
  if (const auto bound = options_.bound.find(name); bound != options_.bound.end()) {
    const ir::Array& a = bound->second;
    if (a.dtype() != element) {
      throw RequestError(fmt::format("bound to elements of {}, {} is wanted",
                                     ir::to_string(a.dtype()), ir::to_string(element)));
    }
    names.here.insert_or_assign(name, builder_.constant(a, name));
    return;
  }
  const auto given = options_.shapes.find(name);
  const Shape shape = given != options_.shapes.end()
                          ? given->second
                          : resolve(stated_input(name, type), computed, dims, hint);
  names.here.insert_or_assign(name, builder_.input(name, element, shape));
}

// All sizes that are given, by name or by the shape of an input, and what is computed of them.
std::map<std::string, int64_t> Importer::known_dims(
    const std::vector<const proto::ValueInfoProto*>& inputs, const ComputedDims& computed) const {
  Dims dims = options_.dims;
  const auto match_all = [&] {
    for (const auto* in : inputs) {
      const auto given = options_.shapes.find(in->name());
      const auto bound = options_.bound.find(in->name());
      const bool is_bound = bound != options_.bound.end();
      if ((!is_bound && given == options_.shapes.end()) || is_sequence_of_tensors(*in)) continue;
      const TensorType& type = in->type().tensor_type();
      // Another type is refused when the input is read.
      if (is_bound && element_type(type.elem_type()) != bound->second.dtype()) continue;
      try {
        match(type, is_bound ? bound->second.shape() : given->second, computed, dims);
      } catch (const UserError& e) {
        throw RequestError(fmt::format("input '{}': {}", in->name(), e.what()));
      }
    }
  };
  match_all();
  for (const auto& [name, sum] : computed) {
    const auto size = sum.at(dims);
    if (size && *size < 0) {
      throw RequestError(fmt::format("'{}' is {} for the sizes that are given", name, *size));
    }
    if (size) dims.emplace(name, *size);
  }
  match_all();  // now that computed sizes are known
  return dims;
}

void Importer::read_inputs(const proto::GraphProto& g, Names& names) {
  std::set<std::string> inputs, named;
  std::vector<const proto::ValueInfoProto*> open;
  for (const auto& in : g.input()) {
    for (const auto& d : in.type().tensor_type().shape().dim()) {
      if (!d.dim_param().empty()) named.insert(d.dim_param());
    }
    if (names.here.count(in.name())) continue;  // a weight that old formats list among the inputs
    if (in.name().empty() || !inputs.insert(in.name()).second) {
      throw UserError(fmt::format("two inputs are called '{}'", in.name()));
    }
    if (is_sequence_of_tensors(in)) {
      for (const std::string& one : tensors_of_sequence(in.name(), options_.shapes)) {
        inputs.insert(one);
      }
    }
    open.push_back(&in);
  }
  std::vector<StatedInput> stated;
  for (const auto* in : open) stated.push_back(stated_input(in->name(), in->type().tensor_type()));
  const ComputedDims computed = computed_dims(stated);
  for (const auto& [name, sum] : computed) named.erase(name);
  for (const auto& [name, extent] : options_.dims) refuse_computed(computed, name);
  require_known(options_.dims, named, "dimension");
  require_known(options_.shapes, inputs, "input");
  require_known(options_.bound, inputs, "input");
  for (const auto& [name, extent] : options_.dims) {
    if (extent < 0) throw RequestError(fmt::format("dimension '{}' is negative", name));
  }
  const Dims dims = known_dims(open, computed);
  ImportOptions known = options_;
  known.dims = dims;
  const std::string hint = proposed_options(stated, known);
  for (const auto* in : open) {
    try {
      read_input(*in, dims, computed, hint, names);
    } catch (const NeedsSizes& e) {
      problems_.push_back({in->name(), "input", "", 0, e.reason(), e.hint(), true});
      names.here.insert_or_assign(in->name(), std::nullopt);
    } catch (const Unsupported& e) {
      problems_.push_back({in->name(), "input", "", 0, e.reason(), e.hint()});
      names.here.insert_or_assign(in->name(), std::nullopt);
    } catch (const RequestError& e) {
      throw RequestError(fmt::format("input '{}': {}", in->name(), e.what()));
    } catch (const UserError& e) {
      problems_.push_back({in->name(), "input", "", 0, e.what(), ""});
      names.here.insert_or_assign(in->name(), std::nullopt);
    }
  }
}

}  // namespace tenon::onnx
