// SPDX-License-Identifier: Apache-2.0
#include "artifact/gpu_programs.h"

#include <fmt/format.h>

#include <functional>

#include "artifact/programs.h"
#include "ir/build.h"

namespace tenon::artifact {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;

constexpr int64_t kThreads = 64;

// out[i] = value(i) for i < n, on as many blocks of kThreads as it takes.
Stmt element_wise(const Buffer& out, int64_t n, const std::function<Expr(const Expr&)>& value) {
  const ir::Var block("b");
  const ir::Var thread("t");
  const Expr i = block * kThreads + thread;
  const Stmt one = ir::make_if(ir::lt(i, n), ir::store(out, {i}, value(i)));
  const Stmt threads =
      ir::make_for(thread, 0, kThreads, ir::ForKind::kThread, one, ir::ThreadTag::kThreadX);
  return ir::make_for(block, 0, (n + kThreads - 1) / kThreads, ir::ForKind::kThread, threads,
                      ir::ThreadTag::kBlockX);
}

Expr number(double v) { return ir::make_float(ir::kF32, v); }

class Maker {
 public:
  Maker(const std::string& name, const target::Target& target, int64_t n) : n_(n) {
    program_.name = name;
    program_.target = target;
    program_.provenance = {{"model", "made by hand"}};
    program_.plan.name = name;
    program_.plan.target = plan::target_name(target);
  }

  Buffer buffer(const char* name) const { return Buffer::make(name, ir::kF32, {n_}); }

  void step(const std::string& name, std::vector<Buffer> buffers, std::vector<Param> params,
            const Stmt& body) {
    Kernel kernel;
    kernel.name = name;
    kernel.task = fmt::format("task of {}", name);
    const size_t inputs = buffers.size() - 1;
    kernel.function = {
        .name = name, .params = std::move(buffers), .num_inputs = inputs, .body = body};
    plan::TaskPlan decided;
    decided.task = kernel.task;
    decided.origin = "by hand";
    program_.plan.set(std::move(decided));
    Step s;
    s.kernel = static_cast<int32_t>(program_.kernels.size());
    s.params = std::move(params);
    s.nodes = {"node/" + name};
    program_.kernels.push_back(std::move(kernel));
    program_.steps.push_back(std::move(s));
  }

  Param arena() {
    const Param p{Place::kArena, 0, program_.arena_bytes, bytes()};
    program_.arena_bytes += align_up(bytes(), kGpuAlignment);
    return p;
  }
  Param tensor(Place place, const char* name) {
    auto& list = place == Place::kInput ? program_.inputs : program_.outputs;
    list.push_back({name, ir::kF32, {n_}});
    return {place, static_cast<int32_t>(list.size()) - 1, 0, bytes()};
  }
  Param weight(uint64_t seed) {
    const Param p{Place::kWeights, 0, program_.weights_bytes, bytes()};
    program_.weights.push_back(
        {p.offset, std::make_shared<const ir::Array>(random_array(ir::kF32, {n_}, seed))});
    program_.weights_bytes += align_up(bytes(), kGpuAlignment);
    return p;
  }
  Program finish() { return std::move(program_); }

 private:
  int64_t bytes() const { return n_ * 4; }
  int64_t n_;
  Program program_;
};

}  // namespace

Program branching_program(const std::string& name, const target::Target& target, int64_t n) {
  Maker m(name, target, n);
  const Param x = m.tensor(Place::kInput, "x");
  const Param y = m.tensor(Place::kOutput, "y");
  const Param z = m.tensor(Place::kOutput, "z");
  const Param s = m.arena();
  const Param a = m.arena();
  const Param b = m.arena();
  const Buffer in = m.buffer("in");
  const Buffer other = m.buffer("other");
  const Buffer out = m.buffer("out");
  const Buffer more = m.buffer("more");
  const auto of = [](const Buffer& buffer, const Expr& i) { return ir::load(buffer, {i}); };
  m.step("add_w", {in, other, out}, {x, m.weight(1), s},
         element_wise(out, n, [&](const Expr& i) { return of(in, i) + of(other, i); }));
  m.step("twice", {in, out}, {s, a},
         element_wise(out, n, [&](const Expr& i) { return of(in, i) * number(2); }));
  const Stmt first = element_wise(more, n, [&](const Expr& i) { return of(in, i) + number(1); });
  const Stmt second = element_wise(out, n, [&](const Expr& i) { return of(more, i) * number(3); });
  m.step("thrice", {in, out}, {s, b}, ir::allocate(more, ir::block({first, second})));
  m.step("join", {in, other, out}, {a, b, y},
         element_wise(out, n, [&](const Expr& i) { return of(in, i) + of(other, i); }));
  m.step("square", {in, out}, {s, z},
         element_wise(out, n, [&](const Expr& i) { return of(in, i) * of(in, i); }));
  return m.finish();
}

std::vector<ir::Array> branching_answer(const Program& program, const ir::Array& x) {
  const ir::Array& w = *program.weights[0].data;
  ir::Array y(ir::kF32, x.shape());
  ir::Array z(ir::kF32, x.shape());
  for (int64_t i = 0; i < x.elements(); ++i) {
    const double s = x.get_double(i) + w.get_double(i);
    y.set_double(i, 2 * s + 3 * (s + 1));
    z.set_double(i, s * s);
  }
  return {y, z};
}

}  // namespace tenon::artifact
