// SPDX-License-Identifier: Apache-2.0
#include "onnx_suite/ops_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <map>
#include <set>
#include <string_view>

#include "onnx/import.h"
#include "onnx/proto.h"
// The messages must come first: they choose the variant.
#include <onnx/defs/schema.h>

#include "support/check.h"

namespace tenon::onnx_suite {
namespace {

// How the standard calls the inputs of a model that is one node: {"x": "size"}. Empty for others.
std::map<std::string, std::string> formal_names(const std::string& model) {
  ::onnx::ModelProto proto;
  std::ifstream in(model, std::ios::binary);
  if (!proto.ParseFromIstream(&in)) throw UserError(model + " is not an ONNX model");
  std::map<std::string, std::string> names;
  if (proto.graph().node_size() != 1) return names;
  const ::onnx::NodeProto& node = proto.graph().node(0);
  int version = 1;
  for (const auto& opset : proto.opset_import()) {
    if (opset.domain() == node.domain()) version = static_cast<int>(opset.version());
  }
  const ::onnx::OpSchema* schema =
      ::onnx::OpSchemaRegistry::Schema(node.op_type(), version, node.domain());
  if (schema == nullptr) return names;
  const auto& formal = schema->inputs();
  for (int i = 0; i < node.input_size() && static_cast<size_t>(i) < formal.size(); ++i) {
    names.emplace(node.input(i), formal[static_cast<size_t>(i)].GetName());
  }
  return names;
}

// What the suite tells of one operator.
struct Use {
  int64_t cases = 0, passed = 0;
  std::set<std::string> bound;  // inputs, as the standard calls them
};

std::map<std::string, Use> uses_of(const std::vector<Case>& cases,
                                   const std::vector<Outcome>& outcomes) {
  std::map<std::string, Use> uses;
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::vector<std::string> ops = summarize(cases[i].model()).ops;
    for (const std::string& op : ops) {
      Use& use = uses[op];
      ++use.cases;
      use.passed += outcomes[i].status == Status::kPassed ? 1 : 0;
    }
    if (outcomes[i].bound.empty()) continue;
    const std::map<std::string, std::string> names = formal_names(cases[i].model());
    for (const std::string& input : outcomes[i].bound) {
      if (names.contains(input)) uses[ops.at(0)].bound.insert(names.at(input));
    }
  }
  return uses;
}

struct Note {
  std::string_view op, text;
};
constexpr Note kNotes[] = {
    {":Dropout", "inference, or a ratio of 0"},
    {":GRU", "unrolled, up to 4096 steps"},
    {":If", "a branch at run time where the condition is not known: outputs of equal sizes"},
    {":LSTM", "unrolled, up to 4096 steps"},
    {":Loop", "a loop at run time where turns are many, or not known: states keep their sizes"},
    {":RNN", "unrolled, up to 4096 steps"},
    {":Scan", "a loop at run time where turns are more than 32"},
    {":SequenceAt", "of known length"},
    {":SequenceInsert", "of known length; inside of a loop at the end"},
    {":TfIdfVectorizer", "integers"},
};

std::string note_of(const std::string& op, const Use& use) {
  std::string text;
  if (!use.bound.empty()) {
    text = fmt::format("known when compiling: {}", fmt::join(use.bound, ", "));
  }
  for (const Note& n : kNotes) {
    if (n.op == op) text += (text.empty() ? "" : "; ") + std::string(n.text);
  }
  return text;
}

std::string plain_name(const std::string& op) { return op.starts_with(':') ? op.substr(1) : op; }

}  // namespace

std::string ops_page(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes) {
  const std::map<std::string, Use> uses = uses_of(cases, outcomes);
  std::map<std::string, std::vector<int>> versions;
  for (const onnx::Supported& s : onnx::supported()) {
    versions[s.domain + ":" + s.op].push_back(s.since);
  }
  std::string text = R"(# Operators

Written by `onnx_suite --ops docs/ops.md --update-ops`; `./dev test` checks that it is current.

"Since" lists the opset versions at which the import of an operator changes; opsets 7 to 24 are read, and of 1 to 6 what
has not changed since. "Suite" is how many of the cases of ONNX's backend test suite that use the operator pass; the
others are out of scope, most of them because of another operator. Inputs that must be known when compiling can be
computed inside the model from constants and shapes, or be given with `--bind NAME=VALUE` or `--bind NAME=@file.npy`.

An index that is known when compiling and lies outside of what it reads or writes is refused: the row for position 513
of a table of 512. One that is computed while the model runs cannot be: Gather, GatherElements, GatherND and
RotaryEmbedding then read the nearest place inside, the scatters leave out what would be written outside. ONNX leaves
both undefined.

| Operator | Since | Suite | Note |
|---|---|---|---|
)";
  for (const auto& [op, since] : versions) {
    const auto use = uses.find(op);
    const bool tested = use != uses.end();
    text +=
        fmt::format("| {} | {} | {} | {} |\n", plain_name(op), fmt::join(since, ", "),
                    tested ? fmt::format("{} of {}", use->second.passed, use->second.cases) : "-",
                    note_of(op, tested ? use->second : Use{}));
  }
  text += "\n## Not supported\n\nOperators of the suite that cannot be imported:\n\n";
  for (const auto& [op, use] : uses) {
    if (versions.contains(op)) continue;
    text +=
        fmt::format("- {} ({} {})\n", plain_name(op), use.cases, use.cases == 1 ? "case" : "cases");
  }
  return text;
}

}  // namespace tenon::onnx_suite
