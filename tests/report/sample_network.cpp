// SPDX-License-Identifier: Apache-2.0
#include "report/sample_network.h"

#include <fmt/format.h>

#include "report/sample_run.h"

namespace tenon::report {
namespace {

constexpr const char* kLayouts[] = {"N C H W", "N C/16 H W 16c", "N H W C",
                                    "N H/7 W/7 C/32 7h 7w 32c", "N C/16 H~4 6h~ W 16c"};

StoredTensor tensor(const char* layout) {
  return {"f32", {1, 64, 56, 56}, layout, "split(1,[4,16])", 802816};
}

}  // namespace

Network sample_network(size_t steps) {
  Network n;
  n.name = "mobilenet_v2";
  n.target = "x86-64-v4";
  NetworkNode input;
  input.kind = NodeKind::kInput;
  input.name = "x";
  input.outputs = {tensor(kLayouts[0])};
  n.nodes.push_back(input);
  size_t skip = 0;  // what the next residual join reads
  const char* layout = kLayouts[0];
  for (size_t i = 0; i < steps; ++i) {
    NetworkNode node;
    node.step = i;
    node.name = fmt::format("k{}_conv_bias_relu", i);
    node.task = "3f0c6a91d2e84b57";
    node.origin = "template conv";
    node.algorithm = i % 3 == 0 ? "winograd4" : "direct";
    node.model_nodes = {fmt::format("layer{}/Conv", i), kHostileLabel};
    node.reads = {n.nodes.size() - 1};
    if (i % 25 == 12) {
      node.kind = NodeKind::kConversion;
      node.name = fmt::format("k{}_relay", i);
      node.algorithm = "";
      node.from = layout;
      layout = kLayouts[(i / 25 + 1) % std::size(kLayouts)];
      node.moved_bytes = 2 * 802816;
    } else if (i % 4 == 3) {
      node.name = fmt::format("k{}_add_relu", i);
      node.algorithm = "";
      if (skip + 1 < n.nodes.size()) node.reads = {skip, n.nodes.size() - 1};
      skip = n.nodes.size();
    }
    node.outputs = {tensor(layout)};
    n.nodes.push_back(std::move(node));
  }
  n.nodes.back().gives = {"logits"};
  return n;
}

}  // namespace tenon::report
