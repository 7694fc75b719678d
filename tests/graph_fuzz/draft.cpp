// SPDX-License-Identifier: Apache-2.0
#include "graph_fuzz/draft.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "support/check.h"

namespace tenon::graph_fuzz {
namespace {

constexpr int64_t kMostElements = 6000;
constexpr double kFreshLeaf = 0.12;
constexpr double kEmptyLeaf = 0.01;
constexpr int64_t kFirstWithBf16 = 13;

// The version of the file format that came with an opset.
int64_t format_of(int64_t opset) {
  if (opset <= 8) return 3;
  if (opset <= 10) return opset - 5;
  if (opset <= 11) return 6;
  if (opset <= 14) return 7;
  return opset <= 18 ? 8 : opset <= 20 ? 9 : 10;
}

bool broadcasts(const Shape& a, const Shape& b) {
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const int64_t x = a[a.size() - i], y = b[b.size() - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

// How large a number of this type may get before what follows overflows.
double largest(ir::DType t) {
  if (t == ir::kF16) return 2000;
  return t == ir::kF64 ? 1e8 : 1e5;
}

}  // namespace

bool bounded(const ir::Array& a, double low, double high) {
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double v = a.get_double(i);
    if (!(v >= low && v <= high)) return false;
  }
  return true;
}

Shape broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape s = longer;
  for (size_t i = 1; i <= shorter.size(); ++i) {
    int64_t& e = s[s.size() - i];
    if (e == 1) e = shorter[shorter.size() - i];
  }
  return s;
}

Draft::Draft(const Settings& s)
    : settings_(s), rng_(Rng(s.seed).next()), opset_(rng_.between(7, 21)) {
  model_.set_ir_version(format_of(opset_));
  model_.set_producer_name("graph_fuzz");
  proto::OperatorSetIdProto* o = model_.add_opset_import();
  o->set_domain("");
  o->set_version(opset_);
  model_.mutable_graph()->set_name("graph_" + std::to_string(s.seed));
}

const Drawn& Draft::value(const std::string& name) const {
  for (const Drawn& v : values_) {
    if (v.name == name) return v;
  }
  throw InternalError("no value '" + name + "' was drawn");
}

// ---- choosing among what is there --------------------------------------------------------------

Drawn Draft::pick(Types types, const Suits& suits, const std::function<Drawn()>& otherwise) {
  std::vector<size_t> fits;
  for (size_t i = 0; i < values_.size(); ++i) {
    if ((set_of(values_[i].type()) & types) != 0 && suits(values_[i])) fits.push_back(i);
  }
  if (fits.empty() || rng_.chance(kFreshLeaf)) return otherwise();
  // The later of two: graphs get long chains.
  return values_[std::max(rng_.pick(fits), rng_.pick(fits))];
}

Drawn Draft::pick(Types types) {
  return pick(
      types, [](const Drawn& v) { return v.rank() <= 5; },
      [&] {
        Shape s = shape(0, 5);
        if (!s.empty() && rng_.chance(kEmptyLeaf)) s[0] = 0;
        return leaf(type_among(types), s);
      });
}

Drawn Draft::pick(Types types, int64_t rank_low, int64_t rank_high) {
  return pick(
      types,
      [&](const Drawn& v) {
        return v.rank() >= rank_low && v.rank() <= rank_high && v.data.elements() > 0;
      },
      [&] { return leaf(type_among(types), shape(rank_low, rank_high)); });
}

Drawn Draft::partner(const Drawn& x, const std::optional<Range>& range) {
  return partner(x.shape(), set_of(x.type()), range);
}

Drawn Draft::partner(const Shape& with, Types types, const std::optional<Range>& range) {
  const auto suits = [&](const Drawn& v) {
    return broadcasts(with, v.shape()) && (!range || bounded(v.data, range->low, range->high));
  };
  const auto otherwise = [&] {
    Shape s = with;
    for (int64_t& e : s) e = rng_.chance(0.3) ? 1 : e;
    if (rng_.chance(0.3)) {
      s.erase(s.begin(), s.begin() + rng_.between(0, static_cast<int64_t>(s.size())));
    }
    return leaf(type_among(types), s, range.value_or(Range{}));
  };
  return pick(types, suits, otherwise);
}

ir::DType Draft::type_among(Types types) {
  if (opset_ < kFirstWithBf16) types &= ~kBF16;
  if ((types & kF32) != 0 && rng_.chance(0.7)) return ir::kF32;
  if ((types & kI64) != 0 && (types & kF32) == 0 && rng_.chance(0.4)) return ir::kI64;
  std::vector<ir::DType> fits;
  for (const ir::DType t : element_types()) {
    if ((set_of(t) & types) != 0) fits.push_back(t);
  }
  return rng_.pick(fits);
}

Shape Draft::shape(int64_t rank_low, int64_t rank_high, int64_t most_elements) {
  // Odd extents beside the widths of vectors.
  static const std::vector<int64_t> kExtents = {1, 1, 2, 3, 3, 4, 5, 7, 8, 9, 13, 16, 17, 33};
  Shape s(static_cast<size_t>(rng_.between(rank_low, rank_high)));
  int64_t left = most_elements;
  for (int64_t& e : s) {
    e = std::max<int64_t>(1, std::min(rng_.pick(kExtents), left));
    left /= e;
  }
  for (size_t i = s.size(); i > 1; --i) {
    std::swap(s[i - 1], s[static_cast<size_t>(rng_.between(0, static_cast<int64_t>(i) - 1))]);
  }
  return s;
}

int64_t Draft::plain_axis(const Drawn& x) { return rng_.between(0, x.rank() - 1); }

int64_t Draft::axis_of(const Drawn& x) {
  const int64_t a = plain_axis(x);
  return opset_ >= 11 && rng_.chance(0.3) ? a - x.rank() : a;
}

Ints Draft::permutation(int64_t n) {
  Ints p(static_cast<size_t>(n));
  std::iota(p.begin(), p.end(), 0);
  for (size_t i = p.size(); i > 1; --i) {
    std::swap(p[i - 1], p[static_cast<size_t>(rng_.between(0, static_cast<int64_t>(i) - 1))]);
  }
  return p;
}

// ---- leaves ------------------------------------------------------------------------------------

ir::Array Draft::random_array(ir::DType t, const Shape& shape, const Range& range) {
  ir::Array a(t, shape);
  const bool integers = !t.is_float() || range.integers;
  const double low = t.is_bool() ? 0 : t.is_signed() ? range.low : std::max(range.low, 0.0);
  const double high = t.is_bool() ? 1 : std::max(range.high, low);
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double v = low + (high - low) * rng_.unit();
    a.set_double(i, integers ? std::clamp(std::round(v), std::ceil(low), std::floor(high)) : v);
  }
  return a;
}

Drawn Draft::remember(Drawn v) {
  scope_[v.name] = {v.data, v.constant};
  values_.push_back(v);
  return v;
}

Drawn Draft::input(ir::DType t, const Shape& shape, const Range& range) {
  Range r = range;
  r.integers = r.integers || rng_.chance(0.4);
  ir::Array a = random_array(t, shape, r);
  if (t.is_float() && a.elements() > 0 && rng_.chance(settings_.special) && !range.finite) {
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> odd = {std::nan(""), infinity, -infinity, -0.0};
    for (int64_t i = rng_.between(1, 3); i > 0; --i) {
      a.set_double(rng_.between(0, a.elements() - 1), rng_.pick(odd));
    }
  }
  const std::string name = fresh_name("x");
  *model_.mutable_graph()->add_input() = make_info(name, a);
  return remember({name, std::move(a), false});
}

Drawn Draft::constant(const ir::Array& a) {
  const std::string name = fresh_name("w");
  *model_.mutable_graph()->add_initializer() = make_tensor(name, a);
  return remember({name, a, true});
}

Drawn Draft::constant(ir::DType t, const Shape& shape, const Range& range) {
  Range r = range;
  r.integers = r.integers || rng_.chance(0.4);
  return constant(random_array(t, shape, r));
}

Drawn Draft::leaf(ir::DType t, const Shape& shape, const Range& range) {
  return rng_.chance(0.65) ? input(t, shape, range) : constant(t, shape, range);
}

Drawn Draft::ints(const Ints& v) {
  ir::Array a(ir::kI64, {static_cast<int64_t>(v.size())});
  for (size_t i = 0; i < v.size(); ++i) a.set(static_cast<int64_t>(i), {v[i], 0});
  return constant(a);
}

Drawn Draft::int_scalar(int64_t v) {
  ir::Array a(ir::kI64, {});
  a.set(0, {v, 0});
  return constant(a);
}

// ---- nodes -------------------------------------------------------------------------------------

bool Draft::sensible(const ir::Array& a) const {
  if (a.elements() > kMostElements) return false;
  if (!a.dtype().is_float()) return true;
  int64_t odd = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double v = a.get_double(i);
    if (!std::isfinite(v)) ++odd;
    if (std::isfinite(v) && std::abs(v) > largest(a.dtype())) return false;
  }
  return odd * 4 <= a.elements();
}

bool Draft::node(const std::string& op, const Names& inputs, const Attributes& attributes,
                 size_t outputs, const std::string& domain) {
  return node_with(op, inputs, attributes, std::vector<bool>(outputs, true), domain);
}

bool Draft::node_with(const std::string& op, const Names& inputs, const Attributes& attributes,
                      const std::vector<bool>& wanted, const std::string& domain) {
  Names outputs;
  for (const bool want : wanted) outputs.push_back(want ? fresh_name("v") : "");
  proto::NodeProto n = make_node(op, inputs, outputs, attributes, domain);
  n.set_name(op + "_" + std::to_string(model_.graph().node_size()));
  std::vector<Known> results;
  try {
    results = run_node(model_, n, scope_);
  } catch (const UserError& e) {
    throw NodeRefused(op + " of opset " + std::to_string(opset_) + ": " + e.what() + "\n" +
                      n.ShortDebugString());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!outputs[i].empty() && !sensible(results[i].data)) return false;
  }
  *model_.mutable_graph()->add_node() = n;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!outputs[i].empty()) {
      remember({outputs[i], std::move(results[i].data), results[i].constant});
    }
  }
  return true;
}

Draft::Mark Draft::mark() const {
  return {values_.size(), static_cast<size_t>(model_.graph().node_size()),
          static_cast<size_t>(model_.graph().input_size()),
          static_cast<size_t>(model_.graph().initializer_size())};
}

void Draft::back_to(const Mark& m) {
  for (size_t i = m.values; i < values_.size(); ++i) scope_.erase(values_[i].name);
  values_.resize(m.values);
  proto::GraphProto* g = model_.mutable_graph();
  const auto cut = [](auto* list, size_t keep) {
    list->DeleteSubrange(static_cast<int>(keep), list->size() - static_cast<int>(keep));
  };
  cut(g->mutable_node(), m.nodes);
  cut(g->mutable_input(), m.inputs);
  cut(g->mutable_initializer(), m.initializers);
}

// ---- the whole model -----------------------------------------------------------------------------

// What nobody reads is an output, and a few of the others; rarely an input or a constant.
void Draft::choose_outputs() {
  std::set<std::string> read, made;
  for (const auto& n : model_.graph().node()) {
    read.merge(names_read(n));
    made.insert(n.output().begin(), n.output().end());
  }
  for (const Drawn& v : values_) {
    const bool computed = made.contains(v.name);
    const double chance = computed ? 0.08 : 0.01;
    if ((computed && !read.contains(v.name)) || rng_.chance(chance)) {
      *model_.mutable_graph()->add_output() = make_info(v.name, v.data);
    }
  }
}

// As the oldest format demands.
void Draft::list_weights_as_inputs() {
  proto::GraphProto* g = model_.mutable_graph();
  for (const auto& t : g->initializer())
    *g->add_input() = make_info(t.name(), value(t.name()).data);
}

proto::ModelProto Draft::finish() {
  choose_outputs();
  if (model_.ir_version() < 4) list_weights_as_inputs();
  return model_;
}

Arrays Draft::inputs() const {
  Arrays all;
  std::set<std::string> constants;
  for (const auto& t : model_.graph().initializer()) constants.insert(t.name());
  for (const auto& i : model_.graph().input()) {
    if (!constants.contains(i.name())) all.emplace(i.name(), value(i.name()).data);
  }
  return all;
}

}  // namespace tenon::graph_fuzz
