// SPDX-License-Identifier: Apache-2.0
#include "graph_fuzz/rounding.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tenon::graph_fuzz {
namespace {

constexpr double kSmall = 256;

// Sorted. Their results are numbers that they were given, or small integers by definition.
constexpr std::string_view kMoving[] = {
    "Abs",
    "ArgMax",
    "ArgMin",
    "BitShift",
    "Cast",
    "CastLike",
    "Ceil",
    "CenterCropPad",
    "Clip",
    "Compress",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "DepthToSpace",
    "Dropout",
    "Expand",
    "EyeLike",
    "Flatten",
    "Floor",
    "Gather",
    "GatherElements",
    "GatherND",
    "GlobalMaxPool",
    "Hardmax",
    "Identity",
    "Max",
    "MaxPool",
    "MaxUnpool",
    "Min",
    "Neg",
    "NonZero",
    "OneHot",
    "Pad",
    "ReduceMax",
    "ReduceMin",
    "Relu",
    "Reshape",
    "ReverseSequence",
    "Round",
    "ScatterElements",
    "ScatterND",
    "Shape",
    "Sign",
    "Size",
    "Slice",
    "SpaceToDepth",
    "Split",
    "Squeeze",
    "ThresholdedRelu",
    "Tile",
    "TopK",
    "Transpose",
    "Trilu",
    "Unique",
    "Unsqueeze",
    "Where",
};

// Sorted. Sums of products.
constexpr std::string_view kRing[] = {
    "Add", "Conv",     "ConvTranspose", "CumSum",          "Einsum", "Gemm", "MatMul",
    "Mul", "ReduceL1", "ReduceSum",     "ReduceSumSquare", "Sub",    "Sum",
};

// Sorted.
constexpr std::string_view kWithArguments[] = {
    "DequantizeLinear", "Dropout", "MelWeightMatrix", "QLinearConv", "QLinearMatMul",
    "QuantizeLinear",   "Range",   "Resize",          "RoiAlign",    "Upsample",
};

template <size_t n>
bool among(const std::string_view (&list)[n], std::string_view word) {
  return std::binary_search(std::begin(list), std::end(list), word);
}

}  // namespace

bool small_integers(const ir::Array& a) {
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double v = a.get_double(i);
    if (!(std::abs(v) <= kSmall && v == std::floor(v))) return false;
  }
  return true;
}

bool rounds(const proto::NodeProto& node, const Scope& scope, const ir::Array& output) {
  if (!output.dtype().is_float()) return false;
  if (node.domain().empty() && among(kMoving, node.op_type())) return false;
  if (!node.domain().empty() || !among(kRing, node.op_type())) return true;
  const std::set<std::string> read = names_read(node);
  return !std::all_of(read.begin(), read.end(), [&](const std::string& name) {
    return small_integers(scope.at(name).data);
  }) || !small_integers(output);
}

bool takes_arguments(const proto::NodeProto& node) { return among(kWithArguments, node.op_type()); }

double unit_roundoff(ir::DType t) {
  if (t == ir::kF64) return 0x1p-52;
  if (t == ir::kF32) return 0x1p-23;
  return t == ir::kF16 ? 0x1p-10 : 0x1p-7;
}

void move_a_little(ir::Array& a, Rng& rng) {
  if (!a.dtype().is_float()) return;
  const double step = 4 * unit_roundoff(a.dtype());
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double v = a.get_double(i);
    if (std::isfinite(v)) a.set_double(i, v * (1 + step * (2 * rng.unit() - 1)));
  }
}

}  // namespace tenon::graph_fuzz
