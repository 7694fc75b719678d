// SPDX-License-Identifier: Apache-2.0
// What every plan of layouts goes by: what tasks wish, who follows whom, what must be row-major.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/partition.h"
#include "layout/layout.h"
#include "target/target.h"
#include "templates/template.h"

namespace tenon::plan {

class LayoutRules {
 public:
  // Without a target everything is row-major. Templates do not use the algorithms of `without`.
  LayoutRules(const graph::Graph& g, const graph::Partition& p,
              std::shared_ptr<const target::Target> target,
              std::vector<schedule::Algorithm> without = {});

  const graph::Graph& g() const { return g_; }
  const graph::Partition& p() const { return p_; }
  bool all_plain() const { return target_ == nullptr; }

  graph::ValueId root(graph::ValueId v) const { return p_.view_of[static_cast<size_t>(v)]; }
  layout::Layout plain(graph::ValueId v) const { return layout::Layout(g_.value(v).shape); }
  // Others see it as row-major memory: what the caller gives or gets, and what has views.
  bool must_be_plain(graph::ValueId v) const { return plain_[static_cast<size_t>(v)] != 0; }
  int readers(graph::ValueId v) const { return readers_[static_cast<size_t>(v)]; }

  // What the task's template chooses when it is free to.
  const templates::Choice& wish(int32_t task) const;
  // What it wishes for tensors that are not constant.
  std::map<std::string, layout::Layout> wished_edges(int32_t task) const;
  // The same family does it with these edges, too.
  bool same_family(int32_t task, const std::map<std::string, layout::Layout>& edges) const;

  // The input whose layout a flexible call takes on: its largest; -1 if all are constant.
  graph::ValueId leader(const graph::Call& c) const;
  // How `out` is stored if the leader lies in `l`: alike, if it can be.
  layout::Layout follow(graph::ValueId leader, const layout::Layout& l, graph::ValueId out) const;

 private:
  const graph::Graph& g_;
  const graph::Partition& p_;
  std::shared_ptr<const target::Target> target_;
  std::vector<schedule::Algorithm> without_;
  mutable std::vector<std::optional<templates::Choice>> wishes_;  // made when first asked for
  std::vector<char> plain_;
  std::vector<int> readers_;  // calls, by value
};

}  // namespace tenon::plan
