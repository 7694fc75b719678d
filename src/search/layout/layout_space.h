// SPDX-License-Identifier: Apache-2.0
// The layouts that may be tried for a task: tile sizes of the templates of Xu et al., "ALT", for the tensors at the edge
// of a convolution or a matrix product. A point of the space is one size for each factor.
//
//   conv N C H W -> N O H W    output N H/h_t W/w_t O/o_t h_t w_t o_t    input N H/.. W/.. I/i_t .. .. i_t
//     h_t = H, w_t = W, o_t = 16     N O/16 H W 16
//     h_t = H, w_t = W, o_t = O      N H W O
//     x_t = 0: the input's positions are not cut; 1: into tiles as large as what an output tile steps over;
//           2: into all that an output tile reads, with copies where these overlap
//   matmul M K, K N -> M N       output M/m_t N/n_t m_t n_t    inputs M/m_t K/k_t m_t k_t and K/k_t N/n_t k_t n_t
//
// A point says how edges are stored, task::make_task makes the task of it, and search::make_space the loops for that:
// nothing found for one layout is taken for another. Constants are laid out by the loop spaces.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "layout/layout.h"
#include "search/layout/roles.h"
#include "support/result.h"
#include "target/target.h"
#include "te/dag.h"

namespace tenon::search {

struct LayoutFactor {
  std::string name;
  int64_t extent;  // of what is cut
  std::vector<int64_t>
      choices;  // ascending; divisors, and others that round the extent up to less than twice
  TileKind kind = TileKind::kSpatial;
};

class LayoutSpace {
 public:
  using Point = std::vector<int64_t>;  // by factor
  using Edges = std::map<std::string, layout::Layout>;

  const std::vector<LayoutFactor>& factors() const { return factors_; }
  // How the edges are stored, as task::Task has them: inputs that are not constant, and outputs. Refused: the point is
  // not of this space, or tensors would grow more than 4 times. Two points that mean the same give the same text.
  Result<Edges> edges(const Point& p) const;
  // Known to be good somewhere, the one that templates wish for first: row-major, channels last, blocks of a vector
  // and of half of it, .. All are legal and mean different layouts.
  const std::vector<Point>& seeds() const { return seeds_; }
  // "h_t=56 w_t=56 o_t=16 i_t=16 x_t=0"
  std::string text(const Point& p) const;
  // What an agent may know of the operator and the machine; always kLayoutContextSize numbers of about 0 to 2.
  const std::vector<double>& context() const { return context_; }

 private:
  friend class LayoutSpaceMaker;

  Result<layout::Layout> layout_of(const Edge& e, const Point& p) const;

  std::vector<LayoutFactor> factors_;
  std::vector<Edge> free_;      // edges that factors decide; EdgeDim::tile is a factor
  std::optional<size_t> halo_;  // the factor x_t
  Edges others_;                // all other edges
  std::map<std::string, std::map<std::string, layout::Layout>>
      spelled_;  // by edge and our text of it: how templates write the same layout
  std::vector<Point> seeds_;
  std::vector<double> context_;
};
inline constexpr size_t kLayoutContextSize = kContextSize + 5;

// Nothing for GPUs, whose templates say how edges lie, for dags without a complex operator, or where
// `fixed` (edges that are stored as they are) leaves nothing to choose. An image may be asked to hold
// elements more than once: a conversion for this reader writes it then.
std::optional<LayoutSpace> make_layout_space(
    const te::ComputeDag& dag, const target::Target& t,
    const std::map<std::string, layout::Layout>& fixed = {});

}  // namespace tenon::search
