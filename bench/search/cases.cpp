// SPDX-License-Identifier: Apache-2.0
#include "cases.h"

#include <fstream>
#include <sstream>

#include "support/check.h"
#include "te/ops.h"
#include "te/text.h"
#include "templates/template.h"

namespace tenon::search {
namespace {

using te::Builder;

void matmul(Builder& b, int64_t n, bool constant) {
  const auto a = b.input("A", ir::kF32, {n, n});
  const auto w = constant ? b.constant("W", ir::kF32, {n, n}) : b.input("W", ir::kF32, {n, n});
  b.output(te::matmul(b, "C", a, w));
}

// With a bias and relu, as most convolutions have.
void finish(Builder& b, const te::Tensor& y) {
  std::vector<int64_t> shape(y.rank(), 1);
  shape[1] = y.shape()[1];
  const auto bias = b.constant("B", ir::kF32, std::move(shape));
  const auto z = te::elementwise(b, "Z", {y, bias}, [](auto v) { return v[0] + v[1]; });
  b.output(te::relu(b, "R", z));
}

// An image of `in` channels, a square window that keeps its size but for the stride.
struct Conv {
  int64_t in, out, size;
  int64_t kernel = 3, stride = 1, dilation = 1, groups = 1;
};
void conv(Builder& b, const Conv& c) {
  const auto x = b.input("X", ir::kF32, {1, c.in, c.size, c.size});
  const auto w = b.constant("W", ir::kF32, {c.out, c.in / c.groups, c.kernel, c.kernel});
  const int64_t pad = c.dilation * (c.kernel - 1) / 2;
  finish(
      b,
      te::conv(b, "Y", x, w,
               {{c.stride, c.stride}, {pad, pad}, {pad, pad}, {c.dilation, c.dilation}, c.groups}));
}

void conv_of_rows(Builder& b, int64_t in, int64_t out, int64_t length, int64_t kernel,
                  int64_t stride) {
  const auto x = b.input("X", ir::kF32, {1, in, length});
  const auto w = b.constant("W", ir::kF32, {out, in, kernel});
  const int64_t pad = (kernel - 1) / 2;
  finish(b, te::conv(b, "Y", x, w, {{stride}, {pad}, {pad}, {}, 1}));
}

void transposed(Builder& b, int64_t in, int64_t out, int64_t size, int64_t kernel, int64_t pad) {
  const auto x = b.input("X", ir::kF32, {1, in, size, size});
  const auto w = b.constant("W", ir::kF32, {in, out, kernel, kernel});
  finish(b, te::conv_transpose(b, "Y", x, w, {{2, 2}, {pad, pad}, {pad, pad}, {}, 1}));
}

void dense(Builder& b, int64_t m, int64_t k, int64_t n, bool gelu) {
  const auto x = b.input("X", ir::kF32, {m, k});
  const auto w = b.constant("W", ir::kF32, {k, n});
  const auto bias = b.constant("B", ir::kF32, {n});
  const auto y =
      te::elementwise(b, "Z", {te::matmul(b, "Y", x, w), bias}, [](auto v) { return v[0] + v[1]; });
  b.output(gelu ? te::gelu(b, "G", y) : y);
}

void batched(Builder& b, int64_t count, int64_t m, int64_t k, int64_t n) {
  const auto x = b.input("X", ir::kF32, {count, m, k});
  const auto y = b.input("Y", ir::kF32, {count, n, k});
  b.output(te::batch_matmul(b, "C", x, y, false, true));
}

void max_pool(Builder& b, int64_t channels, int64_t size) {
  const auto x = b.input("X", ir::kF32, {1, channels, size, size});
  b.output(te::pool(b, "P", x, te::Pool::kMax, {3, 3}, {{2, 2}, {1, 1}, {1, 1}, {}, 1}));
}

void softmax(Builder& b, int64_t rows, int64_t width) {
  b.output(te::softmax(b, "S", b.input("X", ir::kF32, {rows, width})));
}

constexpr auto kOther = CaseGroup::kOther;
constexpr auto kKnown = CaseGroup::kKnown;
constexpr auto kHeldOut = CaseGroup::kHeldOut;

constexpr Case kCases[] = {
    {"gmm1024", kOther, [](Builder& b) { matmul(b, 1024, false); }},
    {"gmm1024_packed", kOther, [](Builder& b) { matmul(b, 1024, true); }},
    // ResNet-18 and -50, MobileNet-V2, BERT, DCGAN, and a plain product of matrices.
    {"c2", kKnown,
     [](Builder& b) {
       conv(b, {64, 64, 56});
     }},
    {"c6", kKnown,
     [](Builder& b) {
       conv(b, {128, 128, 28});
     }},
    {"c9", kKnown,
     [](Builder& b) {
       conv(b, {256, 256, 14});
     }},
    {"c12", kKnown,
     [](Builder& b) {
       conv(b, {512, 512, 7});
     }},
    {"point", kKnown,
     [](Builder& b) {
       conv(b, {256, 1024, 14, 1});
     }},
    {"depthwise", kKnown,
     [](Builder& b) {
       conv(b, {144, 144, 56, 3, 1, 1, 144});
     }},
    {"dilated", kKnown,
     [](Builder& b) {
       conv(b, {128, 128, 28, 3, 1, 2});
     }},
    {"transposed", kKnown, [](Builder& b) { transposed(b, 256, 128, 14, 4, 1); }},
    {"gmm256", kKnown, [](Builder& b) { matmul(b, 256, true); }},
    {"dense", kKnown, [](Builder& b) { dense(b, 128, 768, 768, true); }},
    {"attention", kKnown, [](Builder& b) { batched(b, 12, 128, 64, 128); }},
    {"pool", kKnown, [](Builder& b) { max_pool(b, 64, 112); }},
    // A text detector's upsampling to one channel and its head; a pose network's.
    {"ocr_up", kHeldOut, [](Builder& b) { transposed(b, 64, 1, 80, 2, 0); }},
    {"ocr_head", kHeldOut,
     [](Builder& b) {
       conv(b, {96, 24, 80});
     }},
    {"pose_up", kHeldOut, [](Builder& b) { transposed(b, 256, 64, 16, 4, 1); }},
    // A segmentation network's wide windows.
    {"atrous12", kHeldOut,
     [](Builder& b) {
       conv(b, {320, 64, 28, 3, 1, 12});
     }},
    {"atrous24", kHeldOut,
     [](Builder& b) {
       conv(b, {256, 64, 33, 3, 1, 24});
     }},
    // RegNet's groups, a network of 31x31 windows' smaller 9x9 ones, ESPCN's first layer.
    {"regnet", kHeldOut,
     [](Builder& b) {
       conv(b, {208, 208, 28, 3, 1, 1, 13});
     }},
    {"wide_depthwise", kHeldOut,
     [](Builder& b) {
       conv(b, {128, 128, 28, 9, 1, 1, 128});
     }},
    {"espcn", kHeldOut,
     [](Builder& b) {
       conv(b, {1, 64, 96, 5});
     }},
    // A speech network's first layers, MLP-Mixer, windows of Swin.
    {"speech", kHeldOut, [](Builder& b) { conv_of_rows(b, 80, 384, 1000, 3, 2); }},
    {"mixer", kHeldOut, [](Builder& b) { dense(b, 512, 196, 256, true); }},
    {"swin", kHeldOut, [](Builder& b) { batched(b, 192, 49, 32, 49); }},
    {"swin_softmax", kHeldOut, [](Builder& b) { softmax(b, 9408, 49); }},
};

te::ComputeDag dag_of(const std::string& name) {
  for (const Case& c : kCases) {
    if (name != c.name) continue;
    Builder b;
    c.build(b);
    return b.finish();
  }
  std::ifstream in(name);
  if (!in) throw UserError("there is neither a case nor a file '" + name + "'");
  std::stringstream text;
  text << in.rdbuf();
  return te::parse(text.str(), name);
}

}  // namespace

std::string to_string(CaseGroup g) {
  return g == kKnown ? "known" : g == kHeldOut ? "held-out" : "other";
}

std::span<const Case> cases() { return kCases; }

task::Task make_case(const std::string& name, const target::Target& target, bool plain) {
  auto dag = std::make_shared<const te::ComputeDag>(dag_of(name));
  auto machine = std::make_shared<const target::Target>(target);
  auto edges = task::parse_edges("", *dag);
  if (!plain) {
    const auto chosen = templates::choose(schedule::State(dag, machine), {{}, false}).edges;
    for (auto& [tensor, layout] : edges) layout = chosen.at(tensor);
  }
  return task::make_task(std::move(dag), std::move(edges), std::move(machine));
}

}  // namespace tenon::search
