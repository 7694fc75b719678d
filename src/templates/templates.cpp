// SPDX-License-Identifier: Apache-2.0
#include "schedule/bounds.h"
#include "schedule/program.h"
#include "templates/template.h"

namespace tenon::templates {

std::optional<Written> write_winograd(space::Builder& b, const Request& request);
std::optional<Written> write_strassen(space::Builder& b, const Request& request);
std::optional<Written> write_im2col(space::Builder& b, const Request& request);
std::optional<Written> write_conv(space::Builder& b, const Request& request);
std::optional<Written> write_tiled(space::Builder& b, const Request& request);
std::optional<Written> write_conv_bfloat16(space::Builder& b, const Request& request);
std::optional<Written> write_conv_integer(space::Builder& b, const Request& request);
std::optional<Written> write_depthwise(space::Builder& b, const Request& request);
std::optional<Written> write_pair(space::Builder& b, const Request& request);
std::optional<Written> write_conv_transpose(space::Builder& b, const Request& request);
std::optional<Written> write_dots(space::Builder& b, const Request& request);
std::optional<Written> write_matmul(space::Builder& b, const Request& request);
std::optional<Written> write_matmul_bfloat16(space::Builder& b, const Request& request);
std::optional<Written> write_matmul_integer(space::Builder& b, const Request& request);
std::optional<Written> write_attention(space::Builder& b, const Request& request);
std::optional<Written> write_contraction(space::Builder& b, const Request& request);
std::optional<Written> write_columns(space::Builder& b, const Request& request);
std::optional<Written> write_pool(space::Builder& b, const Request& request);
std::optional<Written> write_rows(space::Builder& b, const Request& request);
std::optional<Written> write_reduce_all(space::Builder& b, const Request& request);
std::optional<Written> write_elementwise(space::Builder& b, const Request& request);
std::optional<Written> write_fused(space::Builder& b, const Request& request);
std::optional<Written> write_plain(space::Builder& b, const Request& request);
std::optional<Written> write_none(space::Builder& b, const Request& request);
std::optional<Written> write_gpu_winograd(space::Builder& b, const Request& request);
std::optional<Written> write_gpu_attention(space::Builder& b, const Request& request);
std::optional<Written> write_gpu_contraction(space::Builder& b, const Request& request);
std::optional<Written> write_gpu_windows(space::Builder& b, const Request& request);
std::optional<Written> write_gpu_sums(space::Builder& b, const Request& request);
std::optional<Written> write_gpu_rows(space::Builder& b, const Request& request);
std::optional<Written> write_gpu_elements(space::Builder& b, const Request& request);
std::optional<Written> write_gpu_none(space::Builder& b, const Request& request);

namespace {

constexpr Template kTemplates[] = {
    {"winograd", "convolution of 3 taps with fewer multiplications, tiles transformed",
     write_winograd},
    {"strassen", "large matrix product with constant weights, seven products of quarters",
     write_strassen},
    {"im2col", "convolution as a product of matrices, windows copied side by side", write_im2col},
    {"conv_bfloat16", "direct convolution on channels in bfloat16, two products at a time",
     write_conv_bfloat16},
    {"conv_integer", "direct convolution on channels of 8 bits, four products at a time",
     write_conv_integer},
    {"conv", "direct convolution on blocked channels, register tile of positions x channels",
     write_conv},
    {"tiled", "direct convolution whose result is stored in tiles of positions", write_tiled},
    {"depthwise", "depthwise convolution, kernel held in registers", write_depthwise},
    {"pair", "depthwise convolution and the pointwise one behind it, by blocks of rows",
     write_pair},
    {"conv_transpose", "transposed convolution, one nest per parity so that zeros fold away",
     write_conv_transpose},
    {"matmul_bfloat16", "matrix multiplication in bfloat16, two products at a time",
     write_matmul_bfloat16},
    {"matmul_integer", "matrix multiplication in 8 bits, four products at a time",
     write_matmul_integer},
    {"dots", "matrix multiplication to few columns, vectors along the sum", write_dots},
    {"matmul", "matrix multiplication on packed columns, register tile of rows x vectors",
     write_matmul},
    {"attention", "two products with work on rows between them, a few rows at a time",
     write_attention},
    {"contraction", "any other sum of products, vectors along an axis of the second operand",
     write_contraction},
    {"columns", "a reduction of other dimensions than the last, vectors along that", write_columns},
    {"pool", "windows of positions reduced channel by channel", write_pool},
    {"rows", "reductions over the last dimension and what is computed from them, row by row",
     write_rows},
    {"reduce_all", "a reduction to few elements, in parallel vector accumulators",
     write_reduce_all},
    {"elementwise", "element-wise and data movement, vectors in parallel", write_elementwise},
    {"fused", "a reduction and what follows it element by element, in one nest", write_fused},
    {"plain", "everything else: cheap stages inlined, outer loops parallel", write_plain},
    {"none", "the definition as it stands", write_none},
};

constexpr Template kGpuTemplates[] = {
    {"gpu_winograd", "convolution of 3 taps with fewer multiplications, tiles transformed",
     write_gpu_winograd},
    {"gpu_attention", "two products with work on rows between them, some rows for each block",
     write_gpu_attention},
    {"gpu_contraction", "products and convolutions, tiles in shared memory and registers",
     write_gpu_contraction},
    {"gpu_windows", "windows over positions channel by channel, a few neighbours for each thread",
     write_gpu_windows},
    {"gpu_sums", "a matrix times a vector and other long sums, a few threads for each",
     write_gpu_sums},
    {"gpu_rows", "reductions of rows and what is computed from them, some threads for each row",
     write_gpu_rows},
    {"gpu_elements", "everything else, an element for each thread", write_gpu_elements},
    {"gpu_none", "the definition as it stands, by one thread", write_gpu_none},
};

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

// Empty if the target accepts the program and its edges are as asked; otherwise why not.
std::string why_not(const space::Builder& b, const Request& request) {
  const schedule::State& s = b.state();
  if (b.refused()) return schedule::render_illegal(s, *b.why());
  if (std::string why = misplaced(layouts_of(s), request); !why.empty()) return why;
  const auto bounds = schedule::infer_bounds(s, -1, schedule::BoundsFor::kSearch);
  if (!bounds) return schedule::render_illegal(s, bounds.illegal());
  const auto fits = schedule::check_program(s, *bounds);
  return fits ? "" : schedule::render_illegal(s, fits.illegal());
}

}  // namespace

std::span<const Template> templates(const target::Target& t) {
  return t.is_cpu() ? std::span<const Template>(kTemplates) : kGpuTemplates;
}

Choice choose(const schedule::State& initial, const Request& request) {
  Choice choice;
  for (const Template& t : templates(initial.target())) {
    space::ByRule rule;
    space::Builder b(initial, rule);
    const auto written = t.write(b, request);
    if (!written) continue;
    const std::string why = why_not(b, request);
    if (!why.empty()) {
      choice.passed_over.push_back(std::string(t.name) + ": " + why);
      continue;
    }
    choice.name = t.name;
    choice.flexible = written->flexible;
    choice.edges = layouts_of(b.state());
    choice.trace = b.take_trace();
    choice.choices = b.take_choices();
    return choice;
  }
  std::string reasons;
  for (const std::string& s : choice.passed_over) reasons += "\n" + s;
  throw InternalError("no template fits" + reasons);
}

}  // namespace tenon::templates
