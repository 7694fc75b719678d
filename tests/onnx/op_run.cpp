// SPDX-License-Identifier: Apache-2.0
#include "onnx/op_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "onnx/run_graph.h"

namespace tenon::onnx::testing {

class StubConvert : public Convert {
 public:
  StubConvert(const OpRun& run, graph::GraphBuilder& b, std::vector<ValueId> inputs)
      : Convert(b), run_(run), inputs_(std::move(inputs)) {}
  const std::string& op() const override { return run_.op_; }
  int64_t opset() const override { return run_.opset_; }
  size_t num_inputs() const override { return inputs_.size(); }
  size_t num_outputs() const override { return run_.outputs_; }
  bool has_input(size_t i) const override { return i < inputs_.size() && inputs_[i] >= 0; }
  bool has_output(size_t i) const override { return i < run_.outputs_; }
  ValueId input(size_t i) const override {
    if (!has_input(i)) {
      throw Unsupported("an input is missing");
    }
    return inputs_[i];
  }
  bool has(const std::string& name) const override { return run_.attributes_.count(name) > 0; }
  int64_t int_or(const std::string& name, int64_t otherwise) const override {
    return get(name, otherwise);
  }
  double float_or(const std::string& name, double otherwise) const override {
    return get(name, otherwise);
  }
  std::string string_or(const std::string& name, const std::string& otherwise) const override {
    return get(name, otherwise);
  }
  std::vector<int64_t> ints_or(const std::string& name,
                               std::vector<int64_t> otherwise) const override {
    return get(name, std::move(otherwise));
  }
  std::vector<double> floats_or(const std::string& name,
                                std::vector<double> otherwise) const override {
    return get(name, std::move(otherwise));
  }
  std::vector<std::string> strings_or(const std::string& name) const override {
    return get(name, std::vector<std::string>{});
  }
  std::optional<ir::Array> tensor(const std::string& name) const override {
    return has(name) ? std::optional(std::get<ir::Array>(run_.attributes_.at(name))) : std::nullopt;
  }
  std::vector<ValueId> subgraph(const std::string& name,
                                const std::vector<ValueId>& arguments) override {
    if (!has(name)) throw Unsupported("there is no subgraph");
    return std::get<Subgraph>(run_.attributes_.at(name))(b(), arguments);
  }

 private:
  template <class T>
  T get(const std::string& name, T otherwise) const {
    return has(name) ? std::get<T>(run_.attributes_.at(name)) : otherwise;
  }
  const OpRun& run_;
  std::vector<ValueId> inputs_;
};

graph::Graph OpRun::graph() const {
  graph::Graph g;
  graph::GraphBuilder b(g);
  std::vector<ValueId> values;
  for (const Operand& o : operands_) {
    if (!o.value) {
      values.push_back(-1);
    } else if (o.constant) {
      values.push_back(b.constant(*o.value));
    } else {
      values.push_back(b.input("in", o.value->dtype(), o.value->shape()));
    }
  }
  StubConvert convert(*this, b, values);
  const Lookup found = find_row(domain_, op_, opset_);
  if (found.row == nullptr) {
    throw Unsupported("there is no converter");
  }
  std::vector<ValueId> out = found.row->convert(convert);
  out.resize(std::min(out.size(), outputs_));
  for (const ValueId v : out) {
    g.add_output(v, "out" + std::to_string(g.outputs.size()));
  }
  g.compact();
  g.verify();
  return g;
}

std::vector<ir::Array> OpRun::run() const {
  std::vector<ir::Array> given;
  for (const Operand& o : operands_) {
    if (o.value && !o.constant) given.push_back(*o.value);
  }
  return run_graph(graph(), given);
}

ir::Array random_array(Rng& rng, ir::DType t, const Shape& shape) {
  ir::Array a(t, shape);
  for (int64_t i = 0; i < a.elements(); ++i) {
    if (t.is_float()) {
      a.set_double(i, rng.unit() * 4 - 2);
    } else {
      const int64_t low = t.is_bool() || !t.is_signed() ? 0 : -9;
      a.set(i, {rng.between(low, t.is_bool() ? 1 : 9), 0});
    }
  }
  return a;
}

Shape random_shape(Rng& rng, int64_t lowest_rank, int64_t highest_rank) {
  Shape shape;
  for (int64_t d = rng.between(lowest_rank, highest_rank); d > 0; --d) {
    shape.push_back(rng.pick(std::vector<int64_t>{1, 2, 3, 5, 7}));
  }
  return shape;
}

ir::Array ints(const std::vector<int64_t>& v) {
  ir::Array a(ir::kI64, {static_cast<int64_t>(v.size())});
  for (size_t i = 0; i < v.size(); ++i) {
    a.set(static_cast<int64_t>(i), {v[i], 0});
  }
  return a;
}

ir::Array floats(const std::vector<double>& v) {
  ir::Array a(ir::kF32, {static_cast<int64_t>(v.size())});
  for (size_t i = 0; i < v.size(); ++i) {
    a.set_double(static_cast<int64_t>(i), v[i]);
  }
  return a;
}

ir::Array scalar(ir::DType t, double v) {
  ir::Array a(t, {});
  a.set_double(0, v);
  return a;
}

void for_each_place(const Shape& shape,
                    const std::function<void(const std::vector<int64_t>&)>& fn) {
  const int64_t count = ir::Array(ir::kBool, shape).elements();
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int64_t> place(shape.size());
    int64_t rest = i;
    for (size_t d = shape.size(); d-- > 0;) {
      place[d] = rest % shape[d];
      rest /= shape[d];
    }
    fn(place);
  }
}

int64_t offset_of(const Shape& shape, const std::vector<int64_t>& place) {
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    offset = offset * shape[d] + place[d];
  }
  return offset;
}

double at(const ir::Array& a, const std::vector<int64_t>& place) {
  return a.get_double(offset_of(a.shape(), place));
}

ir::Array filled_by(ir::DType t, const Shape& shape,
                    const std::function<double(const std::vector<int64_t>&)>& fn) {
  ir::Array a(t, shape);
  int64_t i = 0;
  for_each_place(shape, [&](const std::vector<int64_t>& place) { a.set_double(i++, fn(place)); });
  return a;
}

std::string difference(const ir::Array& got, const ir::Array& want, double tolerance) {
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
    return fmt::format("{} [{}], not {} [{}]", ir::to_string(got.dtype()),
                       fmt::join(got.shape(), ","), ir::to_string(want.dtype()),
                       fmt::join(want.shape(), ","));
  }
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double g = got.get_double(i);
    const double w = want.get_double(i);
    const bool same =
        g == w || (std::isnan(g) && std::isnan(w)) ||
        (std::isfinite(w) && std::abs(g - w) <= tolerance * std::max(1.0, std::abs(w)));
    if (!same) {
      return fmt::format("element {} is {}, not {}", i, g, w);
    }
  }
  return "";
}

}  // namespace tenon::onnx::testing
