// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "ir/dtype.h"
#include "layout/describe.h"
#include "report/network/network.h"
#include "support/check.h"
#include "task/task.h"
#include "te/text.h"

namespace tenon::report {
namespace {

using Json = nlohmann::json;
using layout::Layout;

constexpr const char* kConversionOp = "relay";  // module compile names conversions so

// A parameter of a step, as manifests write it: "input 0", "arena 4096+802816".
struct Place {
  std::string where;
  int64_t index = 0;  // of "input" and "output", else the offset
  int64_t bytes = 0;
};

Place parse_place(const std::string& text) {
  Place p;
  const size_t space = std::min(text.find(' '), text.size());
  p.where = text.substr(0, space);
  const char* at = text.data() + space + (space < text.size() ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(at, end, p.index);
  if (first.ec != std::errc()) throw UserError("manifest: '" + text + "' is no place");
  if (first.ptr < end && *first.ptr == '+') std::from_chars(first.ptr + 1, end, p.bytes);
  constexpr int64_t kFarthest = int64_t{1} << 62;  // so that the end of a place is a number too
  if (std::min(p.index, p.bytes) < 0 || std::max(p.index, p.bytes) >= kFarthest) {
    throw UserError("manifest: '" + text + "' is no place");
  }
  return p;
}

// 17, but neither 1e300 nor -1.
int64_t read_count(const Json& j) {
  if (!j.is_number_integer() || j < 0 || j > std::numeric_limits<int64_t>::max()) {
    throw UserError("manifest: a count or a size is no whole number");
  }
  return j.get<int64_t>();
}

struct Kernel {
  std::string name, task, origin, algorithm;
  double error = 0, direct_error = 0;
  std::shared_ptr<const te::ComputeDag> dag;
  std::map<std::string, Layout> edges;
  bool conversion = false;
  bool spatial = false;  // convolution or pooling
};

bool names_any(const te::ComputeDag& dag, std::initializer_list<const char*> words) {
  return std::any_of(dag.ops.begin(), dag.ops.end(), [&](const te::OpRef& op) {
    return std::any_of(words.begin(), words.end(), [&](const char* word) {
      return op->name().find(word) != std::string::npos;
    });
  });
}

int64_t stored_bytes(const te::Tensor& t, const Layout& l) {
  int64_t n = t.dtype().bytes();
  for (const int64_t e : l.storage_shape()) n *= e;
  return n;
}

class Reader {
 public:
  Reader(const std::string& manifest, const std::string& lock)
      : manifest_(Json::parse(manifest)), lock_(Json::parse(lock)) {}

  Network read() {
    network_.name = manifest_.at("name");
    network_.target = manifest_.at("target").at("name");
    for (const Json& k : manifest_.at("kernels")) kernels_.push_back(read_kernel(k));
    for (const Json& s : manifest_.at("steps")) add_step(s);
    for (size_t i = 0; i < manifest_.at("inputs").size(); ++i) input_node(i);  // nobody reads them
    find_images();
    name_layouts();
    return std::move(network_);
  }

 private:
  // A node in the shape in which one of its readers, or it itself, sees a result of it.
  struct Seen {
    size_t node;
    size_t rank;
    auto operator<=>(const Seen&) const = default;
  };
  struct Write {
    Place place;
    size_t node;
  };
  // What is needed to give words to the layouts of a node.
  struct Step {
    size_t node;
    const Kernel* kernel;
    std::vector<Seen> edges;
  };

  Kernel read_kernel(const Json& j) const {
    Kernel k;
    k.name = j.at("name");
    k.task = j.at("task");
    k.origin = j.at("origin");
    k.algorithm = j.value("algorithm", "");
    k.error = j.value("error", 0.0);
    k.direct_error = j.value("direct_error", 0.0);
    for (const Json& t : lock_.at("tasks")) {
      if (t.at("task") != k.task) continue;
      k.dag =
          std::make_shared<const te::ComputeDag>(te::parse(t.at("te").get<std::string>(), k.name));
      k.edges = task::parse_edges(t.at("edges"), *k.dag);
      k.conversion = k.dag->ops.size() == 1 && k.dag->ops[0]->name() == kConversionOp;
      k.spatial = names_any(*k.dag, {"conv", "pool"});
      return k;
    }
    throw UserError(fmt::format("the lock file lacks task {} of the manifest", k.task));
  }

  size_t input_node(size_t i) {
    if (const auto it = inputs_.find(i); it != inputs_.end()) return it->second;
    const Json& j = manifest_.at("inputs").at(i);
    NetworkNode n;
    n.kind = NodeKind::kInput;
    n.name = j.at("name");
    StoredTensor t;
    t.dtype = j.at("dtype");
    for (const Json& extent : j.at("shape")) t.shape.push_back(read_count(extent));
    t.bytes = read_count(j.at("bytes"));
    n.outputs = {t};
    network_.nodes.push_back(std::move(n));
    return inputs_[i] = network_.nodes.size() - 1;
  }

  // The nodes that wrote what lies at a place: the last ones before now, as far as their bytes reach.
  std::vector<size_t> producers(const Place& p) {
    if (p.where == "weights") return {};
    if (p.where == "input") return {input_node(static_cast<size_t>(p.index))};
    std::vector<size_t> out;
    std::vector<std::pair<int64_t, int64_t>> open = {
        {p.index, p.index + std::max<int64_t>(p.bytes, 1)}};
    for (auto w = writes_.rbegin(); w != writes_.rend() && !open.empty(); ++w) {
      if (w->place.where != p.where) continue;
      const int64_t low = w->place.index;
      const int64_t high = low + std::max<int64_t>(w->place.bytes, 1);
      std::vector<std::pair<int64_t, int64_t>> rest;
      for (const auto& [a, b] : open) {
        if (high <= a || low >= b) {
          rest.emplace_back(a, b);
          continue;
        }
        if (a < low) rest.emplace_back(a, low);
        if (high < b) rest.emplace_back(high, b);
        out.push_back(w->node);
      }
      open = std::move(rest);
    }
    return out;
  }

  void add_step(const Json& s) {
    const auto kernel = static_cast<size_t>(read_count(s.at("kernel")));
    if (kernel >= kernels_.size()) {
      throw UserError(fmt::format("manifest: a step calls kernel {}, which is not there", kernel));
    }
    const Kernel& k = kernels_[kernel];
    if (!s.contains("params")) {
      throw UserError("the manifest does not say which step reads what",
                      "it is of an older version: compile the model again");
    }
    std::vector<Place> places;
    for (const Json& p : s.at("params")) places.push_back(parse_place(p.get<std::string>()));
    const size_t inputs = k.dag->inputs.size();
    if (places.size() != inputs + k.dag->outputs.size()) {
      throw UserError(
          fmt::format("manifest: a step of {} has {} parameters", k.name, places.size()));
    }
    NetworkNode n = node_of(k, s);
    Step step{0, &k, {}};
    for (size_t i = 0; i < inputs; ++i) {
      for (const size_t from : producers(places[i])) {
        n.reads.push_back(from);
        step.edges.push_back({from, k.dag->inputs[i].tensor.shape().size()});
      }
    }
    std::sort(n.reads.begin(), n.reads.end());
    n.reads.erase(std::unique(n.reads.begin(), n.reads.end()), n.reads.end());
    step.node = network_.nodes.size();
    for (size_t i = 0; i < k.dag->outputs.size(); ++i) {
      const Place& p = places[inputs + i];
      writes_.push_back({p, step.node});
      step.edges.push_back({step.node, k.dag->outputs[i].shape().size()});
      if (p.where == "output") {
        n.gives.push_back(manifest_.at("outputs").at(static_cast<size_t>(p.index)).at("name"));
      }
    }
    network_.nodes.push_back(std::move(n));
    steps_.push_back(std::move(step));
  }

  NetworkNode node_of(const Kernel& k, const Json& s) const {
    NetworkNode n;
    n.kind = k.conversion ? NodeKind::kConversion : NodeKind::kKernel;
    n.name = k.name;
    n.task = k.task;
    n.origin = k.origin;
    n.algorithm = k.algorithm;
    n.error = k.error;
    n.direct_error = k.direct_error;
    n.model_nodes = s.at("nodes").get<std::vector<std::string>>();
    n.step = steps_.size();
    for (const te::Tensor& t : k.dag->outputs) {
      const Layout& l = k.edges.at(t.name());
      n.outputs.push_back(
          {ir::to_string(t.dtype()), t.shape(), "", layout::to_string(l), stored_bytes(t, l)});
    }
    if (k.conversion) {
      const te::Tensor& in = k.dag->inputs[0].tensor;
      n.moved_bytes = stored_bytes(in, k.edges.at(in.name())) + n.outputs[0].bytes;
    }
    return n;
  }

  // Tensors of convolutions and pooling, and whatever of the same rank meets them in a step, are images.
  void find_images() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Step& s : steps_) {
        for (const Seen& e : s.edges) {
          const bool met = std::any_of(s.edges.begin(), s.edges.end(), [&](const Seen& other) {
            return other.rank == e.rank && images_.contains(other);
          });
          if (e.rank >= 3 && (met || s.kernel->spatial)) changed |= images_.insert(e).second;
        }
      }
    }
  }

  std::string words(size_t node, const Layout& l) const {
    const size_t rank = l.logical_shape().size();
    return layout::describe(l, layout::dimension_letters(rank, images_.contains({node, rank})));
  }

  void name_layouts() {
    for (const auto& [i, node] : inputs_) {
      StoredTensor& t = network_.nodes[node].outputs[0];
      // Row-major, whatever the extents: of a tensor without elements there is no layout.
      t.layout = words(node, Layout(std::vector<int64_t>(t.shape.size(), 1)));
    }
    for (const Step& s : steps_) {
      NetworkNode& n = network_.nodes[s.node];
      for (size_t i = 0; i < n.outputs.size(); ++i) {
        n.outputs[i].layout = words(s.node, s.kernel->edges.at(s.kernel->dag->outputs[i].name()));
      }
      if (n.kind == NodeKind::kConversion) {
        n.from = words(s.node, s.kernel->edges.at(s.kernel->dag->inputs[0].tensor.name()));
      }
    }
  }

  Json manifest_, lock_;
  Network network_;
  std::vector<Kernel> kernels_;
  std::map<size_t, size_t> inputs_;  // of the network to nodes
  std::vector<Write> writes_;
  std::vector<Step> steps_;
  std::set<Seen> images_;
};

}  // namespace

Network parse_network(const std::string& manifest, const std::string& lock) {
  try {
    return Reader(manifest, lock).read();
  } catch (const Json::exception& e) {
    throw UserError(fmt::format("manifest or lock file: {}", e.what()));
  }
}

}  // namespace tenon::report
