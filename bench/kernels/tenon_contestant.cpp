// SPDX-License-Identifier: Apache-2.0
// Ours: the workload as tensor expressions, a template's trace, lowered and compiled for this
// machine.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "backend/backend.h"
#include "bench/kernels/sources.h"
#include "lower/lower.h"
#include "schedule/state.h"
#include "schedule/trace.h"
#include "target/target.h"
#include "te/ops.h"
#include "templates/template.h"

namespace tenon::bench {
namespace {

// Inputs in the order of Data::inputs.
te::ComputeDag dag_of(const Workload& w, const Data& data) {
  te::Builder b;
  std::vector<te::Tensor> in;
  for (const Operand& o : data.inputs) {
    in.push_back(o.constant ? b.constant(o.name, ir::kF32, o.shape)
                            : b.input(o.name, ir::kF32, o.shape));
  }
  const te::ConvParams conv = {.stride = {w.stride, w.stride},
                               .pad_before = {w.pad, w.pad},
                               .pad_after = {w.pad, w.pad},
                               .dilation = {},
                               .groups = 1};
  const auto result = [&]() -> te::Tensor {
    switch (w.kind) {
      case Kind::kMatmul:
        return te::matmul(b, "Y", in[0], in[1]);
      case Kind::kConv:
        return te::conv(b, "Y", in[0], in[1], conv);
      case Kind::kDepthwise:
        return te::depthwise_conv2d(b, "Y", in[0], in[1], conv);
      case Kind::kConvTranspose:
        return te::conv_transpose(b, "Y", in[0], in[1], conv);
      case Kind::kSoftmax:
        return te::softmax(b, "Y", in[0]);
      case Kind::kLayerNorm:
        return te::layer_norm(b, "Y", in[0], in[1], in[2], w.epsilon());
      case Kind::kGelu:
        return te::gelu(b, "Y", in[0]);
      case Kind::kNorm2:
        return te::norm2(b, "Y", in[0]);
      case Kind::kAddRelu:
        return te::relu(b, "Y",
                        te::elementwise(b, "sum", {in[0], in[1]},
                                        [](std::span<const ir::Expr> x) { return x[0] + x[1]; }));
    }
    throw std::logic_error("a kind without an expression");
  };
  b.output(result());
  return b.finish();
}

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Block = std::unique_ptr<std::byte, Free>;

// 2 MiB boundaries for big blocks, so that the kernel can use large pages for them.
Block aligned_block(int64_t bytes) {
  constexpr size_t kLarge = size_t{2} << 20;
  const size_t align = static_cast<size_t>(bytes) >= kLarge ? kLarge : 64;
  const size_t size = (static_cast<size_t>(bytes) + align - 1) / align * align;
  return Block(static_cast<std::byte*>(std::aligned_alloc(align, std::max(size, align))));
}

Block aligned_copy(const ir::Array& a) {
  Block block = aligned_block(a.bytes());
  std::memcpy(block.get(), a.data(), static_cast<size_t>(a.bytes()));
  return block;
}

std::vector<ir::Array> logical_inputs(const Data& data) {
  std::vector<ir::Array> arrays;
  for (const Operand& o : data.inputs) {
    ir::Array a(ir::kF32, o.shape);
    std::memcpy(a.data(), o.values.data(), static_cast<size_t>(a.bytes()));
    arrays.push_back(std::move(a));
  }
  return arrays;
}

// A compiled kernel with its arguments in the layouts that its schedule asks for.
struct Job {
  explicit Job(schedule::State s) : state(std::move(s)) {}

  schedule::State state;
  std::unique_ptr<backend::Kernel> kernel;
  std::vector<Block> blocks;
  std::vector<void*> params;  // inputs, then outputs
  size_t first_output = 0;
  Block workspace;
};
using JobPtr = std::shared_ptr<Job>;

// Plain matrices in, a plain matrix out: only a weight may be re-laid.
void check_plain(const schedule::State& s) {
  for (size_t id = 0; id < s.size(); ++id) {
    const schedule::Stage& stage = s.stage(static_cast<schedule::StageId>(id));
    const bool fixed = (stage.is_input() && !stage.constant) || stage.output;
    if (fixed && !stage.layout.is_identity()) {
      throw std::runtime_error("the schedule re-lays " + stage.name + ", which must stay plain");
    }
  }
}

// The finished program of the template that fits, and how long it took to compile it.
JobPtr compile(const schedule::State& initial, const schedule::Trace& trace, double& compile_ms) {
  const auto start = std::chrono::steady_clock::now();
  auto replayed = schedule::replay(initial, trace);
  if (!replayed) {
    throw std::runtime_error(schedule::render_illegal(initial, replayed.illegal()));
  }
  auto job = std::make_shared<Job>(*std::move(replayed));
  auto function = lower::lower(job->state);
  if (!function) {
    throw std::runtime_error(schedule::render_illegal(job->state, function.illegal()));
  }
  job->kernel = backend::jit(*function, initial.target());
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  compile_ms = took.count();
  return job;
}

void add_param(Job& job, Block block) {
  job.params.push_back(block.get());
  job.blocks.push_back(std::move(block));
}

void give_arguments(Job& job, const Data& data) {
  for (const ir::Array& packed : lower::pack_inputs(job.state, logical_inputs(data))) {
    add_param(job, aligned_copy(packed));
  }
  job.first_output = job.params.size();
  for (const ir::Array& output : lower::make_outputs(job.state)) {
    Block block = aligned_block(output.bytes());
    std::memset(block.get(), 0xff, static_cast<size_t>(output.bytes()));  // NaN until written
    add_param(job, std::move(block));
  }
  job.workspace = aligned_block(job.kernel->workspace_bytes());
}

std::vector<float> read_output(const Job& job) {
  std::vector<ir::Array> stored = lower::make_outputs(job.state);
  for (size_t i = 0; i < stored.size(); ++i) {
    std::memcpy(stored[i].data(), job.params[job.first_output + i],
                static_cast<size_t>(stored[i].bytes()));
  }
  const ir::Array logical = std::move(lower::unpack_outputs(job.state, stored).front());
  std::vector<float> values(static_cast<size_t>(logical.elements()));
  std::memcpy(values.data(), logical.data(), static_cast<size_t>(logical.bytes()));
  return values;
}

}  // namespace

std::vector<timing::Contestant> make_tenon(const Workload& w, const Data& data,
                                           const tenon_runtime* rt) {
  target::Target target = target::host_target();
  target.cpu().cores = rt->threads;
  const schedule::State initial(std::make_shared<const te::ComputeDag>(dag_of(w, data)),
                                std::make_shared<const target::Target>(target));
  const templates::Choice choice = templates::choose(initial);
  timing::Contestant c;
  c.name = "tenon";
  c.detail = choice.name;
  const JobPtr job = compile(initial, choice.trace, c.compile_ms);
  if (w.kind == Kind::kMatmul) {
    check_plain(job->state);
  }
  give_arguments(*job, data);
  c.run = [job, rt] { job->kernel->entry()(job->params.data(), job->workspace.get(), rt); };
  c.output = [job] { return read_output(*job); };
  return {c};
}

}  // namespace tenon::bench
