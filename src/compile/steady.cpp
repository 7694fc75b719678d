// SPDX-License-Identifier: Apache-2.0
#include "compile/steady.h"

#include <algorithm>

#include "arith/interval.h"
#include "schedule/trace.h"
#include "support/parallel.h"
#include "task/serve.h"
#include "templates/anchor.h"
#include "templates/template.h"

namespace tenon::compile {
namespace {

// It takes a tile of a fixed number of rows, or of the most that divide them, if any do, and as many vectors as fit beside
// it and divide the columns.
class SteadyTiles : public space::Decider {
 public:
  SteadyTiles(const task::Task& t)
      : registers_(t.target->cpu().vector_registers), rows_(registers_ >= 32 ? 8 : 4) {
    const te::Tensor& out = t.dag->outputs[0];
    const int64_t lanes = std::max<int64_t>(1, t.target->cpu().lanes(out.dtype().bytes()));
    vectors_ = (out.shape().back() + lanes - 1) / lanes;
  }

  int64_t decide(const space::Hole& hole) override {
    if (hole.name == "in") return parts(hole);
    if (hole.name == "nd" || (hole.name == "nb" && !in_attention_)) {
      in_attention_ = hole.name == "nd";
      return legal(hole, most_vectors());
    }
    if (hole.name == "nb") return legal(hole, 2);
    if (hole.name == "at") return hole.domain.at(0);  // work on rows beforehand
    if (hole.name == "rows")
      return hole.domain.at(0);  // by loops: rows are of another length at every size
    return hole.rule;
  }

 private:
  // Tiles of equal rows, as many as there may be; rows that nothing divides leave a smaller last one. The rule would not do:
  // its tiles are for the vectors that it takes itself, and too large beside more of them.
  int64_t parts(const space::Hole& hole) const {
    const int64_t extent = hole.domain.at(hole.domain.size() - 1);
    if (!in_attention_ && ends_in_half(extent)) {
      return legal(hole, arith::ceil_div(extent, rows_));
    }
    const int64_t rows = rows_of(extent);
    return legal(hole, rows > 1 ? extent / rows : arith::ceil_div(extent, rows_));
  }

  // Whole tiles and a last one of half as many rows. Attention would need more code for it than it would gain, and few
  // rows are not cut that way, but evenly.
  bool ends_in_half(int64_t extent) const {
    return rows_ > 4 && extent % rows_ == rows_ / 2 &&
           arith::ceil_div(extent, arith::ceil_div(extent, rows_)) == rows_;
  }

  // Half of the rows before any number that divides more: 12, 20, 28, .. rows then share a program.
  int64_t rows_of(int64_t extent) const {
    if (extent > rows_ && extent % rows_ != 0 && extent % (rows_ / 2) == 0 && rows_ > 4) {
      return rows_ / 2;
    }
    return templates::divisor(extent, rows_);
  }

  static int64_t legal(const space::Hole& hole, int64_t value) {
    return hole.domain.contains(value) ? value : hole.rule;
  }

  int64_t most_vectors() const {
    int64_t n = 3;
    while (n > 1 && (vectors_ % n != 0 || n * rows_ + n + 1 > registers_)) --n;
    return n;
  }

  int64_t registers_, rows_, vectors_ = 1;
  bool in_attention_ = false;
};

const templates::Template* steady_template(const target::Target& target,
                                           const std::string& origin) {
  const bool product = origin == "template matmul" || origin == "template strassen";
  const bool attention = origin == "template attention";
  for (const templates::Template& t : templates::templates(target)) {
    if ((product && t.name == "matmul") || (attention && t.name == "attention")) return &t;
  }
  return nullptr;
}

void use_steady_program(plan::NetworkTask& task, plan::TaskPlan& plan,
                        const plan::Options& options) {
  const task::Task& t = task.task;
  const templates::Template* by = steady_template(*t.target, plan.origin);
  if (by == nullptr || plan.from != plan::From::kRule) return;
  const schedule::State initial(t.dag, t.target);
  SteadyTiles tiles(t);
  space::Builder b(initial, tiles);
  const templates::Request request{.fixed = t.edges,
                                   .borders = false,
                                   .accuracy = options.accuracy,
                                   .without = {},
                                   .algorithm = 0};
  if (!by->write(b, request) || b.refused()) return;
  task::Served served = task::serve(t, b.take_trace());
  if (!served) return;
  task.program = std::move(served.program);
  task.trace = task.program->trace;
  plan.trace = schedule::to_text(task.trace, initial);
  plan.choices.clear();
  plan.origin = "template " + std::string(by->name);
  if (!plan.algorithm.empty()) plan.algorithm = "direct";
  plan.error = plan.direct_error;
}

}  // namespace

void use_steady_programs(plan::Network& n, const plan::Options& options) {
  for_each_parallel(n.tasks.size(), options.threads,
                    [&](size_t i) { use_steady_program(n.tasks[i], n.plan.tasks[i], options); });
}

}  // namespace tenon::compile
