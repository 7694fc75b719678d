// SPDX-License-Identifier: Apache-2.0
#include "task/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <cmath>
#include <cstdlib>

#include "support/check.h"
#include "support/hash.h"
#include "te/access.h"
#include "te/text.h"

namespace tenon::task {
namespace {

double bytes_moved(const te::ComputeDag& dag) {
  double total = 0;
  const auto add = [&](const te::Tensor& t) {
    double n = static_cast<double>(t.dtype().bytes());
    for (const int64_t e : t.shape()) n *= static_cast<double>(e);
    total += n;
  };
  for (const te::Input& in : dag.inputs) add(in.tensor);
  for (const te::Tensor& t : dag.outputs) add(t);
  return total;
}

// What each reduction of the dag is like: its rank, how many axes it sums over, and whether operands are reused.
std::string shape_of_work(const te::ComputeDag& dag) {
  std::string text;
  for (const te::OpRef& op : dag.ops) {
    if (!op->is_reduction()) continue;
    text += fmt::format("{}{}r{}", te::has_data_reuse(*op) ? "p" : "s", op->axes.size(),
                        op->reduce_axes.size());
  }
  return text.empty() ? "e" : text;
}

std::string tag_of(const te::ComputeDag& dag, double flops) {
  const int magnitude = static_cast<int>(std::log(flops + 1) / std::log(1.618));
  return fmt::format("{} {}", shape_of_work(dag), magnitude);
}

std::string label_of(const te::ComputeDag& dag) {
  std::string text;
  for (const te::OpRef& op : dag.ops) {
    if (op->name().find('.') != std::string::npos) continue;  // a stage of another op
    text += (text.empty() ? "" : " ") + op->name();
  }
  return text;
}

const te::Tensor* find_edge(const te::ComputeDag& dag, const std::string& name) {
  for (const te::Input& in : dag.inputs) {
    if (in.tensor.name() == name) return &in.tensor;
  }
  for (const te::Tensor& t : dag.outputs) {
    if (t.name() == name) return &t;
  }
  return nullptr;
}

schedule::Step layout_step(schedule::StageRef stage, const layout::LayoutStep& step,
                           const schedule::State& s) {
  // By way of text: a step of a layout is written like the primitive that makes it.
  const std::string name = s[stage].name;
  std::string args;
  switch (step.op) {
    case layout::LayoutOp::kSplit:
      args = fmt::format("{} [{}]", step.dim, fmt::join(step.args, ", "));
      break;
    case layout::LayoutOp::kReorder:
      args = fmt::format("[{}]", fmt::join(step.args, ", "));
      break;
    default:
      args = fmt::format("{} {}", step.dim, fmt::join(step.args, " "));
  }
  return schedule::parse_step(
      fmt::format("layout_{} {} {}", layout::to_string(step.op), name, args), s);
}

}  // namespace

std::string edges_text(const std::map<std::string, layout::Layout>& edges) {
  std::string text;
  for (const auto& [name, l] : edges) {
    if (!l.is_identity()) text += fmt::format("{}: {}\n", name, layout::to_string(l));
  }
  return text;
}

std::map<std::string, layout::Layout> parse_edges(const std::string& text,
                                                  const te::ComputeDag& dag) {
  std::map<std::string, layout::Layout> edges;
  for (const te::Input& in : dag.inputs) {
    if (!in.constant) edges.emplace(in.tensor.name(), layout::Layout(in.tensor.shape()));
  }
  for (const te::Tensor& t : dag.outputs) edges.emplace(t.name(), layout::Layout(t.shape()));
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const size_t colon = line.find(": ");
    const te::Tensor* t =
        colon == std::string::npos ? nullptr : find_edge(dag, line.substr(0, colon));
    if (t == nullptr) throw UserError("edges: \"" + line + "\" names no input or output");
    edges.insert_or_assign(t->name(), layout::parse_layout(line.substr(colon + 2), t->shape()));
  }
  return edges;
}

std::string text_without_scalars(const std::string& te) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_word = [&](char c) { return is_digit(c) || std::isalpha(c) || c == '_'; };
  std::string out;
  for (size_t at = 0; at < te.size();) {
    const bool inside = at > 0 && (is_word(te[at - 1]) || te[at - 1] == '.');
    if (inside || !is_digit(te[at])) {
      out += te[at++];
      continue;
    }
    size_t end = at;
    while (end < te.size() && (is_digit(te[end]) || te[end] == '.' || te[end] == 'e' ||
                               ((te[end] == '-' || te[end] == '+') && te[end - 1] == 'e'))) {
      ++end;
    }
    const std::string number = te.substr(at, end - at);
    const bool real = number.find_first_of(".e") != std::string::npos;
    const double value = real ? std::strtod(number.c_str(), nullptr) : 0;
    out += real && value != 0 && value != 1 ? "_" : number;
    at = end;
  }
  return out;
}

std::string key_of(const te::ComputeDag& dag) {
  return fmt::format("{:016x}", Hasher().add(text_without_scalars(te::to_text(dag))).value());
}

Task make_task(std::shared_ptr<const te::ComputeDag> dag,
               std::map<std::string, layout::Layout> edges,
               std::shared_ptr<const target::Target> target) {
  Task t;
  const std::string te = te::to_text(*dag), lies = edges_text(edges);
  t.key = fmt::format("{:016x}", Hasher().add(text_without_scalars(te) + lies).value());
  t.exact_key = fmt::format("{:016x}", Hasher().add(te + lies).value());
  t.label = label_of(*dag);
  t.flops = te::flops(*dag);
  t.bytes = bytes_moved(*dag);
  t.tag = tag_of(*dag, t.flops);
  t.dag = std::move(dag);
  t.edges = std::move(edges);
  t.target = std::move(target);
  return t;
}

namespace {

// Empty, or why a step is refused.
std::string add_edge_steps(const Task& t, schedule::Trace& trace) {
  schedule::State s(t.dag, t.target);
  for (const auto& [name, l] : t.edges) {
    const schedule::StageId stage = s.find(name);
    TENON_CHECK(stage >= 0) << name << " is no stage of the task";
    for (const layout::LayoutStep& step : l.steps()) {
      trace.push_back(layout_step(schedule::StageRef{stage}, step, s));
      auto next = schedule::replay(s, {trace.back()});
      if (!next) return schedule::render_illegal(s, next.illegal());
      s = std::move(next.value());
    }
  }
  return "";
}

}  // namespace

schedule::Trace edge_steps(const Task& t) {
  schedule::Trace trace;
  const std::string why = add_edge_steps(t, trace);
  TENON_CHECK(why.empty()) << why;
  return trace;
}

std::string why_not_stored(const Task& t) {
  schedule::Trace trace;
  return add_edge_steps(t, trace);
}

schedule::State start(const Task& t) {
  const schedule::State initial(t.dag, t.target);
  auto s = schedule::replay(initial, edge_steps(t));
  TENON_CHECK(bool(s)) << schedule::render_illegal(initial, s.illegal());
  return std::move(s.value());
}

std::string changed_edge(const Task& t, const schedule::State& s) {
  for (const auto& [name, l] : t.edges) {
    const schedule::StageId stage = s.find(name);
    if (stage < 0 || !layout::same_storage(s.stage(stage).layout, l)) return name;
  }
  return "";
}

}  // namespace tenon::task
