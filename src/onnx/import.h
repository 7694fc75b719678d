// SPDX-License-Identifier: Apache-2.0
// ONNX files to graphs: opsets as limits.h has them, static shapes, weights inline or in files beside the model.
//
//   onnx::Imported m = onnx::import_file("resnet50.onnx", {.dims = {{"batch", 1}}});
//
// A file is never trusted: sizes are checked before anything is allocated, paths of external data may not
// leave the model's folder, cycles and missing tensors are reported. Protobuf stays inside this module.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "support/check.h"

namespace tenon::onnx {

struct ImportOptions {
  std::map<std::string, int64_t> dims;         // symbolic dimensions by name
  std::map<std::string, graph::Shape> shapes;  // whole inputs by name
  std::map<std::string, ir::Array> bound;      // inputs that become constants
};

// One node that cannot be imported, or an input, whose op is "input".
struct Problem {
  std::string node, op, domain;
  int64_t opset = 0;         // 0: of an input
  std::string reason;        // "mode 'cubic' with exclude_outside is not supported"
  std::string hint;          // may be empty
  bool needs_sizes = false;  // an input: it is well once they are given
};

// "3 nodes cannot be imported", "2 inputs need sizes", "1 input needs sizes; 1 node cannot be imported"
std::string refusal_text(const std::vector<Problem>& problems);

struct ModelInfo {
  std::string name, producer;
  int64_t ir_version = 0;
  int64_t opset = 0;                   // of the standard's own operators; 0: the file imports none
  int64_t nodes = 0;                   // in the file, of the main graph
  int64_t parameters = 0;              // elements of initializers and of Constant nodes
  int64_t parameter_bytes = 0;         // that they take in the model
  std::map<std::string, int64_t> ops;  // how often each op type occurs
};

struct Imported {
  graph::Graph graph;
  ModelInfo info;
};

// The whole list of what is wrong; what() says it in a few lines.
class ImportError : public UserError {
 public:
  ImportError(const std::string& file, std::vector<Problem> problems);
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

// What was asked does not fit the model: a dimension that it does not have, a shape or a value that an input cannot
// have.
class RequestError : public UserError {
 public:
  using UserError::UserError;
};

// Throws UserError for a file that is no model, ImportError for nodes that cannot be imported, RequestError for options
// that do not fit.
Imported import_file(const std::string& path, const ImportOptions& options = {});
Imported import_bytes(const std::string& bytes, const std::string& folder,
                      const ImportOptions& options = {});

// Everything that stands in the way, in one pass; empty: import_file will work.
struct Report {
  ModelInfo info;
  std::vector<Problem> problems;
};
Report check_file(const std::string& path, const ImportOptions& options = {});

// An input as the file states it.
struct StatedInput {
  std::string name;
  std::optional<ir::DType> dtype;  // none: sequences, strings and the like
  bool has_shape = false;
  std::vector<int64_t> shape;          // -1: open
  std::vector<std::string> dim_names;  // of what is open; may be empty
};

// A file that is parsed once and imported several times, at other sizes for example; weights are shared.
class Source {
 public:
  static Source from_file(const std::string& path);  // throws UserError
  static Source from_bytes(const std::string& bytes, const std::string& folder);

  std::vector<StatedInput> inputs() const;  // without those that have initializers
  std::optional<StatedInput> input(const std::string& name) const;  // any; none: it has no such
  Imported import(const ImportOptions& options = {}) const;
  Report check(const ImportOptions& options = {}) const;

 private:
  struct Impl;
  explicit Source(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

// A TensorProto file (.pb), as test suites hold inputs and outputs, and its bytes.
ir::Array read_tensor_file(const std::string& path);
ir::Array read_tensor(const std::string& bytes);

// "opsets 7 to 24 are read, and of 1 to 6 what has not changed since", as docs say it.
std::string supported_opsets();

// What is supported: (domain, op, since version) of every converter, sorted. docs/ops.md is made of it.
struct Supported {
  std::string domain, op;
  int since = 1;
};
std::vector<Supported> supported();

}  // namespace tenon::onnx
