// SPDX-License-Identifier: Apache-2.0
#include "history/likeness.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include "history/reduction.h"

namespace tenon::history {
namespace {

constexpr size_t kMostReductions = 8;

// What a doubling of a size counts. Names end in the number of the dimension; those that are not here count 1.
struct Weight {
  std::string_view name;
  double weight;
};
constexpr Weight kWeights[] = {
    {"kernel", 3},      // what is read again, and which algorithms there are
    {"stride", 2},      //
    {"dilation", 1.5},  //
    {"in-dims", 4},     // dimensions that a layout adds: the loops are others then
    {"out-dims", 4},    //
    {"in-order", 4},    //
    {"out-order", 4},   //
    {"after", 0.25},    // element-wise ops around the work
    {"before", 0.25},   //
    {"vector", 2},      //
    {"cores", 0.5},     //
};

double weight_of(std::string_view name) {
  if (const size_t dot = name.find('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  for (const Weight& w : kWeights) {
    if (w.name == name) return w.weight;
  }
  return 1;
}

class Describer {
 public:
  explicit Describer(const task::Task& t) : task_(t), dag_(*t.dag) {}

  Likeness run() {
    std::vector<const te::ComputeOp*> reductions;
    for (const te::OpRef& op : dag_.ops) {
      if (op->is_reduction() && reductions.size() < kMostReductions) reductions.push_back(op.get());
    }
    for (size_t i = 0; i < reductions.size(); ++i) {
      add(reduction_of(dag_, *reductions[i]),
          reductions.size() > 1 ? std::to_string(i) + "." : std::string());
    }
    if (reductions.empty()) add_elementwise();
    add_neighbours();
    add_edges();
    add_target();
    return std::move(out_);
  }

 private:
  void set(const std::string& name, int64_t size) {
    if (size > 1) out_.sizes[name] = size;
  }

  void add(const Reduction& r, const std::string& prefix) {
    out_.kind += (out_.kind.empty() ? "" : "_") + r.kind;
    set(prefix + "rows", r.rows);
    set(prefix + "columns", r.columns);
    set(prefix + "shared", r.shared);
    set(prefix + "depth", r.depth);
    set(prefix + "groups", r.groups);
    for (size_t w = 0; w < r.windows.size(); ++w) {
      const std::string number = std::to_string(w);
      set(prefix + "y" + number, r.windows[w].extent);
      set(prefix + "kernel" + number, r.windows[w].kernel);
      set(prefix + "stride" + number, r.windows[w].stride);
      set(prefix + "dilation" + number, r.windows[w].dilation);
    }
  }

  void add_elementwise() {
    const te::ComputeOp& op = anchor_of(dag_);
    out_.kind = "map" + std::to_string(op.axes.size()) + "." + ir::to_string(op.output.dtype());
    for (size_t a = 0; a < op.axes.size(); ++a) set("y" + std::to_string(a), op.axes[a].extent);
    set("inputs", std::ssize(dag_.inputs));
  }

  void add_neighbours() {
    const te::ComputeOp& anchor = anchor_of(dag_);
    int64_t before = 0;
    int64_t after = 0;
    bool passed = false;
    for (const te::OpRef& op : dag_.ops) {
      passed = passed || op.get() == &anchor;
      if (op.get() != &anchor && !op->is_reduction()) ++(passed ? after : before);
    }
    set("before", 1 + before);
    set("after", 1 + after);
  }

  // The first input that is not constant, and the first output.
  void add_edges() {
    for (const te::Input& in : dag_.inputs) {
      if (in.constant) continue;
      add_edge("in", in.tensor.name());
      break;
    }
    if (!dag_.outputs.empty()) add_edge("out", dag_.outputs[0].name());
  }

  void add_edge(const std::string& which, const std::string& tensor) {
    const auto it = task_.edges.find(tensor);
    if (it == task_.edges.end() || it->second.is_identity()) return;
    const layout::Layout& l = it->second;
    const auto more = std::ssize(l.storage_shape()) - std::ssize(l.logical_shape());
    if (more > 0) {
      set(which + "-dims", 1 + more);
      set(which + "-block", l.storage_shape().back());
    } else {
      set(which + "-order", 2);
    }
  }

  void add_target() {
    if (!task_.target->is_cpu()) {
      out_.kind += "@gpu";
      return;
    }
    set("vector", task_.target->cpu().vector_bytes);
    set("cores", task_.target->cpu().cores);
  }

  const task::Task& task_;
  const te::ComputeDag& dag_;
  Likeness out_;
};

double doublings(int64_t a, int64_t b) {
  return std::abs(std::log2(static_cast<double>(a)) - std::log2(static_cast<double>(b)));
}

}  // namespace

Likeness likeness_of(const task::Task& t) { return Describer(t).run(); }

double distance(const Likeness& a, const Likeness& b) {
  if (a.kind != b.kind) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const auto& [name, size] : a.sizes) {
    const auto other = b.sizes.find(name);
    sum += weight_of(name) * doublings(size, other == b.sizes.end() ? 1 : other->second);
  }
  for (const auto& [name, size] : b.sizes) {
    if (!a.sizes.contains(name)) sum += weight_of(name) * doublings(size, 1);
  }
  return sum;
}

std::string to_text(const Likeness& l) {
  std::string out = l.kind;
  for (const auto& [name, size] : l.sizes) out += " " + name + "=" + std::to_string(size);
  return out;
}

std::optional<Likeness> parse_likeness(std::string_view text) {
  std::istringstream words{std::string(text)};
  Likeness out;
  if (!(words >> out.kind) || out.kind.find('=') != std::string::npos) return std::nullopt;
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    int64_t size = 0;
    if (equals == std::string::npos || equals == 0) return std::nullopt;
    const char* end = word.data() + word.size();
    const auto [at, error] = std::from_chars(word.data() + equals + 1, end, size);
    if (error != std::errc() || at != end || size < 1) return std::nullopt;
    if (!out.sizes.emplace(word.substr(0, equals), size).second) return std::nullopt;
  }
  return out;
}

}  // namespace tenon::history
