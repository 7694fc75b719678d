// SPDX-License-Identifier: Apache-2.0
#include "measure/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/rng.h"
#include "te/element.h"
#include "te/rounding.h"
#include "te/text.h"

namespace tenon::measure {
namespace {

constexpr double kEvaluatedWork = 300'000;  // flops or bytes
constexpr uint64_t kSeeds = 3;
// A prime number, so that no tile or row of a larger array meets the same elements again. To draw the weights of a large
// dense layer would take seconds.
constexpr int64_t kMostDrawn = 1'048'573;
constexpr int64_t kLeastKeptBytes = int64_t{1} << 29;
constexpr int64_t kKeptShare = 8;        // of the machine's memory, one part in so many
constexpr int64_t kRoundedApart = 1000;  // one integer in so many may be rounded to its neighbour
constexpr int64_t kSideBySide = 4;       // vectors of sums that do not wait for each other
constexpr int64_t kSampled = 32;         // elements of each output
constexpr int64_t kLeastSampled = 4;
constexpr double kSampledWork = 2e5;  // elements and terms of all that are sampled of one output

int64_t most_kept_bytes() {
  const int64_t memory = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  return std::max(kLeastKeptBytes, memory / kKeptShare);
}

int64_t bytes_of(const std::vector<Case>& cases) {
  int64_t bytes = 0;
  for (const Case& c : cases) {
    for (const auto* group : {&c.inputs, &c.outputs}) {
      for (const ir::Array& a : *group) bytes += a.bytes();
    }
  }
  return bytes;
}

// The elements of an array of float32, which weights of a hundred million are; null for other types.
const float* floats_of(const ir::Array& a) {
  return a.dtype() == ir::kF32 ? reinterpret_cast<const float*>(a.data()) : nullptr;
}
float* floats_of(ir::Array& a) {
  return a.dtype() == ir::kF32 ? reinterpret_cast<float*>(a.data()) : nullptr;
}

// From the first `drawn` elements on, the same again and again.
void repeat(ir::Array& a, int64_t drawn) {
  std::byte* data = a.data();
  const int64_t first = drawn * a.dtype().bytes();
  for (int64_t at = first; at < a.bytes(); at += first) {
    std::memcpy(data + at, data, static_cast<size_t>(std::min(first, a.bytes() - at)));
  }
}

// Floats uniform in [-1, 1), or small whole numbers, whose sums have no rounding; integers 0 or 1, valid as indices.
ir::Array draw(const te::Tensor& t, Rng& rng, bool whole) {
  ir::Array a(t.dtype(), t.shape());
  float* floats = floats_of(a);
  const int64_t drawn = std::min(a.elements(), kMostDrawn);
  for (int64_t i = 0; i < drawn; ++i) {
    double v = 0;
    if (!t.dtype().is_float() || whole) {
      v = static_cast<double>(
          rng.between(t.dtype().is_float() ? -2 : 0, t.dtype().is_float() ? 2 : 1));
    } else {
      v = 2 * rng.unit() - 1;
    }
    if (floats != nullptr) {
      floats[i] = static_cast<float>(v);
    } else {
      a.set_double(i, v);
    }
  }
  repeat(a, drawn);
  return a;
}

bool rounds_floats(const te::ComputeDag& dag) {
  return std::any_of(dag.ops.begin(), dag.ops.end(),
                     [](const te::OpRef& op) { return op->output.dtype().is_float(); }) ||
         std::any_of(dag.inputs.begin(), dag.inputs.end(),
                     [](const te::Input& in) { return in.tensor.dtype().is_float(); });
}

double largest_of(const ir::Array& a) {
  double largest = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double v = std::abs(a.get_double(i));
    if (std::isfinite(v)) largest = std::max(largest, v);
  }
  return largest;
}

bool near(double got, double want, double allowed) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return true;
  return std::abs(got - want) <= allowed;  // false for NaN and for infinities
}

std::string array_differs(const ir::Array& got, const ir::Array& want, double allowed,
                          int64_t neighbours) {
  int64_t wrong = 0;
  int64_t first = -1;
  const float *got_floats = floats_of(got), *want_floats = floats_of(want);
  const int64_t elements = want.elements();
  for (int64_t i = 0; i < elements; ++i) {
    const double g = got_floats != nullptr ? double{got_floats[i]} : got.get_double(i);
    const double w = want_floats != nullptr ? double{want_floats[i]} : want.get_double(i);
    if (near(g, w, allowed)) continue;
    if (std::abs(g - w) == 1 && neighbours-- > 0) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return "";
  return fmt::format("{} of {} elements differ; the first, {}, is {} instead of {} (+- {:.2g})",
                     wrong, want.elements(), first, got.get_double(first), want.get_double(first),
                     allowed);
}

// Ends of axes are where programs go wrong: a third of all coordinates.
std::vector<int64_t> sample(const std::vector<int64_t>& shape, Rng& rng) {
  std::vector<int64_t> at;
  for (const int64_t extent : shape) {
    const int64_t kind = rng.between(0, 5);
    at.push_back(kind == 0 ? 0 : kind == 1 ? extent - 1 : rng.between(0, extent - 1));
  }
  return at;
}

int64_t offset_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& at) {
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) offset = offset * shape[d] + at[d];
  return offset;
}

// Writes what it may: a step that is refused is left out.
class PlainWriter {
 public:
  PlainWriter(const task::Task& t, Plain how)
      : state_(t.dag, t.target),
        vector_bytes_(how == Plain::kByVectors && t.target->is_cpu() ? t.target->cpu().vector_bytes
                                                                     : 0) {}

  void write(schedule::StageId id) {
    if (state_.stage(id).is_input()) return;
    sum_by_vectors(id);
    deal_out(id);
  }
  schedule::Trace trace() { return std::move(trace_); }

 private:
  bool add(const schedule::Step& step) {
    if (!schedule::check(step, state_)) return false;
    schedule::apply(step, state_);
    trace_.push_back(step);
    return true;
  }

  // Neighbours along the last axis are summed up side by side, each in the order of the definition.
  void sum_by_vectors(schedule::StageId id) {
    const schedule::Stage& s = state_.stage(id);
    if (!s.op->is_reduction() || s.op->axes.empty() || vector_bytes_ == 0) return;
    const auto last = static_cast<schedule::LoopId>(s.op->axes.size()) - 1;
    const int64_t lanes = vector_bytes_ / s.op->output.dtype().bytes();
    if (s.loop(last).extent < lanes) return;
    const int64_t side_by_side = std::min(kSideBySide, s.loop(last).extent / lanes);
    const schedule::State before = state_;
    const size_t steps = trace_.size();
    if (!add(schedule::Split{{id}, {last}, {side_by_side, lanes}})) return;
    if (reorder_inside(id)) return;
    state_ = before;
    trace_.resize(steps);
  }

  // The last two parts of what was split go inside of the sum.
  bool reorder_inside(schedule::StageId id) {
    const schedule::Relation split = state_.stage(id).relations.back();
    std::vector<schedule::LoopRef> order;
    for (const schedule::LoopId l : state_.stage(id).leaves) {
      if (l != split.many[1] && l != split.many[2]) order.push_back({l});
    }
    order.push_back({split.many[1]});
    order.push_back({split.many[2]});
    return add(schedule::Reorder{{id}, order}) && add(schedule::Vectorize{{id}, {split.many[2]}}) &&
           add(schedule::Unroll{{id}, {split.many[1]}});
  }

  void deal_out(schedule::StageId id) {
    const schedule::Stage& s = state_.stage(id);
    for (const schedule::LoopId l : s.leaves) {
      const schedule::Loop& loop = s.loop(l);
      if (loop.kind != schedule::LoopKind::kSpatial || loop.extent < 2) continue;
      add(schedule::Parallel{{id}, {l}});
      return;
    }
  }

  schedule::State state_;
  int64_t vector_bytes_;
  schedule::Trace trace_;
};

}  // namespace

schedule::Trace plain_program(const task::Task& t, Plain how) {
  const schedule::State plain(t.dag, t.target);
  PlainWriter w(t, how);
  for (const schedule::StageId id : plain.order()) w.write(id);
  return w.trace();
}

std::string sample_differs(const te::ComputeDag& dag, const Case& c) {
  Rng rng(kSampled);
  const double relative = te::tolerance(dag);
  for (size_t o = 0; o < c.outputs.size(); ++o) {
    const ir::Array& got = c.outputs[o];
    const double allowed = got.dtype().is_float() ? relative * largest_of(got)
                           : rounds_floats(dag)   ? 1
                                                  : 0;
    const int64_t count = std::min(kSampled, got.elements());
    for (int64_t n = 0; n < count; ++n) {
      const std::vector<int64_t> at = sample(got.shape(), rng);
      const double most =
          kSampledWork / static_cast<double>(n < kLeastSampled ? kLeastSampled : kSampled);
      const auto want = te::evaluate_element(dag, c.inputs, o, at, most);
      if (!want && n < kLeastSampled) return "an element is too much to compute by itself";
      if (!want) break;
      const double have = got.get_double(offset_of(got.shape(), at));
      if (near(have, *want, allowed)) continue;
      return fmt::format("output {}: element ({}) is {} instead of {} (+- {:.2g})",
                         dag.outputs[o].name(), fmt::join(at, ", "), have, *want, allowed);
    }
  }
  return "";
}

std::shared_ptr<const std::vector<Case>> References::cases(const task::Task& t) {
  // Layouts do not change what is computed: tasks that differ in nothing else have the same answers.
  const std::string key = te::to_text(*t.dag) + t.target->fingerprint();
  std::promise<Cases> promise;
  std::shared_future<Cases> made = promise.get_future().share();
  {
    std::unique_lock lock(mutex_);
    if (const auto [it, first] = made_.emplace(key, made); !first) {
      const std::shared_future<Cases> known = it->second;
      lock.unlock();
      return known.get();
    }
  }
  try {
    promise.set_value(make(t));
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::scoped_lock lock(mutex_);
    made_.erase(key);
    throw;
  }
  keep(key, made, bytes_of(*made.get()));
  return made.get();
}

References::Cases References::make(const task::Task& t) {
  const bool evaluated = std::max(t.flops, t.bytes) <= kEvaluatedWork;
  std::vector<Case> made;
  for (uint64_t seed = 1; seed <= (evaluated ? kSeeds : kSeeds - 1); ++seed) {
    Rng rng(seed);
    Case c;
    for (const te::Input& in : t.dag->inputs) c.inputs.push_back(draw(in.tensor, rng, seed == 2));
    c.outputs = evaluated ? te::evaluate(*t.dag, c.inputs) : answers(t, c.inputs);
    made.push_back(std::move(c));
  }
  return std::make_shared<const std::vector<Case>>(std::move(made));
}

void References::keep(const std::string& key, const std::shared_future<Cases>& made,
                      int64_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (bytes_ + bytes > most_kept_bytes()) {
    made_.clear();
    made_.emplace(key, made);
    bytes_ = 0;
  }
  bytes_ += bytes;
}

// What is quick is believed where single elements by the definition agree with it.
std::vector<ir::Array> References::answers(const task::Task& t,
                                           const std::vector<ir::Array>& inputs) {
  try {
    Case c{inputs, run_(t, inputs, Plain::kByVectors)};
    if (sample_differs(*t.dag, c).empty()) return std::move(c.outputs);
  } catch (const UserError&) {  // it cannot be built, or not be run
  }
  return run_(t, inputs, Plain::kAsItStands);
}

std::string differs(const te::ComputeDag& dag, const Case& c, const std::vector<ir::Array>& got,
                    double error_factor) {
  const double relative = error_factor * te::tolerance(dag);
  const bool rounded = rounds_floats(dag);
  for (size_t o = 0; o < c.outputs.size(); ++o) {
    const ir::Array& want = c.outputs[o];
    const bool floats = want.dtype().is_float();
    const double allowed = floats ? relative * largest_of(want) : 0;
    const int64_t neighbours = !floats && rounded ? want.elements() / kRoundedApart + 1 : 0;
    const std::string why = array_differs(got[o], want, allowed, neighbours);
    if (!why.empty()) return fmt::format("output {}: {}", dag.outputs[o].name(), why);
  }
  return "";
}

}  // namespace tenon::measure
