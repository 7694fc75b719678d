// SPDX-License-Identifier: Apache-2.0
#include "graph_fuzz/judge.h"

#include <fmt/format.h>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>
#include <unistd.h>

#include <filesystem>

#include "artifact/model.h"
#include "artifact/write.h"
#include "compile/compile.h"
#include "compile/run.h"
#include "onnx/import.h"

namespace tenon::graph_fuzz {
namespace {

namespace fs = std::filesystem;

// The newest that the installed ONNX library knows.
constexpr int64_t kNewestChecked = 17;

compile::Options options_of(const Route& r) {
  compile::Options o;
  o.target = target::host_target();
  o.optimize = r.optimize;
  o.fuse = r.fuse;
  o.schedule = r.schedule;
  o.row_major = r.row_major;
  if (r.pairs) o.plan.pairs.calls = {{"*", ""}};
  o.threads = 1;
  return o;
}

std::vector<ir::Array> run_library(const artifact::Program& p, const std::vector<ir::Array>& inputs,
                                   int threads) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("graph_fuzz.{}", getpid());
  artifact::WriteOptions options;
  options.directory = folder;
  options.threads = 1;
  artifact::write(p, options);
  std::vector<ir::Array> out =
      artifact::Session(artifact::Model::load(folder.string()), threads).run(inputs);
  fs::remove_all(folder);
  return out;
}

Arrays run_compiled(const Case& c, const Route& r) {
  graph::Graph g = onnx::import_bytes(c.model.SerializeAsString(), "").graph;
  std::vector<ir::Array> inputs;
  for (const graph::ValueId v : g.inputs) inputs.push_back(c.inputs.at(g.value(v).name));
  const artifact::Program p = compile::compile(std::move(g), "fuzz", options_of(r));
  const std::vector<ir::Array> out =
      r.library ? run_library(p, inputs, r.threads) : compile::run(p, inputs, r.threads);
  Arrays named;
  for (int i = 0; i < c.model.graph().output_size(); ++i) {
    named.emplace(c.model.graph().output(i).name(), out[static_cast<size_t>(i)]);
  }
  return named;
}

void judge_numbers(const Case& c, const Route& route, Verdict& v) {
  const Comparison result = compare(c, run_compiled(c, route));
  v.elements = result.elements;
  v.disturbed = result.disturbed;
  v.open = result.open;
  if (result.difference.empty()) return;
  v.status = Status::kWrong;
  v.reason = result.difference;
}

}  // namespace

std::string_view to_string(Status s) {
  constexpr std::string_view kNames[] = {"right", "wrong", "refused", "error", "crashed", "hung"};
  return kNames[static_cast<size_t>(s)];
}

Route draw_route(uint64_t seed) {
  Rng rng(seed * 0xd1342543de82ef95ULL + 3);
  Route r;
  const double u = rng.unit();
  if (u < 0.06) r.row_major = true;
  if (u >= 0.06 && u < 0.12) r.pairs = true;
  if (u >= 0.12 && u < 0.16) r.fuse = false;
  if (u >= 0.16 && u < 0.19) r.optimize = false;
  if (u >= 0.19 && u < 0.21) r.schedule = false;
  r.library = rng.chance(0.03);
  r.threads = rng.chance(0.2) ? 2 : 1;
  return r;
}

std::string to_string(const Route& r) {
  std::string text = r.library ? "library" : "kernels";
  if (!r.optimize) text += ", not optimised";
  if (!r.fuse) text += ", not fused";
  if (!r.schedule) text += ", not scheduled";
  if (r.row_major) text += ", row-major";
  if (r.pairs) text += ", pairs";
  return text + fmt::format(", {} thread{}", r.threads, r.threads == 1 ? "" : "s");
}

Verdict judge(const Case& c, const Route& route) {
  Verdict v;
  v.nodes = c.model.graph().node_size();
  try {
    judge_numbers(c, route, v);
  } catch (const UserError& e) {
    v.status = Status::kRefused;
    v.reason = e.what();
  } catch (const std::exception& e) {
    v.status = Status::kError;
    v.reason = e.what();
  }
  return v;
}

std::string invalid(const Case& c) {
  if (opset_of(c.model) > kNewestChecked) return "";
  try {
    proto::ModelProto m = c.model;
    state_values(m, evaluate(c.model, c.inputs, nullptr));
    ::onnx::checker::check_model(m);
    // Without the propagation of data, in which version 1.12 of the library crashes.
    ::onnx::ShapeInferenceOptions strict(true, 1, false);
    ::onnx::shape_inference::InferShapes(m, ::onnx::OpSchemaRegistry::Instance(), strict);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

}  // namespace tenon::graph_fuzz
