// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fuzz/facts.h"
#include "fuzz/random_dag.h"
#include "support/check.h"

namespace tenon::fuzz {
namespace {

double epsilon(ir::DType t) {
  if (t.code == ir::TypeCode::kBFloat) {
    return 0x1p-8;
  }
  return t.bits == 16 ? 0x1p-11 : t.bits == 32 ? 0x1p-24 : 0x1p-53;
}

struct Difference {
  int64_t offset = 0;
  double expected = 0, actual = 0;
};

bool matches(double expected, double actual, double allowed) {
  if (std::isnan(expected) || std::isnan(actual)) {
    return std::isnan(expected) && std::isnan(actual);
  }
  return expected == actual || std::abs(expected - actual) <= allowed;
}

std::string position(int64_t offset, const std::vector<int64_t>& shape) {
  std::vector<int64_t> at(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    at[d] = offset % shape[d];
    offset /= shape[d];
  }
  return fmt::format("[{}]", fmt::join(at, ", "));
}

std::string compare_one(const te::Tensor& t, const ir::Array& expected, const ir::Array& actual,
                        double allowed) {
  TENON_CHECK(expected.dtype() == t.dtype() && actual.dtype() == t.dtype()) << t.name();
  TENON_CHECK(expected.elements() == actual.elements()) << t.name();
  for (int64_t i = 0; i < expected.elements(); ++i) {
    if (!t.dtype().is_float()) {
      if (const int64_t e = expected.get(i).i, a = actual.get(i).i; e != a) {
        return fmt::format("{}{}: expected {}, got {}", t.name(), position(i, t.shape()), e, a);
      }
      continue;
    }
    const double e = expected.get_double(i);
    const double a = actual.get_double(i);
    if (!matches(e, a, allowed)) {
      return fmt::format("{}{}: expected {}, got {} (difference {}, allowed {})", t.name(),
                         position(i, t.shape()), e, a, a - e, allowed);
    }
  }
  return "";
}

}  // namespace

double tolerance(const te::ComputeDag& dag, const te::Tensor& output, double error_factor) {
  const FactMap facts = all_facts(dag);
  if (facts.at(output.get()).exact && error_factor == 1) {
    return 0;
  }
  double scale = 1;
  double reduced = 1;
  double eps = epsilon(output.dtype());
  for (const te::OpRef& op : dag.ops) {
    const Facts& f = facts.at(op->output.get());
    if (f.exact && error_factor == 1) {
      continue;
    }
    scale = std::max(scale, f.bound);
    eps = op->output.dtype().is_float() ? std::max(eps, epsilon(op->output.dtype())) : eps;
    double points = 1;
    for (const te::Axis& a : op->reduce_axes) {
      points *= static_cast<double>(a.extent);
    }
    reduced += points;
  }
  return (error_factor == 1 ? 16 : error_factor) * eps * std::sqrt(reduced) * scale;
}

std::string compare(const std::vector<ir::Array>& expected, const std::vector<ir::Array>& actual,
                    const te::ComputeDag& dag, double error_factor) {
  TENON_CHECK(expected.size() == dag.outputs.size() && actual.size() == dag.outputs.size())
      << expected.size() << " and " << actual.size() << " arrays for " << dag.outputs.size()
      << " outputs";
  for (size_t i = 0; i < dag.outputs.size(); ++i) {
    const te::Tensor& t = dag.outputs[i];
    const std::string why = compare_one(t, expected[i], actual[i], tolerance(dag, t, error_factor));
    if (!why.empty()) {
      return why;
    }
  }
  return "";
}

}  // namespace tenon::fuzz
