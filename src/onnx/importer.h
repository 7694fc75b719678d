// SPDX-License-Identifier: Apache-2.0
// Walks the nodes of a model and writes the graph. A node that cannot be imported becomes a Problem; what
// depends on it is walked on where its type is stated in the file, and otherwise only looked up in the table.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/builder.h"
#include "onnx/converter.h"
#include "onnx/import.h"
#include "onnx/open_dims.h"
#include "onnx/order.h"
#include "onnx/tensor.h"

namespace tenon::onnx {

using graph::ValueId;

// Names that are visible to nodes. Nothing in the optional: it depends on a node that is not imported.
struct Names {
  const Names* outer = nullptr;
  std::map<std::string, std::optional<ValueId>> here;

  const std::optional<ValueId>* find(const std::string& name) const;
};

using Attributes = std::map<std::string, const proto::AttributeProto*>;
using TensorCache = std::map<const proto::TensorProto*, graph::Data>;

// What nodes need to know of the list they stand in: the main graph, a subgraph or a function's body.
struct Place {
  const std::map<std::string, int64_t>* opsets = nullptr;  // by domain
  const Attributes* call = nullptr;                        // of the function's call; null outside
  std::string prefix;                                      // of node names: "outer/"
  int depth = 0;
};

// Ends the import altogether, unlike a UserError, which is the problem of one node.
struct OverLimit {
  std::string what;
};

class Importer {
 public:
  // `initializers` holds those of the main graph that were converted before, and gets the others.
  Importer(const proto::ModelProto& model, const std::string& folder, const ImportOptions& options,
           TensorCache& initializers);
  void run();

  graph::Graph& graph() { return graph_; }
  graph::GraphBuilder& builder() { return builder_; }
  Sequences& sequences() { return sequences_; }
  const std::vector<Problem>& problems() const { return problems_; }
  void keep_problems(size_t count) { problems_.resize(count); }
  bool is_read(const std::string& name);  // outside of functions

  std::vector<ValueId> run_subgraph(const proto::GraphProto& g,
                                    const std::vector<ValueId>& arguments, const Names& outer,
                                    const Place& place);
  graph::Data tensor(const proto::TensorProto& t);  // the same tensor is converted once

 private:
  struct Function {
    const proto::FunctionProto* body = nullptr;
    std::map<std::string, int64_t> opsets;
    std::vector<proto::AttributeProto> defaults;
  };
  struct Call {
    const proto::NodeProto& node;
    std::string name, domain;
    int64_t opset;
    Names& names;
    const Place& place;
  };

  void read_opsets();
  void read_functions();
  void read_initializers(const proto::GraphProto& g, Names& names);
  void read_inputs(const proto::GraphProto& g, Names& names);
  void read_sequence_input(const proto::ValueInfoProto& info, Names& names);
  void read_input(const proto::ValueInfoProto& info, const std::map<std::string, int64_t>& dims,
                  const ComputedDims& computed, const std::string& hint, Names& names);
  std::map<std::string, int64_t> known_dims(const std::vector<const proto::ValueInfoProto*>& inputs,
                                            const ComputedDims& computed) const;
  void read_outputs(const proto::GraphProto& g, const Names& names);
  void add_output(const std::string& name, ValueId v);
  void read_types(const proto::GraphProto& g);

  void convert_all(const Nodes& nodes, Names& names, const Place& place);
  void convert_node(const proto::NodeProto& node, int index, Names& names, const Place& place);
  void convert_call(const Call& call);
  void convert_by_row(const Call& call);
  void convert_function(const Call& call, const Function& f);
  bool inputs_known(const Call& call);
  void bind_outputs(const Call& call, const std::vector<ValueId>& values, size_t first_new);
  void report(const Call& call, const std::string& reason, const std::string& hint);
  std::optional<ValueId> stand_in(const std::string& name);
  void count_conversion(const std::string& node);
  void check_graph_size(const std::string& node) const;
  void count_made_constants(const Call& call, size_t first_new);

  const proto::ModelProto& model_;
  const ImportOptions& options_;
  ExternalData files_;
  graph::Graph graph_;
  graph::GraphBuilder builder_;
  std::map<std::string, int64_t> opsets_;
  std::map<std::pair<std::string, std::string>, Function> functions_;
  std::map<std::string, const proto::TypeProto*> types_;  // stated in the file, by value
  std::optional<std::set<std::string>> read_names_;       // once somebody has asked
  TensorCache& initializers_;
  TensorCache tensors_;
  std::vector<Problem> problems_;
  Sequences sequences_;
  int64_t conversions_ = 0, made_constants_ = 0;
};

// Attributes of a node by name, with references to the attributes of the call resolved.
Attributes attributes_of(const proto::NodeProto& node, const Attributes* call);

// What a file says about an input that is a tensor.
StatedInput stated_input(const std::string& name, const proto::TypeProto::Tensor& type);

// "" for the standard's own domain.
std::string plain_domain(const std::string& domain);

}  // namespace tenon::onnx
