// SPDX-License-Identifier: Apache-2.0
#include "tune/random_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "support/check.h"
#include "support/hash.h"
#include "support/rng.h"
#include "te/ops.h"
#include "templates/template.h"

namespace tenon::tune {
namespace {

using te::Builder;
using te::Tensor;

constexpr double kMostBytes = 128e6;  // of all tensors of a task: times are not to be the memory's
constexpr double kLikeTemplate = 0.75;  // share of tasks whose edges are stored as networks do

// What real networks have most, and now and then anything else.
class Draw {
 public:
  explicit Draw(Rng& rng) : rng_(rng) {}

  bool chance(double p) { return rng_.chance(p); }
  int64_t one_of(const std::vector<int64_t>& values) { return rng_.pick(values); }
  // Small numbers as often as large ones.
  int64_t log_between(int64_t lo, int64_t hi) {
    const double span = std::log(static_cast<double>(hi + 1) / static_cast<double>(lo));
    const double x = static_cast<double>(lo) * std::exp(rng_.unit() * span);
    return std::clamp(static_cast<int64_t>(x), lo, hi);
  }
  int64_t channels() {
    if (chance(0.2)) return log_between(1, 2048);
    return one_of({3,   8,   16,  24,  32,  40,  48,  64,   72,   80,   96,  112,
                   120, 128, 144, 160, 192, 240, 256, 288,  320,  384,  448, 480,
                   512, 576, 640, 672, 768, 896, 960, 1024, 1280, 1536, 2048});
  }
  int64_t image() {
    if (chance(0.2)) return log_between(4, 256);
    return one_of(
        {7, 8, 10, 13, 14, 16, 19, 20, 26, 28, 32, 35, 40, 52, 56, 64, 80, 112, 128, 160});
  }
  int64_t batch() { return chance(0.75) ? 1 : log_between(2, 8); }
  int64_t kernel() { return chance(0.8) ? one_of({1, 1, 1, 3, 3, 3, 3, 5, 7}) : log_between(1, 9); }
  int64_t stride() { return one_of({1, 1, 1, 1, 1, 1, 1, 2, 2, 3}); }
  int64_t dilation() { return chance(0.85) ? 1 : log_between(2, 36); }
  int64_t matrix() {
    if (chance(0.5)) return log_between(1, 4096);
    return one_of({1,   16,  49,  50,  64,   77,   96,   128,  196,  197, 256,
                   384, 512, 768, 784, 1000, 1024, 1536, 2048, 3072, 4096});
  }

 private:
  Rng& rng_;
};

// ---- epilogues ----------------------------------------------------------------------------------

Tensor sum_of(Builder& b, const std::string& name, const Tensor& x, const Tensor& y) {
  return te::elementwise(b, name, {x, y}, [](auto v) { return v[0] + v[1]; });
}

// A bias of the shape given, a second operand as of a skip connection, and what follows. Tensors
// are called as in tasks of networks, so that a shape which one of them has is the same task.
void finish(Builder& b, Draw& d, Tensor y, std::vector<int64_t> bias_shape) {
  if (d.chance(0.8)) y = sum_of(b, "bias", y, b.constant("w1", ir::kF32, std::move(bias_shape)));
  if (d.chance(0.2)) y = sum_of(b, "add", y, b.input("x1", ir::kF32, y.shape()));
  if (d.chance(0.5)) {
    y = te::relu(b, "relu", y);
  } else if (d.chance(0.15)) {
    y = te::gelu(b, "gelu", y);
  }
  b.output(y);
}

// ---- kinds --------------------------------------------------------------------------------------

// Kernel, stride and dilation of an image's two dimensions, padded so that its size stays, mostly.
struct Window {
  te::ConvParams params;
  std::vector<int64_t> kernel;
};

Window draw_window(Draw& d) {
  const int64_t k = d.kernel(), s = d.stride(), dilation = k == 1 ? 1 : d.dilation();
  Window w{{{s, s}, {}, {}, {dilation, dilation}, 1}, {k, k}};
  if (k > 1 && d.chance(0.08)) w.kernel[d.chance(0.5) ? 0 : 1] = 1;
  const bool padded = dilation > 1 || d.chance(0.85);
  for (const int64_t extent : w.kernel) {
    const int64_t reach = dilation * (extent - 1);
    w.params.pad_before.push_back(padded ? reach / 2 : 0);
    w.params.pad_after.push_back(padded ? reach - reach / 2 : 0);
  }
  return w;
}

void conv(Builder& b, Draw& d) {
  const Window w = draw_window(d);
  te::ConvParams p = w.params;
  int64_t in = d.channels(), out = d.channels();
  if (d.chance(0.12)) {
    p.groups = d.one_of({2, 4, 8, 16, 32});
    in = p.groups * std::max<int64_t>(1, in / p.groups);
    out = p.groups * std::max<int64_t>(1, out / p.groups);
  }
  const int64_t size = d.image();
  const auto x = b.input("x0", ir::kF32, {d.batch(), in, size, size});
  const auto v = b.constant("w0", ir::kF32, {out, in / p.groups, w.kernel[0], w.kernel[1]});
  finish(b, d, te::conv(b, "conv", x, v, p), {1, out, 1, 1});
}

void depthwise(Builder& b, Draw& d) {
  Window w = draw_window(d);
  if (w.kernel[0] * w.kernel[1] == 1) w.kernel = {3, 3};
  const int64_t channels = d.channels(), size = d.image();
  w.params.groups = channels;
  const auto x = b.input("x0", ir::kF32, {d.batch(), channels, size, size});
  const auto v = b.constant("w0", ir::kF32, {channels, 1, w.kernel[0], w.kernel[1]});
  finish(b, d, te::conv(b, "conv", x, v, w.params), {1, channels, 1, 1});
}

void conv_of_rows(Builder& b, Draw& d) {
  const int64_t k = d.kernel(), in = d.channels(), out = d.channels(), s = d.stride();
  const int64_t dilation = k == 1 ? 1 : d.dilation(), reach = dilation * (k - 1);
  const auto x = b.input("x0", ir::kF32, {d.batch(), in, d.log_between(16, 4096)});
  const auto v = b.constant("w0", ir::kF32, {out, in, k});
  const te::ConvParams p{{s}, {reach / 2}, {reach - reach / 2}, {dilation}, 1};
  finish(b, d, te::conv(b, "conv", x, v, p), {1, out, 1});
}

void transposed(Builder& b, Draw& d) {
  const int64_t k = d.log_between(2, 5), s = d.one_of({1, 2, 2, 2, 3});
  const int64_t in = d.channels(), out = d.channels(), size = d.image();
  const int64_t pad = d.chance(0.5) ? (k - 1) / 2 : 0;
  const auto x = b.input("x0", ir::kF32, {d.batch(), in, size, size});
  const auto v = b.constant("w0", ir::kF32, {in, out, k, k});
  const te::ConvParams p{{s, s}, {pad, pad}, {pad, pad}, {1, 1}, 1};
  finish(b, d, te::conv_transpose(b, "convtranspose", x, v, p), {1, out, 1, 1});
}

void matmul(Builder& b, Draw& d) {
  const int64_t m = d.matrix(), n = d.matrix(), k = d.matrix();
  const auto a = b.input("x0", ir::kF32, {m, k});
  const bool constant = d.chance(0.75), turned = d.chance(0.3);
  const std::vector<int64_t> shape =
      turned ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
  const auto w = constant ? b.constant("w0", ir::kF32, shape) : b.input("x2", ir::kF32, shape);
  finish(b, d, te::matmul(b, "matmul", a, w, false, turned), {n});
}

void batched_matmul(Builder& b, Draw& d) {
  const int64_t count = d.log_between(2, 64), m = d.log_between(1, 1024);
  const int64_t n = d.log_between(1, 1024), k = d.one_of({16, 32, 49, 64, 64, 80, 128, 197});
  const bool turned = d.chance(0.5);
  const auto a = b.input("x0", ir::kF32, {count, m, k});
  const auto w =
      b.input("x1", ir::kF32,
              turned ? std::vector<int64_t>{count, n, k} : std::vector<int64_t>{count, k, n});
  const auto c = te::batch_matmul(b, "matmul", a, w, false, turned);
  b.output(d.chance(0.3) ? sum_of(b, "add", c, b.input("x2", ir::kF32, {n})) : c);
}

void softmax(Builder& b, Draw& d) {
  const auto x = b.input("x0", ir::kF32, {d.log_between(16, 8192), d.log_between(8, 4096)});
  b.output(te::softmax(b, "softmax", x));
}

void layer_norm(Builder& b, Draw& d) {
  const int64_t width = d.matrix();
  const auto x = b.input("x0", ir::kF32, {d.log_between(16, 4096), width});
  const auto scale = b.constant("w0", ir::kF32, {width});
  const auto bias = b.constant("w1", ir::kF32, {width});
  const Tensor y = d.chance(0.3) ? sum_of(b, "add", x, b.input("x1", ir::kF32, x.shape())) : x;
  b.output(te::layer_norm(b, "layer_norm", y, scale, bias, 1e-5));
}

void pool(Builder& b, Draw& d) {
  const int64_t size = d.image(), k = std::min(size, d.one_of({2, 2, 3, 3, 5, size}));
  const int64_t s = k == size ? 1 : d.one_of({1, 2, 2, 3});
  const int64_t pad = k == 3 && d.chance(0.5) ? 1 : 0;
  const auto x = b.input("x0", ir::kF32, {d.batch(), d.channels(), size, size});
  const te::ConvParams p{{s, s}, {pad, pad}, {pad, pad}, {1, 1}, 1};
  b.output(te::pool(b, "pool", x, d.chance(0.5) ? te::Pool::kMax : te::Pool::kAverage, {k, k}, p));
}

struct Kind {
  const char* name;
  double share;
  void (*build)(Builder& b, Draw& d);
};
constexpr std::array kKinds = {
    Kind{"conv", 0.40, conv},
    Kind{"depthwise", 0.12, depthwise},
    Kind{"conv of rows", 0.04, conv_of_rows},
    Kind{"transposed", 0.07, transposed},
    Kind{"matmul", 0.17, matmul},
    Kind{"batched matmul", 0.08, batched_matmul},
    Kind{"softmax", 0.03, softmax},
    Kind{"layer norm", 0.03, layer_norm},
    Kind{"pool", 0.06, pool},
};

const Kind& draw_kind(Rng& rng) {
  double left = rng.unit();
  for (const Kind& k : kKinds) {
    if ((left -= k.share) < 0) return k;
  }
  return kKinds.front();
}

// ---- tasks --------------------------------------------------------------------------------------

bool fits(const te::ComputeDag& dag, const RandomTaskOptions& o) {
  const double flops = te::flops(dag);
  return flops >= o.least_flops && flops <= o.most_flops;
}

// Nothing: the shape is too small or too large, or there is no such operator.
std::optional<te::ComputeDag> draw_dag(const Kind& kind, Rng& rng, const RandomTaskOptions& o) {
  Builder b;
  Draw d(rng);
  try {
    kind.build(b, d);
    te::ComputeDag dag = b.finish(b.dag().outputs[0].name());
    if (fits(dag, o)) return dag;
  } catch (const UserError&) {  // a window that is larger than the image
  }
  return std::nullopt;
}

task::Task make_task(te::ComputeDag drawn, bool like_template,
                     const std::shared_ptr<const target::Target>& target) {
  auto dag = std::make_shared<const te::ComputeDag>(std::move(drawn));
  auto edges = task::parse_edges("", *dag);
  if (like_template) {
    const auto chosen = templates::choose(schedule::State(dag, target), {{}, false}).edges;
    for (auto& [tensor, layout] : edges) layout = chosen.at(tensor);
  }
  return task::make_task(std::move(dag), std::move(edges), target);
}

// The kind is drawn once, so that those whose shapes rarely fit are no rarer than their share.
std::optional<task::Task> draw_task(const RandomTaskOptions& o, int64_t number,
                                    const std::shared_ptr<const target::Target>& target) {
  constexpr int kTries = 500;
  Hasher h;
  h.add(o.seed).add(number);
  Rng rng(h.value());
  const Kind& kind = draw_kind(rng);
  for (int i = 0; i < kTries; ++i) {
    auto dag = draw_dag(kind, rng, o);
    if (!dag) continue;
    task::Task t = make_task(*std::move(dag), rng.chance(kLikeTemplate), target);
    if (t.bytes <= kMostBytes) return t;
  }
  return std::nullopt;
}

}  // namespace

TaskToTune with_default(task::Task t) {
  auto choice = templates::choose(schedule::State(t.dag, t.target), {t.edges, false});
  return {std::move(t), std::move(choice.trace), fmt::format("template {}", choice.name)};
}

std::vector<TaskToTune> random_tasks(const RandomTaskOptions& o, const target::Target& target) {
  constexpr int64_t kDrawsPerTask = 4;
  const auto machine = std::make_shared<const target::Target>(target);
  std::vector<TaskToTune> out;
  std::set<std::string> known;
  for (int64_t i = 0; i < kDrawsPerTask * o.count && std::ssize(out) < o.count; ++i) {
    auto t = draw_task(o, i, machine);
    if (t && known.insert(t->key).second) out.push_back(with_default(*std::move(t)));
  }
  if (out.empty() && o.count > 0) {
    throw UserError(fmt::format("no task has {:.3g} to {:.3g} floating-point operations",
                                o.least_flops, o.most_flops),
                    "give --min-flops and --max-flops that are further apart");
  }
  return out;
}

}  // namespace tenon::tune
