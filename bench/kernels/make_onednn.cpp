// SPDX-License-Identifier: Apache-2.0
// oneDNN: each primitive in the formats it likes best ("any"), reorders outside the timed run.
// Matrix products that must stay plain say so. Debian's library runs on OpenMP, so OpenMP's thread
// count is its thread count.
#include <algorithm>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "bench/kernels/sources.h"
#include "timing/machine.h"

// Of GNU's OpenMP runtime, which Debian's oneDNN is linked with.
extern "C" void omp_set_num_threads(int);
extern "C" int omp_get_thread_num();
extern "C" void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);

namespace tenon::bench {
namespace {

using dnnl::memory;
using Dims = memory::dims;
using Tag = memory::format_tag;

static_assert(DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP,
              "another runtime needs another thread control");

// Before the primitive is made: it is built for that many threads. Its workers are pinned, as ours
// are, so that the scheduler cannot put two of them on one CPU.
void use_threads(int threads) {
  omp_set_num_threads(threads);
  const auto pin = [](void* count) {
    if (omp_get_thread_num() > 0) {
      timing::pin_this_thread(timing::cpu_of(omp_get_thread_num(), *static_cast<int*>(count)));
    }
  };
  GOMP_parallel(pin, &threads, static_cast<unsigned>(threads), 0);
}

// One primitive with its arguments; what it computes ends in DNNL_ARG_DST.
struct Job {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive primitive;
  std::unordered_map<int, memory> args;
};
using JobPtr = std::shared_ptr<Job>;

Tag plain_tag(size_t rank) {
  constexpr Tag kTags[] = {Tag::undef, Tag::a, Tag::ab, Tag::abc, Tag::abcd, Tag::abcde};
  return kTags[rank];
}

memory::desc plain(const Dims& dims) {
  return {dims, memory::data_type::f32, plain_tag(dims.size())};
}
memory::desc any(const Dims& dims) { return {dims, memory::data_type::f32, Tag::any}; }

memory plain_memory(const Job& job, const Dims& dims, const float* values) {
  memory m(plain(dims), job.engine);
  std::copy(values, values + m.get_desc().get_size() / sizeof(float),
            static_cast<float*>(m.get_data_handle()));
  return m;
}

// Copies values, given plain with logical `dims`, into the format the primitive asks for.
void give(Job& job, int arg, const memory::desc& wanted, const Dims& dims, const float* values) {
  memory from = plain_memory(job, dims, values);
  memory to(wanted, job.engine);
  dnnl::reorder(from, to).execute(job.stream, from, to);
  job.stream.wait();
  job.args[arg] = to;
}

void give_output(Job& job, const memory::desc& wanted) {
  memory to(wanted, job.engine);
  std::fill_n(static_cast<unsigned char*>(to.get_data_handle()), wanted.get_size(),
              static_cast<unsigned char>(0xff));
  job.args[DNNL_ARG_DST] = to;
}

std::vector<float> read_output(Job& job, const Dims& dims) {
  memory from = job.args.at(DNNL_ARG_DST);
  memory to(plain(dims), job.engine);
  dnnl::reorder(from, to).execute(job.stream, from, to);
  job.stream.wait();
  const auto* values = static_cast<const float*>(to.get_data_handle());
  return {values, values + to.get_desc().get_size() / sizeof(float)};
}

timing::Contestant contestant(const std::string& name, const JobPtr& job, const Dims& output) {
  return {.name = name,
          .run =
              [job] {
                job->primitive.execute(job->stream, job->args);
                job->stream.wait();
              },
          .output = [job, output] { return read_output(*job, output); }};
}

timing::Contestant matmul(const Workload& w, const Data& data) {
  auto job = std::make_shared<Job>();
  const Dims a = {w.m, w.k};
  const Dims b = {w.k, w.n};
  const Dims c = {w.m, w.n};
  const dnnl::matmul::desc desc(plain(a), w.packed ? any(b) : plain(b), plain(c));
  const dnnl::matmul::primitive_desc chosen(desc, job->engine);
  give(*job, DNNL_ARG_SRC, chosen.src_desc(), a, data.inputs[0].values.data());
  give(*job, DNNL_ARG_WEIGHTS, chosen.weights_desc(), b, data.inputs[1].values.data());
  give_output(*job, chosen.dst_desc());
  job->primitive = dnnl::matmul(chosen);
  return contestant("onednn", job, c);
}

struct ConvDims {
  Dims in, weights, out, stride, pad;
};

ConvDims conv_dims(const Workload& w) {
  ConvDims d;
  d.in = {1, w.in_channels, w.size, w.size};
  d.out = {1, w.out_channels, w.out_size(), w.out_size()};
  d.weights = w.kind == Kind::kDepthwise ? Dims{w.in_channels, 1, 1, w.kernel, w.kernel}
                                         : Dims{w.out_channels, w.in_channels, w.kernel, w.kernel};
  d.stride = {w.stride, w.stride};
  d.pad = {w.pad, w.pad};
  return d;
}

timing::Contestant convolution(const Workload& w, const Data& data, dnnl::algorithm algorithm,
                               const std::string& name) {
  auto job = std::make_shared<Job>();
  const ConvDims d = conv_dims(w);
  const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference, algorithm,
                                             any(d.in), any(d.weights), any(d.out), d.stride, d.pad,
                                             d.pad);
  const dnnl::convolution_forward::primitive_desc chosen(desc, job->engine);
  give(*job, DNNL_ARG_SRC, chosen.src_desc(), d.in, data.inputs[0].values.data());
  give(*job, DNNL_ARG_WEIGHTS, chosen.weights_desc(), d.weights, data.inputs[1].values.data());
  give_output(*job, chosen.dst_desc());
  job->primitive = dnnl::convolution_forward(chosen);
  return contestant(name, job, d.out);
}

// Our weights are C K KH KW, oneDNN's logical order is K C KH KW.
std::vector<float> swap_channels(const Workload& w, const std::vector<float>& weights) {
  const int64_t taps = w.kernel * w.kernel;
  std::vector<float> out(weights.size());
  for (int64_t c = 0; c < w.in_channels; ++c) {
    for (int64_t k = 0; k < w.out_channels; ++k) {
      std::copy_n(weights.begin() + (c * w.out_channels + k) * taps, taps,
                  out.begin() + (k * w.in_channels + c) * taps);
    }
  }
  return out;
}

timing::Contestant deconvolution(const Workload& w, const Data& data) {
  auto job = std::make_shared<Job>();
  const ConvDims d = conv_dims(w);
  const dnnl::deconvolution_forward::desc desc(dnnl::prop_kind::forward_inference,
                                               dnnl::algorithm::deconvolution_direct, any(d.in),
                                               any(d.weights), any(d.out), d.stride, d.pad, d.pad);
  const dnnl::deconvolution_forward::primitive_desc chosen(desc, job->engine);
  give(*job, DNNL_ARG_SRC, chosen.src_desc(), d.in, data.inputs[0].values.data());
  give(*job, DNNL_ARG_WEIGHTS, chosen.weights_desc(), d.weights,
       swap_channels(w, data.inputs[1].values).data());
  give_output(*job, chosen.dst_desc());
  job->primitive = dnnl::deconvolution_forward(chosen);
  return contestant("onednn", job, d.out);
}

timing::Contestant softmax(const Workload& w, const Data& data) {
  auto job = std::make_shared<Job>();
  const Dims dims = {w.m, w.n};
  const dnnl::softmax_forward::desc desc(dnnl::prop_kind::forward_inference, plain(dims), 1);
  const dnnl::softmax_forward::primitive_desc chosen(desc, job->engine);
  give(*job, DNNL_ARG_SRC, plain(dims), dims, data.inputs[0].values.data());
  give_output(*job, plain(dims));
  job->primitive = dnnl::softmax_forward(chosen);
  return contestant("onednn", job, dims);
}

timing::Contestant layer_norm(const Workload& w, const Data& data) {
  auto job = std::make_shared<Job>();
  const Dims dims = {w.m, w.n};
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  const dnnl::layer_normalization_forward::desc desc(
      dnnl::prop_kind::forward_inference, plain(dims), static_cast<float>(w.epsilon()), flags);
  const dnnl::layer_normalization_forward::primitive_desc chosen(desc, job->engine);
  give(*job, DNNL_ARG_SRC, plain(dims), dims, data.inputs[0].values.data());
  give(*job, DNNL_ARG_SCALE, plain({w.n}), {w.n}, data.inputs[1].values.data());
  give(*job, DNNL_ARG_SHIFT, plain({w.n}), {w.n}, data.inputs[2].values.data());
  give_output(*job, plain(dims));
  job->primitive = dnnl::layer_normalization_forward(chosen);
  return contestant("onednn", job, dims);
}

timing::Contestant gelu(const Workload& w, const Data& data) {
  auto job = std::make_shared<Job>();
  const Dims dims = {w.m, w.n};
  const dnnl::eltwise_forward::desc desc(dnnl::prop_kind::forward_inference,
                                         dnnl::algorithm::eltwise_gelu_erf, plain(dims), 0.0F,
                                         0.0F);
  const dnnl::eltwise_forward::primitive_desc chosen(desc, job->engine);
  give(*job, DNNL_ARG_SRC, plain(dims), dims, data.inputs[0].values.data());
  give_output(*job, plain(dims));
  job->primitive = dnnl::eltwise_forward(chosen);
  return contestant("onednn", job, dims);
}

timing::Contestant add_relu(const Workload& w, const Data& data) {
  auto job = std::make_shared<Job>();
  const Dims dims = {w.m, w.n};
  dnnl::post_ops then;
  then.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(then);
  const dnnl::binary::desc desc(dnnl::algorithm::binary_add, plain(dims), plain(dims), plain(dims));
  const dnnl::binary::primitive_desc chosen(desc, attributes, job->engine);
  give(*job, DNNL_ARG_SRC_0, plain(dims), dims, data.inputs[0].values.data());
  give(*job, DNNL_ARG_SRC_1, plain(dims), dims, data.inputs[1].values.data());
  give_output(*job, plain(dims));
  job->primitive = dnnl::binary(chosen);
  return contestant("onednn", job, dims);
}

std::vector<timing::Contestant> convolutions(const Workload& w, const Data& data) {
  std::vector<timing::Contestant> all = {
      convolution(w, data, dnnl::algorithm::convolution_direct, "onednn")};
  if (w.kind == Kind::kConv && w.kernel == 3 && w.stride == 1) {
    try {
      all.push_back(convolution(w, data, dnnl::algorithm::convolution_winograd, "onednn_winograd"));
    } catch (const dnnl::error&) {
      // Not every instruction set has it.
    }
  }
  return all;
}

}  // namespace

std::vector<timing::Contestant> make_onednn(const Workload& w, const Data& data,
                                            const tenon_runtime* rt) {
  use_threads(rt->threads);
  switch (w.kind) {
    case Kind::kMatmul:
      return {matmul(w, data)};
    case Kind::kConv:
    case Kind::kDepthwise:
      return convolutions(w, data);
    case Kind::kConvTranspose:
      return {deconvolution(w, data)};
    case Kind::kSoftmax:
      return {softmax(w, data)};
    case Kind::kLayerNorm:
      return {layer_norm(w, data)};
    case Kind::kGelu:
      return {gelu(w, data)};
    case Kind::kAddRelu:
      return {add_relu(w, data)};
    case Kind::kNorm2:
      return {};
  }
  return {};
}

std::string onednn_version() {
  const dnnl_version_t* v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
         std::to_string(v->patch) + " OpenMP";
}

}  // namespace tenon::bench
