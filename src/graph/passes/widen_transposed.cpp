// SPDX-License-Identifier: Apache-2.0
//   conv_transpose(x: [1,480,80,80], w: [480,21,2,2], stride 2)  ->  move(conv(x, w': [84,480,1,1]))
// Where the stride divides the kernel, each phase of the output is a convolution of its own by as many taps. Side by side
// the channels of all phases fill the vectors that those of the output alone leave empty.
#include <numeric>

#include "graph/passes.h"
#include "graph/passes/rewriter.h"
#include "te/ops.h"

namespace tenon::graph {
namespace {

constexpr int64_t kVector = 16;  // channels; what fills these fills shorter vectors, too
constexpr int64_t kFew = 3;      // channels that templates take in vectors of columns
constexpr int64_t kDeep = 128;   // channels of the input that make the move cheap beside the sums

int64_t product(const Shape& s) {
  return std::accumulate(s.begin(), s.end(), int64_t{1}, std::multiplies<>());
}

// Spatial extents, a number for each dimension.
struct Phases {
  Shape stride, taps, reach;  // of the output; of a phase; how many elements a phase has
};

class WidenTransposed : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool run() {
    return each_node([&](size_t n) { return rewrite(n); });
  }

 private:
  std::optional<Phases> phases(const Node& n) const {
    const auto* t = std::get_if<ConvTranspose>(&n.op);
    if (t == nullptr || t->params.groups != 1 || t->params.stride.empty()) return std::nullopt;
    const Value& w = value(n.inputs[1]);
    const int64_t channels = w.shape[1];
    if (!w.constant() || w.dtype != ir::kF32 || w.shape[0] < kDeep || channels <= kFew ||
        channels % kVector == 0)
      return std::nullopt;
    Phases p;
    for (size_t d = 0; d + 2 < w.shape.size(); ++d) {
      const auto at = [&](const Shape& list, int64_t none) {
        return list.empty() ? none : list[d];
      };
      const int64_t stride = t->params.stride[d], kernel = w.shape[2 + d];
      if (kernel % stride != 0 || at(t->params.dilation, 1) != 1 || at(t->output_pad, 0) != 0)
        return std::nullopt;
      p.stride.push_back(stride);
      p.taps.push_back(kernel / stride);
      p.reach.push_back(shape(n.inputs[0])[2 + d] + p.taps.back() - 1);
    }
    return product(p.stride) > 1 ? std::optional(p) : std::nullopt;
  }

  bool rewrite(size_t at) {
    const auto p = phases(g_.nodes[at]);
    if (!p) return false;
    const Node given = g_.nodes[at];
    const ValueId side_by_side = add_conv(given, *p);
    const ValueId whole = add_move(given, *p, side_by_side);
    const auto before = std::get<ConvTranspose>(given.op).params.pad_before;
    const Shape& to = shape(given.outputs[0]);
    if (shape(whole) == to) {
      g_.nodes[at].op = Reshape{to};
    } else {
      g_.nodes[at].op = Compute{slice_of(shape(whole), before, to)};
    }
    g_.nodes[at].label = "move";
    set_inputs(at, {whole});
    return true;
  }

  // w'[k, phase; c; u] = w[c; k; phase + stride * (taps - 1 - u)]
  ValueId weights(ValueId w, const Phases& p) {
    const Value given = value(w);
    const int64_t channels = given.shape[0], outputs = given.shape[1], all = product(p.stride);
    Shape to{outputs * all, channels};
    to.insert(to.end(), p.taps.begin(), p.taps.end());
    ir::Array a(given.dtype, to);
    const int64_t taps = product(p.taps);
    for (int64_t i = 0; i < a.elements(); ++i) {
      const int64_t c = i / taps % channels, row = i / taps / channels;
      int64_t phase = row % all, tap = i % taps, from = 0, step = 1;
      for (size_t d = p.taps.size(); d-- > 0;) {
        const int64_t place = phase % p.stride[d] + p.stride[d] * (p.taps[d] - 1 - tap % p.taps[d]);
        from += place * step;
        step *= p.taps[d] * p.stride[d];
        phase /= p.stride[d];
        tap /= p.taps[d];
      }
      a.set(i, given.data->get((c * outputs + row / all) * step + from));
    }
    return add_value(
        {given.name + ".phases", given.dtype, to, std::make_shared<const ir::Array>(std::move(a))});
  }

  ValueId add_result(const Node& given, Op op, std::vector<ValueId> inputs, const Shape& to,
                     const std::string& label) {
    const Value& y = value(given.outputs[0]);
    const ValueId made = add_value({y.name + "." + label, y.dtype, to, nullptr});
    add_node({std::move(op), std::move(inputs), {made}, label, given.nodes, given.segment});
    return made;
  }

  ValueId add_conv(const Node& given, const Phases& p) {
    Conv conv;
    conv.params.stride.assign(p.taps.size(), 1);
    conv.params.dilation.assign(p.taps.size(), 1);
    for (const int64_t t : p.taps) conv.params.pad_before.push_back(t - 1);
    conv.params.pad_after = conv.params.pad_before;
    Shape to{shape(given.inputs[0])[0], shape(given.inputs[1])[1] * product(p.stride)};
    to.insert(to.end(), p.reach.begin(), p.reach.end());
    return add_result(given, conv, {given.inputs[0], weights(given.inputs[1], p)}, to, "conv");
  }

  // n k*phases q..  ->  n k q0*s0 q1*s1 ..
  ValueId add_move(const Node& given, const Phases& p, ValueId from) {
    const size_t rank = p.stride.size();
    Shape apart{shape(from)[0], shape(given.inputs[1])[1]}, whole = apart, turned = apart;
    std::vector<int64_t> perm{0, 1};
    apart.insert(apart.end(), p.stride.begin(), p.stride.end());
    apart.insert(apart.end(), p.reach.begin(), p.reach.end());
    for (size_t d = 0; d < rank; ++d) {
      perm.push_back(static_cast<int64_t>(2 + rank + d));
      perm.push_back(static_cast<int64_t>(2 + d));
      turned.insert(turned.end(), {p.reach[d], p.stride[d]});
      whole.push_back(p.reach[d] * p.stride[d]);
    }
    const ValueId split = add_result(given, Reshape{apart}, {from}, apart, "reshape");
    const ValueId moved = add_result(given, Transpose{perm}, {split}, turned, "transpose");
    return add_result(given, Reshape{whole}, {moved}, whole, "reshape");
  }

  static std::shared_ptr<const te::ComputeDag> slice_of(const Shape& from, const Shape& before,
                                                        const Shape& to) {
    te::Builder b;
    const te::Tensor x = b.input("x0", ir::kF32, from);
    std::vector<int64_t> begin(2, 0);
    for (size_t d = 2; d < from.size(); ++d) begin.push_back(before.empty() ? 0 : before[d - 2]);
    b.output(te::slice(b, "slice", x, begin, to));
    return std::make_shared<const te::ComputeDag>(b.finish("slice"));
  }
};

}  // namespace

void widen_transposed(Graph& g, const PassContext&) {
  if (WidenTransposed(g).run()) g.compact();
}

}  // namespace tenon::graph
