// SPDX-License-Identifier: Apache-2.0
// Products of matrices.
#include "graph_fuzz/rows.h"

namespace tenon::graph_fuzz {
namespace {

constexpr Range kSmall{-30, 30, false};

Drawn small_operand(Draft& d, Types types, int64_t rank_low, int64_t rank_high) {
  return d.pick(
      types,
      [&](const Drawn& v) {
        return v.data.elements() > 0 && v.rank() >= rank_low && v.rank() <= rank_high &&
               bounded(v.data, kSmall.low, kSmall.high);
      },
      [&] { return d.leaf(d.type_among(types), d.shape(rank_low, rank_high)); });
}

// One of this shape, computed before or new.
Drawn of_shape(Draft& d, ir::DType t, const Shape& s) {
  const auto suits = [&](const Drawn& v) { return v.shape() == s && bounded(v.data, -30, 30); };
  return d.pick(set_of(t), suits, [&] { return d.leaf(t, s); });
}

bool matmul(Draft& d, const Row& row) {
  const Drawn a = small_operand(d, row.types, 1, 4);
  Shape s{a.extent(a.rank() - 1), d.rng().between(1, 17)};
  if (d.rng().chance(0.15)) s.pop_back();
  for (int64_t i = a.rank() - 3; i >= 0 && s.size() > 1 && d.rng().chance(0.5); --i) {
    s.insert(s.begin(), d.rng().chance(0.7) ? a.extent(i) : 1);
  }
  return d.node(row.name(), {a.name, of_shape(d, a.type(), s).name});
}

bool gemm(Draft& d, const Row& row) {
  const Drawn a = small_operand(d, row.types, 2, 2);
  const bool ta = d.rng().chance(0.3), tb = d.rng().chance(0.4);
  const int64_t m = a.extent(ta ? 1 : 0), k = a.extent(ta ? 0 : 1), n = d.rng().between(1, 17);
  Names in{a.name, of_shape(d, a.type(), tb ? Shape{n, k} : Shape{k, n}).name};
  if (d.opset() < 11 || d.rng().chance(0.7)) {
    static const std::vector<int> kForms = {0, 1, 2, 3, 4};
    const int form = d.rng().pick(kForms);
    const Shape c = form == 0   ? Shape{n}
                    : form == 1 ? Shape{m, n}
                    : form == 2 ? Shape{m, 1}
                    : form == 3 ? Shape{}
                                : Shape{1, n};
    in.push_back(of_shape(d, a.type(), c).name);
  }
  Attributes attributes{{"transA", int64_t{ta}}, {"transB", int64_t{tb}}};
  if (a.type().is_float() && d.rng().chance(0.3)) attributes.emplace_back("alpha", 0.5F);
  if (a.type().is_float() && d.rng().chance(0.3)) attributes.emplace_back("beta", 2.0F);
  return d.node(row.name(), in, attributes);
}

struct Equation {
  std::string text;
  std::vector<std::string> operands;
};

// Letters stand for the same extent in all operands.
bool einsum(Draft& d, const Row& row) {
  static const std::vector<Equation> kEquations = {{"ij,jk->ik", {"ij", "jk"}},
                                                   {"bij,bjk->bik", {"bij", "bjk"}},
                                                   {"ij->ji", {"ij"}},
                                                   {"ij->i", {"ij"}},
                                                   {"i,i->", {"i", "i"}},
                                                   {"i,j->ij", {"i", "j"}},
                                                   {"bhid,bhjd->bhij", {"bhid", "bhjd"}},
                                                   {"ij,ij->j", {"ij", "ij"}},
                                                   {"ii->i", {"ii"}},
                                                   {"ij,jk,kl->il", {"ij", "jk", "kl"}}};
  const Equation& e = d.rng().pick(kEquations);
  std::map<char, int64_t> extents;
  for (const char c : std::string("bdhijkl")) extents[c] = d.rng().between(1, 6);
  const ir::DType t = d.type_among(row.types);
  Names in;
  for (const std::string& letters : e.operands) {
    Shape s;
    for (const char c : letters) s.push_back(extents[c]);
    in.push_back(of_shape(d, t, s).name);
  }
  return d.node(row.name(), in, {{"equation", e.text}});
}

bool det(Draft& d, const Row& row) {
  const int64_t n = d.rng().between(1, 4);
  Shape s{n, n};
  if (d.rng().chance(0.5)) s.insert(s.begin(), d.rng().between(1, 3));
  return d.node(row.name(), {of_shape(d, d.type_among(row.types), s).name});
}

const Row kLinearRows[] = {
    {"Det", 11, 21, kF32 | kF64, det}, {"Einsum", 12, 21, kFloats | kWide, einsum},
    {"Gemm", 7, 8, kFloats, gemm},     {"Gemm", 9, 21, kFloats | kWide, gemm},
    {"MatMul", 7, 8, kFloats, matmul}, {"MatMul", 9, 21, kFloats | kWide, matmul},
    {"MatMul", 7, 21, kF32, matmul},
};

}  // namespace

std::span<const Row> rows_linear() { return kLinearRows; }

}  // namespace tenon::graph_fuzz
