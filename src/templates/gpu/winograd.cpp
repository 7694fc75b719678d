// SPDX-License-Identifier: Apache-2.0
// Convolutions by Winograd's algorithms, where they are estimated to be faster than by their
// definition. One kernel (winograd_fused.h) where that fills the card, else three: tiles of the input
// transformed, a thread for each tile and channel; a product per point of a tile (contraction.h); tiles
// of the output transformed, with what follows.
#include "schedule/algorithms/winograd.h"
#include "schedule/primitives/set_scope.h"
#include "schedule/primitives/variant.h"
#include "templates/algorithm_choice.h"
#include "templates/gpu/contraction.h"
#include "templates/gpu/kernels.h"
#include "templates/gpu/winograd_fused.h"
#include "templates/winograd_match.h"
#include "templates/write.h"

namespace tenon::templates {

using schedule::Algorithm;
using space::Builder;
using space::Loop;
using space::StageRef;

namespace {

struct Sizes {
  double points = 1, tiles = 1;  // of one tile; of all images
  double in = 1, out = 1;        // elements of the convolution
};

Sizes sizes_of(const WinogradConv& c, const schedule::AlgorithmRow& row) {
  const te::ComputeOp& op = *c.inner;
  Sizes s;
  for (size_t d = 0; d < op.axes.size(); ++d) {
    const int64_t e = op.axes[d].extent;
    s.out *= static_cast<double>(e);
    if (d >= 2 + c.others) s.points *= static_cast<double>(schedule::points_of(row));
    if (d == 1) continue;
    s.tiles *= static_cast<double>(d < 2 + c.others ? e : arith::ceil_div(e, row.tile));
  }
  for (const int64_t e : c.x.shape()) s.in *= static_cast<double>(e);
  return s;
}

// In clocks of a multiprocessor. Weights come from memory, since other layers have been there, and
// what the products write goes as slowly.
double winograd_clocks(const WinogradConv& c, Algorithm a, const target::Gpu& gpu) {
  constexpr double kBytes = 4;
  const Sizes s = sizes_of(c, schedule::row_of(a));
  const te::ComputeOp& op = *c.inner;
  int64_t length = 1;
  for (size_t d = 0; d <= c.others; ++d) length *= op.reduce_axes[d].extent;
  const gpu::ProductSize p{.outer = static_cast<int64_t>(s.points),
                           .slow = op.axes[1].extent,
                           .fast = static_cast<int64_t>(s.tiles),
                           .length = length};
  const double weights = kBytes * s.points * static_cast<double>(p.slow * p.length);
  const double in = kBytes * s.points * s.tiles * static_cast<double>(op.reduce_axes[0].extent);
  const double out = kBytes * s.points * s.tiles * static_cast<double>(p.slow);
  return gpu::estimate(gpu::choose_tile(p, gpu), p, gpu) + gpu::fetching(weights + out, gpu) +
         gpu::copying(in + kBytes * s.in, gpu) + gpu::copying(out + kBytes * s.out, gpu);
}

// One kernel must be estimated to take less than this share of the time of three. Alone it is 6 % faster for 64 channels of
// 56 x 56, but ResNet-18, which has four of them, takes 1.12 times as long with it on an H200.
constexpr double kOneKernel = 0.5;

double best_clocks(const WinogradConv& c, Algorithm a, const target::Gpu& gpu) {
  const double three = winograd_clocks(c, a, gpu);
  const auto size = gpu::fused_size(c, schedule::row_of(a));
  const auto one = size ? gpu::choose_fused(*size, gpu) : std::nullopt;
  return one ? std::min(three, one->clocks / kOneKernel) : three;
}

double direct_clocks(const WinogradConv& c, const schedule::Gemm& g, const target::Gpu& gpu) {
  double weights = 4;
  for (const int64_t e : c.w.shape()) weights *= static_cast<double>(e);
  const gpu::ProductSize p = gpu::product_size(g);
  return gpu::estimate(gpu::choose_tile(p, gpu), p, gpu) + gpu::fetching(weights, gpu);
}

std::optional<Algorithm> choose_gpu_winograd(const WinogradConv& c, const Builder& b,
                                             const Request& request) {
  constexpr double kWorthIt = 0.95;
  const target::Gpu& gpu = b.target().gpu();
  const auto direct = schedule::find_gemm(b.state(), *c.chain.anchor);
  if (!direct) return std::nullopt;
  return choose_algorithm(request, direct_clocks(c, *direct, gpu), kWorthIt,
                          [&](Algorithm a) -> std::optional<double> {
                            if (!schedule::is_winograd(a) || schedule::row_of(a).stride != 1)
                              return std::nullopt;
                            return best_clocks(c, a, gpu);
                          });
}

class Writer {
 public:
  Writer(const WinogradConv& c, Algorithm a, Builder& b)
      : c_(c), b_(b), op_(*c.inner), row_(schedule::row_of(a)) {}

  void run() {
    const StageRef anchor = b_.stage(op_.name());
    b_.variant(anchor, row_.algorithm);
    for (const te::ComputeOp* p : c_.chain.inlined) {
      if (p != c_.chain.anchor) b_.compute_inline(b_.stage(p->name()));
    }
    b_.compute_inline(part(".y"));
    if (c_.chain.anchor != c_.chain.final) b_.compute_inline(anchor);
    if (b_.refused()) return;
    const auto size = gpu::fused_size(c_, row_);
    if (size && is_fused(*size)) {
      const auto rule = gpu::choose_fused(*size, b_.target().gpu());
      return gpu::write_fused(b_, c_, *size, rule ? rule->tile : gpu::FusedTile{});
    }
    multiply();
    transform_input();
    transform_output();
  }

 private:
  bool is_fused(const gpu::FusedSize& size) {
    const target::Gpu& gpu = b_.target().gpu();
    const auto one = gpu::choose_fused(size, gpu);
    const bool rule = one && one->clocks < kOneKernel * winograd_clocks(c_, row_.algorithm, gpu);
    const auto shown = [](const schedule::Trace& trace) -> std::optional<int64_t> {
      return std::none_of(trace.begin(), trace.end(), [](const schedule::Step& s) {
        const auto* v = std::get_if<schedule::Variant>(&s);
        return v != nullptr && v->algorithm == Algorithm::kGemm;
      });
    };
    const space::StageRef out = b_.stage(c_.chain.final->name());
    return b_.ask({space::HoleKind::kSwitch, out.id, 1}, "one_kernel", space::Domain::range(0, 1),
                  rule ? 1 : 0, nullptr, shown) == 1;
  }

  StageRef part(const char* name) const { return made(b_, op_.name() + name); }

  void multiply() {
    const te::OpRef m = b_.state().stage(part(".m").id).op;
    const auto g = schedule::find_gemm(b_.state(), *m);
    if (!g) return b_.refuse({.code = IllegalCode::kBadVariant, .stage = part(".m").id});
    shared_ = gpu::write_product(b_, {.anchor = m.get(), .final = m.get(), .inlined = {}}, *g,
                                 {m->name()});
    if (shared_) b_.compute_inline(part(".m"));
  }

  // All of a stage that one thread has, in its registers.
  void keep(StageRef stage, Loop thread) {
    b_.compute_at(stage, thread);
    if (b_.refused()) return;
    b_.add(schedule::SetScope{stage, ir::Scope::kRegister});
    for (const Loop& l : b_.leaves(stage)) b_.unroll(l);
  }

  // points.. n c others.. tiles
  void transform_input() {
    if (b_.refused()) return;
    const StageRef turned = part(".v");
    std::vector<Loop> outer, points;
    for (size_t d = 0; d < b_.now(turned).axes.size(); ++d)
      (d < c_.dims ? points : outer).push_back(b_.axis(turned, d));
    const Loop thread = deal(turned, outer, points);
    if (c_.dims == 2) keep(part(".v1"), thread);
    keep(part(".d"), thread);
  }

  void transform_output() {
    if (b_.refused()) return;
    const StageRef out = b_.stage(c_.chain.final->name());
    std::vector<Loop> outer, inside;
    for (size_t d = 0; d < op_.axes.size(); ++d) {
      outer.push_back(b_.axis(out, d));
      if (d < 2 + c_.others) continue;
      const auto [tile, inner] = b_.split<2>(outer.back(), {row_.tile});
      outer.back() = tile;
      inside.push_back(inner);
    }
    const StageRef reader = c_.dims == 2 ? part(".y1") : out;
    const StageRef read =
        shared_ ? *shared_ : b_.cache_read(part(".m"), {reader}, ir::Scope::kRegister);
    const Loop thread = deal(out, outer, inside);
    if (c_.dims == 2) keep(reader, thread);
    keep(read, thread);
  }

  // A thread for each value of the outer loops.
  Loop deal(StageRef stage, const std::vector<Loop>& outer, const std::vector<Loop>& inside) {
    std::vector<Loop> order = outer;
    order.insert(order.end(), inside.begin(), inside.end());
    b_.reorder(order);
    for (const Loop& l : inside) b_.unroll(l);
    return gpu::bind_loops(b_, stage, outer);
  }

  const WinogradConv& c_;
  Builder& b_;
  const te::ComputeOp& op_;
  const schedule::AlgorithmRow& row_;
  std::optional<StageRef> shared_;  // adds up products that blocks share
};

// The result is stored in its plain order.
bool fits(const WinogradConv& c, const Request& request) {
  return c.phases.empty() && c.stride == 1 && gpu::stores_plainly(request, c.chain.final->output);
}

}  // namespace

std::optional<Written> write_gpu_winograd(Builder& b, const Request& request) {
  const auto c = match_winograd(b.state());
  if (!c || !fits(*c, request)) return std::nullopt;
  const auto algorithm = choose_gpu_winograd(*c, b, request);
  if (!algorithm) return std::nullopt;
  gpu::store_edges(b, request);
  Writer(*c, *algorithm, b).run();
  return Written{};
}

}  // namespace tenon::templates
