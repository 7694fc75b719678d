// SPDX-License-Identifier: Apache-2.0
#include "schedule/bounds.h"
#include "schedule/program.h"
#include "templates/families.h"
#include "templates/template.h"

namespace tenon::templates {

namespace {

constexpr Template kTemplates[] = {
    {"winograd", "convolution of 3 taps with fewer multiplications, tiles transformed",
     plan_winograd},
    {"strassen", "large matrix product with constant weights, seven products of quarters",
     plan_strassen},
    {"im2col", "convolution as a product of matrices, windows copied side by side", plan_im2col},
    {"conv_bfloat16", "direct convolution on channels in bfloat16, two products at a time",
     plan_conv_bfloat16},
    {"conv", "direct convolution on blocked channels, register tile of positions x channels",
     plan_conv},
    {"tiled", "direct convolution whose result is stored in tiles of positions", plan_tiled},
    {"depthwise", "depthwise convolution, kernel held in registers", plan_depthwise},
    {"pair", "depthwise convolution and the pointwise one behind it, by blocks of rows", plan_pair},
    {"conv_transpose", "transposed convolution, one nest per parity so that zeros fold away",
     plan_conv_transpose},
    {"matmul_bfloat16", "matrix multiplication in bfloat16, two products at a time",
     plan_matmul_bfloat16},
    {"matmul", "matrix multiplication on packed columns, register tile of rows x vectors",
     plan_matmul},
    {"attention", "two products with work on rows between them, a few rows at a time",
     plan_attention},
    {"contraction", "any other sum of products, vectors along an axis of the second operand",
     plan_contraction},
    {"pool", "windows of positions reduced channel by channel", plan_pool},
    {"rows", "reductions over the last dimension and what is computed from them, row by row",
     plan_rows},
    {"reduce_all", "a reduction to few elements, in parallel vector accumulators", plan_reduce_all},
    {"elementwise", "element-wise and data movement, vectors in parallel", plan_elementwise},
    {"fused", "a reduction and what follows it element by element, in one nest", plan_fused},
    {"plain", "everything else: cheap stages inlined, outer loops parallel", plan_plain},
    {"none", "the definition as it stands", plan_none},
};

bool is_name_char(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

}  // namespace

std::span<const Template> templates() { return kTemplates; }

std::string fill(const std::string& text, const Knobs& knobs) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '$') {
      out += text[i++];
      continue;
    }
    size_t end = i + 1;
    while (end < text.size() && is_name_char(text[end])) ++end;
    const auto it = knobs.find(text.substr(i + 1, end - i - 1));
    TENON_CHECK(it != knobs.end()) << "knob " << text.substr(i, end - i) << " has no value";
    out += std::to_string(it->second);
    i = end;
  }
  return out;
}

namespace {

using Layouts = std::map<std::string, layout::Layout>;

Layouts layouts_of(const schedule::State& s) {
  Layouts out;
  for (const te::Input& in : s.dag().inputs)
    out[in.tensor.name()] = s.stage(s.find(in.tensor.name())).layout;
  for (const te::Tensor& t : s.dag().outputs) out[t.name()] = s.stage(s.find(t.name())).layout;
  return out;
}

// Why the program does not store its edges as asked; empty if it does.
std::string misplaced(const Layouts& have, const Request& request) {
  for (const auto& [name, wanted] : request.fixed) {
    const auto it = have.find(name);
    if (it == have.end() || !layout::same_storage(it->second, wanted))
      return name + " would be stored in another way";
  }
  return "";
}

// Empty if the target accepts the plan's program and its edges are as asked; otherwise why not.
std::string try_plan(const Plan& plan, const schedule::State& initial, const Request& request,
                     Choice* choice) {
  try {
    choice->trace = schedule::parse_trace(fill(plan.text, plan.knobs), initial, "template");
  } catch (const UserError& e) {
    return e.what();  // a shape that this family does not take; the next template does
  }
  const auto state = schedule::replay(initial, choice->trace);
  if (!state) return schedule::render_illegal(initial, state.illegal());
  choice->edges = layouts_of(*state);
  if (std::string why = misplaced(choice->edges, request); !why.empty()) return why;
  const auto bounds = schedule::infer_bounds(*state, -1, schedule::BoundsFor::kSearch);
  if (!bounds) return schedule::render_illegal(*state, bounds.illegal());
  const auto fits = schedule::check_program(*state, *bounds);
  return fits ? "" : schedule::render_illegal(*state, fits.illegal());
}

}  // namespace

Choice choose(const schedule::State& initial, const Request& request) {
  Choice choice;
  for (const Template& t : kTemplates) {
    auto plan = t.plan(initial, request);
    if (!plan) continue;
    const std::string why = try_plan(*plan, initial, request, &choice);
    if (why.empty()) {
      choice.name = t.name;
      choice.flexible = plan->flexible;
      choice.plan = std::move(*plan);
      return choice;
    }
    choice.passed_over.push_back(std::string(t.name) + ": " + why);
  }
  std::string reasons;
  for (const std::string& s : choice.passed_over) reasons += "\n" + s;
  throw InternalError("no template fits" + reasons);
}

}  // namespace tenon::templates
