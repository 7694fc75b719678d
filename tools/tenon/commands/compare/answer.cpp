// SPDX-License-Identifier: Apache-2.0
// What `tenon compare` prints.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>

#include "tools/tenon/commands/compare/parts.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

// JSON has no infinity.
Json number(double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); }

Json to_json(const ir::Difference& d) {
  return {{"passes", d.passes()},
          {"elements", d.elements},
          {"failing", d.failing},
          {"nan", d.nan},
          {"finite", d.finite},
          {"max_abs", number(d.max_abs)},
          {"largest", d.largest},
          {"rtol", d.rtol},
          {"atol", d.atol},
          {"passing_atol", number(d.passing_atol)},
          {"passing_rtol", number(d.passing_rtol)}};
}

Json to_json(const Compared& c, const std::optional<Bisected>& b) {
  Json outputs = Json::array();
  for (size_t i = 0; i < c.differences.size(); ++i) {
    Json output = {{"name", c.tensors[i].name},
                   {"dtype", ir::to_string(c.tensors[i].dtype)},
                   {"shape", c.tensors[i].shape}};
    output.update(to_json(c.differences[i]));
    outputs.push_back(output);
  }
  Json answer = {{"schema", "tenon.compare/1"},
                 {"reference", c.reference},
                 {"passes", c.passes()},
                 {"outputs", outputs}};
  if (b) {
    answer["bisect"] = {{"nodes", b->nodes},
                        {"steps", b->steps},
                        {"peak_bytes", peak_bytes()},
                        {"node", b->node.empty() ? Json(nullptr) : Json(b->node)},
                        {"difference", b->difference ? to_json(*b->difference) : Json(nullptr)}};
  }
  return answer;
}

std::string to_text(const artifact::TensorInfo& t, const ir::Difference& d) {
  std::string text =
      fmt::format("output   \"{}\" {} {}  max|d| {:.3g} of {:.3g}  {} rtol={:.3g} atol={:.3g}",
                  escaped(t.name), ir::to_string(t.dtype), shape_text(t.shape), d.max_abs,
                  d.largest, d.passes() ? "pass" : "FAIL", d.rtol, d.atol);
  text +=
      fmt::format("   would pass at atol={:.3g} or rtol={:.3g}\n", d.passing_atol, d.passing_rtol);
  if (d.nan > 0) {
    text += fmt::format("         {} of {} elements are NaN, in the reference too\n",
                        grouped(d.nan), grouped(d.elements));
  }
  if (!d.decides()) {
    text +=
        "         there is nothing to compare: the reference has no finite number here; give "
        "inputs "
        "with --inputs for which it has\n";
  }
  if (!d.matches()) {
    text += fmt::format(
        "         {} of {} elements differ; worst at {}: {:.6g}, reference {:.6g}\n",
        grouped(d.failing), grouped(d.elements), d.worst, d.worst_got, d.worst_reference);
  }
  return text;
}

std::string to_text(const Compared& c, const std::optional<Bisected>& b) {
  std::string text = fmt::format("against  {}\n", escaped(c.reference));
  for (size_t i = 0; i < c.differences.size(); ++i) {
    text += to_text(c.tensors[i], c.differences[i]);
  }
  if (!b) {
    return text;
  }
  text += fmt::format("bisect   {}, {}, peak {}\n", counted(b->nodes, "node"),
                      counted(b->steps, "step"), bytes_text(static_cast<double>(peak_bytes())));
  return text +
         (b->node.empty()
              ? "first    no node differs when the model is cut there\n"
              : fmt::format("first    {} ({}): {} of {} elements differ, max|d| {:.3g} of {:.3g}\n",
                            escaped(b->node), escaped(b->label), grouped(b->difference->failing),
                            grouped(b->difference->elements), b->difference->max_abs,
                            b->difference->largest));
}

}  // namespace

std::string answer_text(const Compared& c, const std::optional<Bisected>& b, bool as_json) {
  return as_json ? tools::to_text(to_json(c, b)) : to_text(c, b);
}

}  // namespace tenon::tools
