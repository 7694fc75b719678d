// SPDX-License-Identifier: Apache-2.0
// All programs of a task as one chain of decisions: the algorithm, the structure (0: the template of the algorithm, from
// 1 on its sketches), then whatever that structure asks for.
//
//   algorithm winograd4 -> structure 0 -> kb = 4, xn = 7                        the template
//   algorithm winograd4 -> structure 2 -> tiles, places, parallel loops ..      a sketch of the transformed dag
#pragma once

#include <span>

#include "search/sketch/annotate.h"
#include "templates/template.h"

namespace tenon::search {

struct Parts {
  bool templates = true;
  bool sketches = true;
  bool algorithms = true;              // false: by the definition alone
  bool operands_in_loop_order = true;  // of sketches
  std::span<const SketchRule> user;    // tried before the table's
};

class TaskSkeleton : public space::Skeleton {
 public:
  TaskSkeleton(const task::Task& t, const Parts& parts);

  void write(space::Builder& b) const override;
  // The program of each template by its rule, that of the rule's algorithm first.
  std::vector<space::Choices> seeds() const override;

  bool empty() const { return algorithms_.empty(); }
  size_t sketches() const;

 private:
  struct Structures {
    int64_t algorithm = 0;
    const templates::Template* row = nullptr;  // null: no template
    std::vector<std::unique_ptr<SketchSkeleton>> sketches;
  };
  void add_templates(const task::Task& t, bool algorithms);
  void add_template(const task::Task& t, std::optional<int64_t> algorithm);
  Structures& of(int64_t algorithm);
  const Structures& ask_algorithm(space::Builder& b) const;

  templates::Request request_;
  std::vector<Structures> algorithms_;  // ascending
  std::vector<schedule::Trace> known_;  // what the templates write by rule
  int64_t rule_ = 0;                    // the algorithm that is estimated to be best
};

}  // namespace tenon::search
