// SPDX-License-Identifier: Apache-2.0
#include "report/network/network_json.h"

#include <nlohmann/json.hpp>

#include "task/task.h"

namespace tenon::report {
namespace {

using Json = nlohmann::ordered_json;

const char* kind_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::kInput:
      return "input";
    case NodeKind::kKernel:
      return "kernel";
    case NodeKind::kConversion:
      return "conversion";
  }
  return "";
}

const char* cost_from(const NetworkNode& n) {
  if (!n.measured_s) return "estimate";
  return n.by_record ? "records" : "run";
}

Json number(const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); }

Json node_json(const NetworkNode& n) {
  Json outputs = Json::array();
  for (const StoredTensor& t : n.outputs) {
    outputs.push_back({{"dtype", t.dtype},
                       {"shape", t.shape},
                       {"layout", t.layout},
                       {"steps", t.steps},
                       {"bytes", t.bytes}});
  }
  Json out = {{"kind", kind_name(n.kind)}, {"name", n.name}};
  if (n.step) {
    out["step"] = *n.step;
    out["task"] = n.task;
    out["origin"] = n.origin;
    out["algorithm"] = n.algorithm.empty() ? Json(nullptr) : Json(n.algorithm);
    if (!n.algorithm.empty()) {
      out["error"] = n.error;
      out["direct_error"] = n.direct_error;
    }
    out["nodes"] = n.model_nodes;
    out["time_s"] = number(n.measured_s);
  }
  out["reads"] = n.reads;
  out["outputs"] = outputs;
  out["gives"] = n.gives;
  if (n.kind == NodeKind::kConversion) {
    out["from"] = n.from;
    out["moved_bytes"] = n.moved_bytes;
    out["cost_s"] = number(cost_s(n));
    out["cost_from"] = cost_from(n);
  }
  return out;
}

}  // namespace

Json network_json(const Network& n) {
  const Conversions c = conversions(n);
  Json nodes = Json::array();
  for (const NetworkNode& node : n.nodes) nodes.push_back(node_json(node));
  Json cost = {{"measured", n.measured()}};
  if (n.measured()) {
    cost["threads"] = n.threads;
    cost["run_s"] = n.run_s;
  } else {
    cost["bytes_per_s"] = task::kConvertedBytesPerS;
  }
  return {{"name", n.name},
          {"target", n.target},
          {"cost", cost},
          {"conversions", {{"count", c.count}, {"bytes", c.bytes}, {"s", c.seconds}}},
          {"nodes", nodes}};
}

}  // namespace tenon::report
