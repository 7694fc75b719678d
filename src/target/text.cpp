// SPDX-License-Identifier: Apache-2.0
// A target is written as lines: name, architecture, triple, machine, backend, device, kind of part, strings of the part,
// then its numbers and the limits.
#include <fmt/format.h>

#include <limits>
#include <sstream>

#include "support/check.h"
#include "target/target.h"

namespace tenon::target {
namespace {

struct ArchName {
  Arch arch;
  const char* name;
};
constexpr ArchName kArchNames[] = {
    {Arch::kX86_64, "x86_64"}, {Arch::kAArch64, "aarch64"}, {Arch::kNvptx64, "nvptx64"}};

Arch parse_arch(const std::string& text) {
  for (const ArchName& row : kArchNames) {
    if (text == row.name) return row.arch;
  }
  throw UserError(fmt::format("there is no architecture '{}'", text));
}

// The fields of a part, in the order of their text, for writing as for reading.
template <typename C, typename F>
void each_text(C& c, F&& f) requires(std::is_same_v<std::remove_const_t<C>, Cpu>) {
  f(c.processor);
  f(c.features);
}
template <typename G, typename F>
void each_text(G& g, F&& f) requires(std::is_same_v<std::remove_const_t<G>, Gpu>) {
  f(g.processor);
}
template <typename C, typename F>
void each_number(C& c, F&& f) requires(std::is_same_v<std::remove_const_t<C>, Cpu>) {
  f(c.vector_bytes);
  f(c.vector_registers);
  f(c.datapath_bytes);
  f(c.has_fma);
  f(c.cores);
  f(c.l1d_bytes);
  f(c.l2_bytes);
  f(c.l3_bytes);
  f(c.line_bytes);
  f(c.alias_bytes);
  f(c.row_bytes);
  f(c.image_bytes);
  f(c.rates.flops_per_byte);
  f(c.rates.flops_per_cached_byte);
  f(c.rates.bandwidth_per_core);
  f(c.rates.bandwidth_cores);
  f(c.parallel_iterations);
  f(c.parallel_vectors);
  f(c.pieces_per_core);
}
template <typename G, typename F>
void each_number(G& g, F&& f) requires(std::is_same_v<std::remove_const_t<G>, Gpu>) {
  f(g.multiprocessors);
  f(g.warp_threads);
  f(g.threads_per_block);
  f(g.threads_per_multiprocessor);
  f(g.registers_per_thread);
  f(g.registers_per_multiprocessor);
  f(g.shared_bytes_per_block);
  f(g.shared_bytes_per_multiprocessor);
  f(g.l2_bytes);
  f(g.line_bytes);
}

template <typename L, typename F>
void each_limit(L& l, F&& f) {
  f(l.lanes);
  f(l.unrolled_loops);
  f(l.unrolled_program);
  f(l.local_bytes);
  f(l.fused_weights_bytes);
  f(l.fused_row_bytes);
  f(l.channel_block);
  f(l.fused_attention);
}

template <typename Part>
Part read_part(std::istringstream& in) {
  Part part;
  each_text(part, [&](std::string& field) { std::getline(in, field); });
  each_number(part, [&](auto& field) { in >> field; });
  return part;
}

}  // namespace

std::string to_text(const Target& t) {
  std::ostringstream out;
  out.precision(std::numeric_limits<double>::max_digits10);
  const char* arch = "";
  for (const ArchName& row : kArchNames) {
    if (row.arch == t.arch) arch = row.name;
  }
  out << fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n", t.name, arch, t.triple, t.machine, t.backend,
                     t.device, t.is_cpu() ? "cpu" : "gpu");
  std::visit(
      [&](const auto& part) {
        each_text(part, [&](const std::string& field) { out << field << "\n"; });
        each_number(part, [&](auto field) { out << field << " "; });
      },
      t.part);
  each_limit(t.limits, [&](int64_t field) { out << field << " "; });
  return out.str();
}

Target target_from_text(const std::string& text) {
  std::istringstream in(text);
  Target t;
  std::string arch, kind;
  for (std::string* field : {&t.name, &arch, &t.triple, &t.machine, &t.backend, &t.device, &kind})
    std::getline(in, *field);
  t.arch = parse_arch(arch);
  if (kind == "cpu") {
    t.part = read_part<Cpu>(in);
  } else if (kind == "gpu") {
    t.part = read_part<Gpu>(in);
  } else {
    throw UserError(fmt::format("there is no kind of machine '{}'", kind));
  }
  each_limit(t.limits, [&](int64_t& field) { in >> field; });
  if (!in) throw UserError(fmt::format("not a target: {}", text));
  return t;
}

}  // namespace tenon::target
