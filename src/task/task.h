// SPDX-License-Identifier: Apache-2.0
// The vocabulary of tuning: what is tuned (Task), what is tried (a trace), what came of it (Measurement).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "layout/layout.h"
#include "schedule/trace.h"

namespace tenon::task {

// One kernel to be made fast: what it computes, how the tensors at its edges are stored, and for which machine.
struct Task {
  std::shared_ptr<const te::ComputeDag> dag;
  std::map<std::string, layout::Layout> edges;  // of inputs that are not constant, and of outputs
  std::shared_ptr<const target::Target> target;
  // 16 hex digits of what is computed and of the edges; what records and lock files go by. Tasks that differ in an
  // inlined scalar alone are equal: a schedule of one serves the other.
  std::string key;
  std::string exact_key;  // the same with scalars, as tenon's first records and lock files have it
  std::string label;      // "conv bias relu", for people
  std::string
      tag;  // tasks of one tag are alike: kinds of ops and the order of magnitude of the work
  double flops = 0;
  double bytes = 0;  // read and written at least once
};
// The text of a dag with `_` for each inlined scalar. Those that change what is computed stay: 0, 1, infinities and NaN.
//
//   y[i: 8] = max(x[i] * 0.125, 0.0)   =>   y[i: 8] = max(x[i] * _, 0.0)
std::string text_without_scalars(const std::string& te);

// 16 hex digits of what a dag computes, whatever its scalars and layouts.
std::string key_of(const te::ComputeDag& dag);

Task make_task(std::shared_ptr<const te::ComputeDag> dag,
               std::map<std::string, layout::Layout> edges,
               std::shared_ptr<const target::Target> target);

// Bytes that the conversion of a tensor's layout is taken to read and write in a second, while
// nobody measured it.
inline constexpr double kConvertedBytesPerS = 8e9;

// Edges as text, one line per tensor that is not row-major, and back; part of the key.
std::string edges_text(const std::map<std::string, layout::Layout>& edges);
std::map<std::string, layout::Layout> parse_edges(const std::string& text,
                                                  const te::ComputeDag& dag);

// The layout steps that store the edges as asked: what every trace made for the task begins with.
schedule::Trace edge_steps(const Task& t);
// Why there are no such steps; empty: there are. Only edges that somebody wrote down need to be asked about.
std::string why_not_stored(const Task& t);
// The state after them.
schedule::State start(const Task& t);
// The first edge that the trace's program stores otherwise than asked (layout::same_storage); empty: none.
std::string changed_edge(const Task& t, const schedule::State& s);
inline bool keeps_edges(const Task& t, const schedule::State& s) {
  return changed_edge(t, s).empty();
}

}  // namespace tenon::task
