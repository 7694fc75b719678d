// SPDX-License-Identifier: Apache-2.0
#include "fuzz/random_dag.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fuzz/families.h"
#include "support/check.h"

namespace tenon::fuzz {
namespace {

// Largest values let into a dag: sums of them stay finite, and mostly exact, in their type.
double largest(ir::DType t) {
  if (!t.is_float()) {
    return 1e18;
  }
  return t == ir::kF16 ? 4096 : 4e6;
}

double work_of(const te::ComputeOp& op) {
  double points = 1;
  for (const auto* group : {&op.axes, &op.reduce_axes}) {
    for (const te::Axis& a : *group) {
      points *= static_cast<double>(a.extent);
    }
  }
  return points;
}

ir::DType draw_type(Rng& rng) {
  const double u = rng.unit();
  return u < 0.70   ? ir::kF32
         : u < 0.79 ? ir::kI32
         : u < 0.86 ? ir::kF64
         : u < 0.93 ? ir::kI8
         : u < 0.97 ? ir::kF16
                    : ir::kBF16;
}

const Family& draw_family(Rng& rng, const RandomDagOptions& options) {
  int64_t total = 0;
  for (const Family& f : families()) {
    total += options.exact_only && !f.exact ? 0 : f.weight;
  }
  int64_t ticket = rng.between(0, total - 1);
  for (const Family& f : families()) {
    ticket -= options.exact_only && !f.exact ? 0 : f.weight;
    if (ticket < 0) {
      return f;
    }
  }
  return families().front();
}

const Family& find_family(std::string_view name) {
  for (const Family& f : families()) {
    if (f.name == name) {
      return f;
    }
  }
  TENON_CHECK(false) << "no family " << name;
  return families().front();
}

struct NothingFits {};

bool is_read(const te::ComputeDag& dag, const te::Tensor& t) { return !dag.readers(t).empty(); }

}  // namespace

Growth::Growth(Rng& random, const RandomDagOptions& opts)
    : rng(random), options(opts), base(opts.small_types ? draw_type(random) : ir::kF32) {}

int64_t Growth::extent(int64_t most) {
  static const std::vector<int64_t> kExtents = {1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 9, 11, 13, 16, 17};
  int64_t e = rng.pick(kExtents);
  while (e > most) {
    e = rng.pick(kExtents);
  }
  return e;
}

std::vector<int64_t> Growth::shape(size_t rank, int64_t most) {
  std::vector<int64_t> s(rank);
  for (int64_t& e : s) {
    e = extent(most);
  }
  return s;
}

std::string Growth::name(std::string_view family) {
  return fmt::format("{}{}", family, next_name_++);
}

te::Tensor Growth::input(ir::DType t, std::vector<int64_t> dims) {
  const std::string n = name("in");
  te::Tensor made =
      rng.chance(0.5) ? b.constant(n, t, std::move(dims)) : b.input(n, t, std::move(dims));
  absorb();
  return made;
}

std::optional<te::Tensor> Growth::existing(const Fits& fits) {
  std::optional<te::Tensor> found;
  for (auto t = pool_.rbegin(); t != pool_.rend(); ++t) {
    const bool computed = b.dag().producer(*t) != nullptr;
    if ((computed || rng.chance(0.15)) && fits(*t)) {
      found = *t;
      if (rng.chance(0.6)) {
        break;
      }
    }
  }
  return found;
}

te::Tensor Growth::operand(size_t least_rank, size_t most_rank, const Fits& fits) {
  const auto all = [&](const te::Tensor& t) {
    return t.rank() >= least_rank && t.rank() <= most_rank && !t.dtype().is_bool() &&
           (fits == nullptr || fits(t));
  };
  if (rng.chance(0.9)) {
    if (auto t = existing(all)) {
      return *t;
    }
    if (!b.dag().ops.empty() && rng.chance(0.85)) {
      throw NothingFits();  // so that dags are mostly connected
    }
  }
  const auto rank = static_cast<size_t>(
      rng.between(static_cast<int64_t>(least_rank), static_cast<int64_t>(most_rank)));
  return input(base, shape(rank, rank > 3 ? 7 : 13));
}

bool Growth::is_smooth_safe(const te::Tensor& t) const {
  return t.dtype().is_float() && (facts(t).exact || facts(t).bound <= 64);
}

void Growth::absorb() {
  const te::ComputeDag& dag = b.dag();
  for (; seen_inputs_ < dag.inputs.size(); ++seen_inputs_) {
    const te::Tensor& t = dag.inputs[seen_inputs_].tensor;
    facts_[t.get()] = input_facts(t.dtype());
    pool_.push_back(t);
  }
  for (; seen_ops_ < dag.ops.size(); ++seen_ops_) {
    const te::ComputeOp& op = *dag.ops[seen_ops_];
    facts_[op.output.get()] = op_facts(op, facts_);
    if (facts(op.output).finite) {
      pool_.push_back(op.output);
    }
  }
}

bool Growth::within_limits() const {
  double work = 0;
  for (const te::OpRef& op : b.dag().ops) {
    work += work_of(*op);
    if (facts(op->output).bound > largest(op->output.dtype())) {
      return false;
    }
    if (options.exact_only && !facts(op->output).exact) {
      return false;
    }
  }
  return work <= options.max_work;
}

bool Growth::attempt(const std::function<void(Growth&)>& draw) {
  const te::Builder builder = b;
  const std::vector<te::Tensor> pool = pool_;
  const size_t inputs = seen_inputs_;
  const size_t ops = seen_ops_;
  const auto undo = [&] {
    b = builder;
    pool_ = pool;
    seen_inputs_ = inputs;
    seen_ops_ = ops;
    return false;
  };
  try {
    draw(*this);
    absorb();
  } catch (const UserError&) {  // a random shape that the operator refuses
    return undo();
  } catch (const NothingFits&) {
    return undo();
  }
  return b.dag().ops.size() > ops && within_limits() ? true : undo();
}

te::ComputeDag random_dag(Rng& rng, const RandomDagOptions& options) {
  Growth g(rng, options);
  const int64_t steps = rng.between(1, options.max_steps);
  bool first = !options.family.empty();
  int64_t done = 0;
  for (int tries = 0; done < steps && (tries < 40 || done == 0); ++tries) {
    TENON_CHECK(tries < 100000) << "no dag fits the options";
    if (done == 0 && tries % 20 == 19 && options.small_types) {
      g.base = draw_type(rng);  // a family may want floats
    }
    const Family& f = first ? find_family(options.family) : draw_family(rng, options);
    if (g.attempt(f.draw)) {
      ++done;
      first = false;
    }
  }
  const te::ComputeDag& dag = g.b.dag();
  std::vector<te::Tensor> outputs;
  for (const te::OpRef& op : dag.ops) {
    if (!is_read(dag, op->output) || rng.chance(0.06)) {
      outputs.push_back(op->output);
    }
  }
  for (const te::Tensor& t : outputs) {
    g.b.output(t);
  }
  return g.b.finish();
}

std::vector<std::string_view> family_names() {
  std::vector<std::string_view> names;
  for (const Family& f : families()) {
    names.push_back(f.name);
  }
  return names;
}

std::vector<ir::Array> random_inputs(const te::ComputeDag& dag, Rng& rng) {
  std::vector<ir::Array> arrays;
  for (const te::Input& in : dag.inputs) {
    const ir::DType t = in.tensor.dtype();
    ir::Array a(t, in.tensor.shape());
    const int64_t lo = t.is_float() ? -kFloatInput : t.is_signed() ? kLowestInput : 0;
    const int64_t hi = t.is_float() ? kFloatInput : t.is_bool() ? 1 : kHighestInput;
    for (int64_t i = 0; i < a.elements(); ++i) {
      a.set_double(i, static_cast<double>(rng.between(lo, hi)));
    }
    arrays.push_back(std::move(a));
  }
  return arrays;
}

void scatter_nan(std::vector<ir::Array>& inputs, Rng& rng) {
  for (ir::Array& a : inputs) {
    if (!a.dtype().is_float()) continue;
    for (int64_t i = 0; i < a.elements(); ++i) {
      if (rng.chance(1.0 / 12)) a.set_double(i, std::nan(""));
    }
  }
}

}  // namespace tenon::fuzz
