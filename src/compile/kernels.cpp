// SPDX-License-Identifier: Apache-2.0
#include "compile/kernels.h"

#include <atomic>
#include <mutex>

#include "compile/compile.h"
#include "lower/lower.h"
#include "support/parallel.h"

namespace tenon::compile {
namespace {

std::map<std::string, Stored> edges_of(const schedule::State& s) {
  std::map<std::string, Stored> edges;
  const te::ComputeDag& dag = s.dag();
  for (size_t i = 0; i < dag.inputs.size(); ++i) {
    const schedule::Stage& st = s.stage(static_cast<schedule::StageId>(i));
    edges.emplace(dag.inputs[i].tensor.name(), Stored{st.layout, st.transform});
  }
  return edges;
}

// The input whose memory the first step of each task may write to.
std::vector<int32_t> in_place_of(const plan::Network& n) {
  std::vector<int32_t> out(n.tasks.size(), -1);
  for (size_t step = n.task_of.size(); step-- > 0;) {
    out[static_cast<size_t>(n.task_of[step])] = n.layouts.calls[step].in_place;
  }
  return out;
}

Lowered lower_task(const plan::Network& n, size_t task, int32_t in_place) {
  const task::Task& t = n.tasks[task].task;
  const task::Program program = program_of(n.tasks[task]);
  Lowered out;
  out.kernel.name = kernel_name(n, task);
  out.kernel.task = t.key;
  out.kernel.flops = t.flops;
  out.kernel.bytes = t.bytes;
  out.kernel.function = lower::lower(program.state, program.bounds);
  out.kernel.function.name = out.kernel.name;
  out.kernel.function.in_place = in_place;
  out.edges = edges_of(program.state);
  return out;
}

}  // namespace

std::string how_packed(const Stored& stored) {
  return (stored.transform ? stored.transform->text() : "") + layout::to_string(stored.layout);
}

task::Program program_of(const plan::NetworkTask& t) {
  if (t.program) return *t.program;
  task::Served served = task::serve(t.task, t.trace);
  TENON_CHECK(bool(served)) << "a chosen schedule is refused: " << served.why;
  return *std::move(served.program);
}

std::vector<Lowered> lower_tasks(const plan::Network& network, const plan::Options& options) {
  const std::vector<int32_t> in_place = in_place_of(network);
  std::vector<Lowered> out(network.tasks.size());
  std::atomic<size_t> done{0};
  std::mutex lock;
  for_each_parallel(out.size(), options.threads, [&](size_t i) {
    out[i] = lower_task(network, i, in_place[i]);
    if (!options.progress) return;
    const std::scoped_lock guard(lock);
    options.progress("schedule", ++done, out.size());
  });
  return out;
}

}  // namespace tenon::compile
