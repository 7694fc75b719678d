// SPDX-License-Identifier: Apache-2.0
#include "lower/lower.h"

#include "lower/emit.h"
#include "schedule/program.h"

namespace tenon::lower {

namespace {

using schedule::Stage;
using schedule::StageId;

const Stage& output_stage(const schedule::State& s, const te::Tensor& t) {
  for (size_t i = 0; i < s.dag().ops.size(); ++i) {
    if (s.dag().ops[i]->output.same_as(t))
      return s.stage(static_cast<StageId>(s.dag().inputs.size() + i));
  }
  throw InternalError("output " + t.name() + " is not computed");
}

// The slab of `guest` written behind the host's own elements along `dim`.
ir::Array with_guest(const ir::Array& host, const ir::Array& guest, size_t dim) {
  std::vector<int64_t> shape = host.shape();
  shape[dim] += 1;
  ir::Array out(host.dtype(), shape);
  int64_t inner = 1;
  for (size_t d = dim + 1; d < shape.size(); ++d) inner *= shape[d];
  const int64_t outer = guest.elements() / inner;
  const int64_t rows = host.shape()[dim];
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t r = 0; r <= rows; ++r) {
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t to = (o * (rows + 1) + r) * inner + i;
        out.set(to, r < rows ? host.get((o * rows + r) * inner + i) : guest.get(o * inner + i));
      }
    }
  }
  return out;
}

// store_at is always the first step: what follows is a layout of the grown tensor.
ir::Array pack_host(const Stage& host, const ir::Array& value, const ir::Array& guest) {
  const auto& steps = host.layout.steps();
  const ir::Array grown = with_guest(value, guest, static_cast<size_t>(steps[0].dim));
  layout::Layout rest(grown.shape());
  for (size_t i = 1; i < steps.size(); ++i) rest = rest.then(steps[i]);
  return rest.pack(grown);
}

}  // namespace

Result<ir::Function> lower(const schedule::State& s, const RunOptions& options) {
  const auto bounds = schedule::infer_bounds(s);
  if (!bounds) return bounds.illegal();
  TENON_TRY(schedule::check_program(s, *bounds));
  return lower(s, *bounds, options);
}

ir::Function lower(const schedule::State& s, const schedule::Bounds& bounds,
                   const RunOptions& options) {
  return run_passes(emit_loops(s, bounds), pipeline(), {&s.target()}, options);
}

std::vector<ir::Array> pack_inputs(const schedule::State& s, const std::vector<ir::Array>& inputs) {
  TENON_CHECK(inputs.size() == s.dag().inputs.size()) << inputs.size() << " inputs given";
  std::vector<ir::Array> out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Stage& st = s.stage(static_cast<StageId>(i));
    if (st.stored_in >= 0) continue;
    const ir::Array* guest = nullptr;
    for (size_t g = 0; g < inputs.size(); ++g) {
      if (s.stage(static_cast<StageId>(g)).stored_in == st.id) guest = &inputs[g];
    }
    // Weights may be hundreds of megabytes: they are not copied to be read.
    ir::Array transformed;
    if (st.transform != nullptr) transformed = st.transform->apply(inputs[i]);
    const ir::Array& held = st.transform != nullptr ? transformed : inputs[i];
    out.push_back(guest != nullptr ? pack_host(st, held, *guest) : st.layout.pack(held));
  }
  return out;
}

std::vector<ir::Array> make_outputs(const schedule::State& s) {
  std::vector<ir::Array> out;
  for (const te::Tensor& t : s.dag().outputs) {
    const Stage& st = output_stage(s, t);
    out.emplace_back(st.buffer.dtype(), st.buffer.shape());
  }
  return out;
}

std::vector<ir::Array> unpack_outputs(const schedule::State& s,
                                      const std::vector<ir::Array>& outputs) {
  std::vector<ir::Array> out;
  for (size_t i = 0; i < outputs.size(); ++i) {
    out.push_back(output_stage(s, s.dag().outputs[i]).layout.unpack(outputs[i]));
  }
  return out;
}

std::vector<ir::Array> interpret(const schedule::State& s, const ir::Function& f,
                                 const std::vector<ir::Array>& inputs) {
  std::vector<ir::Array> args = pack_inputs(s, inputs);
  const size_t n = args.size();
  for (ir::Array& a : make_outputs(s)) args.push_back(std::move(a));
  ir::interpret(f, args);
  return unpack_outputs(s, {args.begin() + static_cast<std::ptrdiff_t>(n), args.end()});
}

}  // namespace tenon::lower
