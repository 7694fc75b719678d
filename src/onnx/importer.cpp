// SPDX-License-Identifier: Apache-2.0
#include "onnx/importer.h"

#include <fmt/format.h>

#include <new>

#include "onnx/limits.h"
#include "onnx/node.h"
#include "onnx/ops/turns.h"
#include "onnx/read_names.h"
#include "onnx/table.h"
#include "onnx/unknown.h"

namespace tenon::onnx {

const std::optional<ValueId>* Names::find(const std::string& name) const {
  for (const Names* n = this; n; n = n->outer) {
    const auto it = n->here.find(name);
    if (it != n->here.end()) return &it->second;
  }
  return nullptr;
}

std::string plain_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

Attributes attributes_of(const proto::NodeProto& node, const Attributes* call) {
  Attributes found;
  for (const auto& a : node.attribute()) {
    const proto::AttributeProto* value = &a;
    if (!a.ref_attr_name().empty()) {
      if (!call) throw Unsupported(fmt::format("attribute '{}' refers to nothing", a.name()));
      const auto it = call->find(a.ref_attr_name());
      if (it == call->end()) continue;  // not given in the call: left out here too
      value = it->second;
    }
    if (!found.emplace(a.name(), value).second) {
      throw Unsupported(fmt::format("attribute '{}' is given twice", a.name()));
    }
  }
  return found;
}

Importer::Importer(const proto::ModelProto& model, const std::string& folder,
                   const ImportOptions& options, TensorCache& initializers)
    : model_(model),
      options_(options),
      files_(folder),
      builder_(graph_),
      initializers_(initializers) {}

void Importer::run() try {
  read_opsets();
  read_functions();
  read_types(model_.graph());
  Names names;
  read_initializers(model_.graph(), names);
  read_inputs(model_.graph(), names);
  convert_all(model_.graph().node(), names, Place{&opsets_, nullptr, "", 0});
  read_outputs(model_.graph(), names);
} catch (const OverLimit& e) {
  throw UserError(e.what);
}

std::string supported_opsets() {
  return fmt::format("opsets {} to {} are read, and of {} to {} what has not changed since",
                     kPromisedOpset, kNewestOpset, kOldestOpset, kPromisedOpset - 1);
}

void Importer::read_opsets() {
  for (const auto& set : model_.opset_import()) {
    if (!opsets_.emplace(plain_domain(set.domain()), set.version()).second) {
      throw UserError(fmt::format("two opsets of domain '{}'", set.domain()));
    }
  }
  if (opsets_.empty()) opsets_.emplace("", 1);  // files of the first format
  const auto it = opsets_.find("");
  if (it == opsets_.end()) return;
  if (it->second < kOldestOpset || it->second > kNewestOpset) {
    throw UserError(fmt::format("opset {} is not supported: {}", it->second, supported_opsets()));
  }
}

void Importer::read_types(const proto::GraphProto& g) {
  for (const auto& info : g.value_info()) types_.emplace(info.name(), &info.type());
}

bool Importer::is_read(const std::string& name) {
  if (!read_names_) read_names_ = read_names(model_.graph());
  return read_names_->contains(name);
}

graph::Data Importer::tensor(const proto::TensorProto& t) {
  graph::Data& known = tensors_[&t];
  if (!known) known = to_data(t, &files_);
  return known;
}

void Importer::read_initializers(const proto::GraphProto& g, Names& names) {
  const auto add = [&](const std::string& name, const auto& read) {
    if (name.empty()) throw UserError("an initializer has no name");
    try {
      const auto [it, first] = names.here.emplace(name, std::nullopt);
      if (!first) throw UserError("is given twice");
      // A bound input wins over the default that its initializer gives.
      if (!names.outer && options_.bound.count(name)) {
        names.here.erase(it);
        return;
      }
      it->second = builder_.constant(read(), name);
    } catch (const UserError& e) {
      throw UserError(fmt::format("initializer '{}': {}", name, e.what()));
    }
  };
  const auto read_once = [&](const proto::TensorProto& t) {
    graph::Data& known = initializers_[&t];
    if (!known) known = to_data(t, &files_);
    return known;
  };
  for (const auto& t : g.initializer()) {
    add(t.name(), [&] { return names.outer ? tensor(t) : read_once(t); });
  }
  for (const auto& t : g.sparse_initializer()) {
    add(t.values().name(), [&] { return to_data(t, &files_); });
  }
}

void Importer::convert_all(const Nodes& nodes, Names& names, const Place& place) {
  if (place.depth > kMaxDepth) throw OverLimit{"subgraphs or functions are nested too deeply"};
  for (const int n : execution_order(nodes)) convert_node(nodes.Get(n), n, names, place);
}

void Importer::count_conversion(const std::string& node) {
  if (++conversions_ > kMaxConversions) {
    throw OverLimit{fmt::format(
        "node '{}': more than {} nodes to convert, with every turn of a loop and every call of a "
        "function counted; unroll less, or export the model in parts",
        node, kMaxConversions)};
  }
}

void Importer::check_graph_size(const std::string& node) const {
  if (static_cast<int64_t>(graph_.nodes.size()) > kMaxGraphNodes) {
    throw OverLimit{fmt::format(
        "node '{}': the model unrolls into more than {} operations; recurrent layers and loops are "
        "written out step by step, so give them fewer steps, or export the model in parts",
        node, kMaxGraphNodes)};
  }
}

void Importer::convert_node(const proto::NodeProto& node, int index, Names& names,
                            const Place& place) {
  std::string name = node.name();
  if (name.empty() && node.output_size() > 0) name = node.output(0);
  if (name.empty()) name = fmt::format("{}_{}", node.op_type(), index);
  count_conversion(place.prefix + name);
  const std::string domain = plain_domain(node.domain());
  const auto opset = place.opsets->find(domain);
  const Call call{node,   place.prefix + name,
                  domain, opset == place.opsets->end() ? 0 : opset->second,
                  names,  place};
  for (const std::string& out : node.output()) {
    if (!out.empty() && names.here.count(out)) {
      throw UserError(fmt::format("node '{}' computes '{}', which is there already", name, out));
    }
  }
  builder_.begin(call.name);
  try {
    convert_call(call);
  } catch (const Unsupported& e) {
    report(call, e.reason(), e.hint());
  } catch (const UserError& e) {
    report(call, e.what(), "");
  } catch (const Blocked&) {
    bind_outputs(call, {}, 0);
  } catch (const std::bad_alloc&) {
    report(call, "needs more memory than there is", "");
  }
}

void Importer::convert_call(const Call& call) {
  const auto f = functions_.find({call.domain, call.node.op_type()});
  if (f != functions_.end()) return convert_function(call, f->second);
  convert_by_row(call);
}

// False: one of them depends on a node that is not imported.
bool Importer::inputs_known(const Call& call) {
  bool known = true;
  for (const std::string& name : call.node.input()) {
    if (name.empty()) continue;
    const auto* v = call.names.find(name);
    if (!v) throw Unsupported(fmt::format("reads '{}', which nothing computes", name));
    known = known && v->has_value();
  }
  return known;
}

void Importer::convert_by_row(const Call& call) {
  const std::string& op = call.node.op_type();
  if (call.opset == 0) {
    throw Unsupported(fmt::format("the model imports no opset of domain '{}'", call.domain));
  }
  const Lookup found = find_row(call.domain, op, call.opset);
  if (!found.row && found.oldest > 0) {
    throw Unsupported(
        fmt::format("needs opset {} or newer, the model has {}", found.oldest, call.opset));
  }
  if (!found.row) {
    throw Unsupported(why_refused(call.domain, op));
  }
  const bool known = inputs_known(call);
  if (!known) throw Blocked{};
  const size_t first_new = graph_.values.size();
  NodeConvert node(*this, call.node, call.name, call.opset, call.names, call.place);
  const std::vector<ValueId> values = found.row->convert(node);
  count_made_constants(call, first_new);
  check_graph_size(call.name);
  bind_outputs(call, values, first_new);
}

// Bounds what a few bytes of shape arithmetic can unfold to. Constants that stand in the file are bounded
// by the file.
void Importer::count_made_constants(const Call& call, size_t first_new) {
  if (call.node.op_type() == "Constant" && call.place.depth == 0) return;
  for (size_t v = first_new; v < graph_.values.size(); ++v) {
    if (graph_.values[v].constant()) made_constants_ += graph_.values[v].bytes();
  }
  if (made_constants_ > kMaxMadeConstants) {
    throw OverLimit{fmt::format("node '{}': computed constants take more than {} MiB", call.name,
                                kMaxMadeConstants >> 20)};
  }
}

// No values: the outputs are unknown.
void Importer::bind_outputs(const Call& call, const std::vector<ValueId>& values,
                            size_t first_new) {
  for (int i = 0; i < call.node.output_size(); ++i) {
    const std::string& name = call.node.output(i);
    if (name.empty()) continue;
    std::optional<ValueId> value;
    if (!values.empty()) {
      if (static_cast<size_t>(i) >= values.size()) {
        if (call.place.call == nullptr && !is_read(name)) continue;
        throw Unsupported(fmt::format("output {} is not supported", i));
      }
      value = values[static_cast<size_t>(i)];
      const bool fresh = static_cast<size_t>(*value) >= first_new;
      if (fresh) graph_.rename(*value, call.place.prefix + name);
    }
    call.names.here.insert_or_assign(name, value);
  }
}

void Importer::report(const Call& call, const std::string& reason, const std::string& hint) {
  problems_.push_back({call.name, call.node.op_type(), call.domain, call.opset, reason, hint});
  for (const std::string& name : call.node.output()) {
    if (name.empty()) continue;
    call.names.here.insert_or_assign(
        name, call.place.depth == 0 ? stand_in(name) : std::optional<ValueId>());
  }
}

// A value of the type that the file states, so that what comes after a problem can be looked at too.
std::optional<ValueId> Importer::stand_in(const std::string& name) {
  const auto it = types_.find(name);
  if (it == types_.end() || !it->second->has_tensor_type()) return std::nullopt;
  const auto& type = it->second->tensor_type();
  const auto element = element_type(type.elem_type());
  if (!element || !type.has_shape()) return std::nullopt;
  graph::Shape shape;
  for (const auto& dim : type.shape().dim()) {
    if (!dim.has_dim_value() || dim.dim_value() < 1) return std::nullopt;
    shape.push_back(dim.dim_value());
  }
  try {
    check_shape(shape);
  } catch (const UserError&) {
    return std::nullopt;
  }
  return graph_.add_value({name, *element, shape, nullptr});
}

std::vector<ValueId> Importer::run_subgraph(const proto::GraphProto& g,
                                            const std::vector<ValueId>& arguments,
                                            const Names& outer, const Place& place) {
  count_conversion(place.prefix);  // a body without nodes must end, too
  Names names{&outer, {}};
  read_initializers(g, names);
  size_t next = 0;
  for (const auto& in : g.input()) {
    if (names.here.count(in.name())) continue;
    if (next == arguments.size()) throw Unsupported("the subgraph wants more inputs");
    names.here.emplace(in.name(), arguments[next++]);
  }
  if (next != arguments.size()) throw Unsupported("the subgraph wants fewer inputs");
  convert_all(g.node(), names, place);
  std::vector<ValueId> outputs;
  for (const auto& out : g.output()) {
    const auto* v = names.find(out.name());
    if (!v) throw Unsupported(fmt::format("nothing computes the output '{}'", out.name()));
    if (!*v) throw Blocked{};
    if (builder_.is_counted(**v)) {
      throw Unsupported(fmt::format(
          "'{}' has as many rows as an inner loop has turns, which is known behind that loop only",
          out.name()));
    }
    outputs.push_back(**v);
  }
  return outputs;
}

void Importer::read_outputs(const proto::GraphProto& g, const Names& names) {
  if (g.output_size() == 0) throw UserError("the model has no outputs");
  for (const auto& out : g.output()) {
    const auto* v = names.find(out.name());
    if (!v) throw UserError(fmt::format("nothing computes the output '{}'", out.name()));
    if (*v) add_output(out.name(), **v);  // otherwise a problem tells why
  }
}

// A sequence is an output for each of its tensors: y.0, y.1, ..
void Importer::add_output(const std::string& name, ValueId v) {
  const std::vector<Piece>* pieces = sequences_.find(v);
  if (pieces == nullptr) return graph_.add_output(v, name);
  int64_t count = 0;
  for (const Piece& p : *pieces) {
    const int64_t rows = p.rows == Piece::kOne ? 1 : p.rows;
    if (p.rows == Piece::kUnsized) {
      throw UserError(
          fmt::format("how large the tensors of the sequence '{}' are depends on data", name),
          hint_to_know(graph_, inputs_behind(graph_, p.value), Bindable::kLists, {p.value}));
    }
    if (rows < 0) {
      throw UserError(fmt::format("how long the sequence '{}' is depends on data", name));
    }
    for (int64_t i = 0; i < rows; ++i) {
      const ValueId one = p.rows == Piece::kOne ? p.value : element(builder_, p.value, 0, i, rows);
      graph_.add_output(one, fmt::format("{}.{}", name, count++));
    }
  }
  if (count == 0) throw UserError(fmt::format("the sequence '{}' is empty", name));
}

}  // namespace tenon::onnx
