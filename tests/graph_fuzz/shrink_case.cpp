// SPDX-License-Identifier: Apache-2.0
#include "graph_fuzz/shrink_case.h"

#include <algorithm>

#include "onnx/tensor.h"

namespace tenon::graph_fuzz {
namespace {

template <class List, class Keep>
void keep_if(List* list, const Keep& keep) {
  for (int i = list->size() - 1; i >= 0; --i) {
    if (!keep(list->Get(i))) list->DeleteSubrange(i, 1);
  }
}

// Drops what no output needs.
void prune(Case& c) {
  proto::GraphProto* g = c.model.mutable_graph();
  std::set<std::string> needed;
  for (const auto& o : g->output()) needed.insert(o.name());
  std::vector<bool> keep(static_cast<size_t>(g->node_size()));
  for (int i = g->node_size() - 1; i >= 0; --i) {
    const auto& out = g->node(i).output();
    keep[static_cast<size_t>(i)] = std::any_of(
        out.begin(), out.end(), [&](const std::string& name) { return needed.contains(name); });
    if (keep[static_cast<size_t>(i)]) needed.merge(names_read(g->node(i)));
  }
  for (int i = g->node_size() - 1; i >= 0; --i) {
    if (!keep[static_cast<size_t>(i)]) g->mutable_node()->DeleteSubrange(i, 1);
  }
  const auto named = [&](const auto& item) { return needed.contains(item.name()); };
  keep_if(g->mutable_input(), named);
  keep_if(g->mutable_initializer(), named);
  for (auto it = c.inputs.begin(); it != c.inputs.end();) {
    it = needed.contains(it->first) ? std::next(it) : c.inputs.erase(it);
  }
}

void rename_reads(proto::GraphProto& g, const std::string& from, const std::string& to) {
  for (auto& n : *g.mutable_node()) {
    for (auto& name : *n.mutable_input()) {
      if (name == from) name = to;
    }
    for (auto& a : *n.mutable_attribute()) {
      if (a.has_g()) rename_reads(*a.mutable_g(), from, to);
    }
  }
}

class Shrinker {
 public:
  Shrinker(Case c, const Fails& fails, int tries)
      : case_(std::move(c)), fails_(fails), tries_(tries) {}

  Case run() {
    one_output();
    bool smaller = true;
    while (smaller && tries_ > 0) {
      smaller = end_earlier();
      for (int many = case_.model.graph().node_size() / 2; many > 0; many /= 2) {
        smaller = cut(many) || smaller;
      }
      smaller = bypass() || smaller;
      smaller = narrow() || smaller;
    }
    plain_numbers();
    return case_;
  }

 private:
  const proto::GraphProto& graph() const { return case_.model.graph(); }

  bool take(Case smaller) {
    if (tries_ <= 0) return false;
    prune(smaller);
    try {
      state_outputs(smaller);
    } catch (const std::exception&) {
      return false;  // no longer a valid model
    }
    --tries_;
    if (!fails_(smaller)) return false;
    case_ = std::move(smaller);
    return true;
  }

  static void state_outputs(Case& c) {
    const Arrays values = evaluate(c.model, c.inputs, nullptr);
    for (auto& o : *c.model.mutable_graph()->mutable_output()) {
      o = make_info(o.name(), values.at(o.name()));
    }
  }

  void one_output() {
    for (int i = 0; i < graph().output_size() && graph().output_size() > 1; ++i) {
      Case less = case_;
      auto* list = less.model.mutable_graph()->mutable_output();
      const proto::ValueInfoProto only = list->Get(i);
      list->Clear();
      *list->Add() = only;
      if (take(less)) return;
    }
  }

  // The first node whose result is enough of an output.
  bool end_earlier() {
    for (int i = 0; i + 1 < graph().node_size(); ++i) {
      for (const std::string& name : graph().node(i).output()) {
        if (name.empty()) continue;
        Case less = case_;
        auto* list = less.model.mutable_graph()->mutable_output();
        list->Clear();
        list->Add()->set_name(name);
        if (take(less)) return true;
      }
    }
    return false;
  }

  // `many` nodes in a row whose results become inputs of the model.
  bool cut(int many) {
    bool any = false;
    for (int first = 0; first + many <= graph().node_size(); ++first) {
      if (tries_ <= 0) return any;
      Case less = case_;
      Arrays values;
      try {
        values = evaluate(case_.model, case_.inputs, nullptr);
      } catch (const std::exception&) {
        return any;
      }
      proto::GraphProto* g = less.model.mutable_graph();
      for (int i = first; i < first + many; ++i) {
        for (const std::string& name : graph().node(i).output()) {
          if (name.empty()) continue;
          *g->add_input() = make_info(name, values.at(name));
          less.inputs[name] = values.at(name);
        }
      }
      g->mutable_node()->DeleteSubrange(first, many);
      if (g->node_size() > 0 && take(less)) any = true;
    }
    return any;
  }

  // Readers of a node read one of its operands instead.
  bool bypass() {
    bool any = false;
    for (int i = graph().node_size() - 1; i >= 0; --i) {
      if (i >= graph().node_size()) continue;
      const proto::NodeProto node = graph().node(i);
      for (const std::string& operand : node.input()) {
        if (operand.empty() || node.output_size() != 1) continue;
        Case less = case_;
        rename_reads(*less.model.mutable_graph(), node.output(0), operand);
        if (take(less)) {
          any = true;
          break;
        }
      }
    }
    return any;
  }

  static ir::Array cut_extent(const ir::Array& a, int64_t from, int64_t to) {
    std::vector<int64_t> shape = a.shape();
    std::replace(shape.begin(), shape.end(), from, to);
    ir::Array out(a.dtype(), shape);
    for (int64_t i = 0; i < out.elements(); ++i) {
      int64_t left = i, at = 0, stride = 1;
      for (size_t k = shape.size(); k-- > 0; left /= shape[k], stride *= a.shape()[k]) {
        at += left % shape[k] * stride;
      }
      out.set(i, a.get(at));
    }
    return out;
  }

  // Every leaf with extent `from`, cut to `to`.
  Case with_extent(int64_t from, int64_t to) const {
    Case less = case_;
    for (auto& t : *less.model.mutable_graph()->mutable_initializer()) {
      t = make_tensor(t.name(), cut_extent(*onnx::to_data(t, nullptr), from, to));
    }
    for (auto& [name, a] : less.inputs) a = cut_extent(a, from, to);
    for (auto& i : *less.model.mutable_graph()->mutable_input()) {
      const auto it = less.inputs.find(i.name());
      if (it != less.inputs.end()) i = make_info(i.name(), it->second);
    }
    return less;
  }

  bool narrow() {
    std::set<int64_t> extents;
    for (const auto& [name, a] : case_.inputs) extents.insert(a.shape().begin(), a.shape().end());
    bool any = false;
    for (const int64_t e : extents) {
      for (const int64_t to : {int64_t{1}, int64_t{2}, e / 2, e - 1}) {
        if (to > 0 && to < e && take(with_extent(e, to))) {
          any = true;
          break;
        }
      }
    }
    return any;
  }

  void plain_numbers() {
    for (const auto& [name, was] : Arrays(case_.inputs)) {
      if (!was.dtype().is_float()) continue;
      for (const double v : {0.0, 1.0}) {
        Case plain = case_;
        const auto it = plain.inputs.find(name);
        if (it == plain.inputs.end()) break;
        for (int64_t i = 0; i < was.elements(); ++i) it->second.set_double(i, v);
        if (take(plain)) break;
      }
    }
  }

  Case case_;
  const Fails& fails_;
  int tries_;
};

}  // namespace

Case shrink_case(Case c, const Fails& fails, int tries) {
  return Shrinker(std::move(c), fails, tries).run();
}

}  // namespace tenon::graph_fuzz
