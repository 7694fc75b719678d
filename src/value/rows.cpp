// SPDX-License-Identifier: Apache-2.0
#include "value/rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "cost/draft.h"
#include "history/likeness.h"
#include "search/space/structures.h"
#include "support/check.h"
#include "support/hash.h"

namespace tenon::value {
namespace {

using space::HoleKind;

constexpr uint64_t kVersion = 3;  // a change of what a column means is another version

// Words of a task's kind ("transposed-conv2.f32"); each is a column.
constexpr std::array kKinds{"conv", "grouped", "depthwise", "transposed", "matmul", "pool", "map",
                            "_",    "max",     "1.",        "2.",         "3.",     "f32",  "@gpu"};
// Sizes of a task, as history::Likeness names them.
constexpr std::array kSizes{"rows",     "columns",   "shared",    "depth",     "groups",
                            "y0",       "y1",        "y2",        "kernel0",   "kernel1",
                            "kernel2",  "stride0",   "stride1",   "dilation0", "dilation1",
                            "before",   "after",     "in-dims",   "in-block",  "in-order",
                            "out-dims", "out-block", "out-order", "vector",    "inputs"};
// Words of the role of a stage.
constexpr std::array kRoles{"program", "anchor", "last",  "out",   "after", "x",
                            "w",       "made0",  "made1", "made2", "made3"};
constexpr size_t kHoleKinds = 10;
constexpr size_t kAxes = 10;
constexpr size_t kLevels = 4;
constexpr size_t kStructures = 16;  // by the hash of their names
constexpr size_t kAlgorithms = 10;
constexpr size_t kProgramFacts = 6 + cost::kTail;  // of the completed program
constexpr size_t kNumbers = 13;                    // of a decision
constexpr size_t kMostLoops = 8;                   // the innermost

constexpr size_t kFacts = 1 + kKinds.size() + kSizes.size() + 2 + kProgramFacts;
constexpr size_t kLoop = 1 + 4 + cost::kAnnotations + 3 * cost::kAccesses;
constexpr size_t kDecision =
    1 + kHoleKinds + kRoles.size() + kAxes + kLevels + kStructures + kAlgorithms + kNumbers;
// The last column is 1 / rows: a network that takes means cannot count them otherwise.
constexpr size_t kColumns = kFacts + kLoop + kDecision + 1;

float doublings(double x) { return static_cast<float>(std::log2(1 + std::max(0.0, x)) / 8); }

// Sizes of a task with several reductions are prefixed "0.", "1.": the largest of each name counts.
int64_t size_of(const history::Likeness& l, std::string_view name) {
  int64_t most = 1;
  for (const auto& [key, size] : l.sizes) {
    const size_t dot = key.find('.');
    const std::string_view bare =
        dot == std::string::npos ? std::string_view(key) : std::string_view(key).substr(dot + 1);
    if (bare == name) most = std::max(most, size);
  }
  return most;
}

bool has_word(std::string_view role, std::string_view word) {
  for (size_t at = 0; at <= role.size();) {
    const size_t end = std::min(role.find('+', at), role.size());
    std::string_view one = role.substr(at, end - at);
    if (!one.starts_with("made")) {
      while (!one.empty() && one.back() >= '0' && one.back() <= '9') one.remove_suffix(1);
    }
    if (one == word) return true;
    at = end + 1;
  }
  return false;
}

double draft_of(const space::Program& p) {
  if (p.bounds == nullptr) return 0;
  const double s = cost::draft_seconds(p.state, *p.bounds);
  return std::isfinite(s) && s > 0 ? s : 0;
}

class Writer {
 public:
  explicit Writer(std::span<float> to) : to_(to) {}
  void put(double x) { to_[at_++] = static_cast<float>(x); }
  // One of n columns; none for a number beyond them.
  void one_of(size_t n, int64_t which) {
    if (which >= 0 && which < static_cast<int64_t>(n)) to_[at_ + static_cast<size_t>(which)] = 1;
    at_ += n;
  }
  size_t at() const { return at_; }

 private:
  std::span<float> to_;
  size_t at_ = 0;
};

}  // namespace

uint32_t row_columns() { return kColumns; }
uint64_t columns_hash() {
  Hasher h;
  h.add(kVersion).add(uint64_t{kColumns});
  for (const char* k : kKinds) h.add(std::string_view(k));
  for (const char* s : kSizes) h.add(std::string_view(s));
  for (const char* r : kRoles) h.add(std::string_view(r));
  return h.value();
}

RowMaker::RowMaker(const task::Task& t, const space::Program& by_rule)
    : task_(t), roles_(*t.dag), drafted_by_rule_(draft_of(by_rule)) {
  const history::Likeness l = history::likeness_of(t);
  for (const char* k : kKinds) facts_.push_back(l.kind.find(k) != std::string::npos ? 1 : 0);
  for (const char* s : kSizes) facts_.push_back(doublings(static_cast<double>(size_of(l, s)) - 1));
  facts_.push_back(doublings(t.flops) / 4);
  facts_.push_back(doublings(t.bytes) / 4);
}

std::string RowMaker::structure(int64_t algorithm, int64_t value) const {
  const std::lock_guard lock(mutex_);
  auto it = structures_.find(algorithm);
  if (it == structures_.end()) {
    it = structures_.emplace(algorithm, search::structure_names(task_, algorithm)).first;
  }
  const bool known = value >= 0 && value < std::ssize(it->second);
  return known ? it->second[static_cast<size_t>(value)] : std::string();
}

void RowMaker::add_facts(const Look& look, size_t made, const cost::LoopContext& context,
                         std::vector<float>& out) const {
  const size_t first = out.size();
  out.resize(first + kColumns);
  Writer w(std::span(out).subspan(first, kFacts));
  w.put(1);
  for (const float f : facts_) w.put(f);
  const auto total = static_cast<double>(std::max<size_t>(1, look.decisions.size()));
  w.put(static_cast<double>(made) / total);
  w.put(made == look.decisions.size() ? 1 : 0);
  const double s = draft_of(look.program);
  const bool known = s > 0 && drafted_by_rule_ > 0;
  w.put(known ? 1 : 0);
  w.put(known ? std::clamp(std::log2(s / drafted_by_rule_) / 4, -2.0, 2.0) : 0);
  w.put(s > 0 ? std::log2(s * 1e12 / std::max(task_.flops, 1.0)) / 16 : 0);
  w.put(doublings(static_cast<double>(look.program.trace.size())));
  for (const float f : context.tail) w.put(f / 8);
  TENON_CHECK(w.at() == kFacts) << w.at();
}

void RowMaker::add_loops(const cost::LoopContext& context, std::vector<float>& out) {
  const size_t n = context.loops.size();
  for (size_t i = n - std::min(n, kMostLoops); i < n; ++i) {
    const size_t first = out.size();
    out.resize(first + kColumns);
    Writer w(std::span(out).subspan(first + kFacts, kLoop));
    const cost::LoopFacts& l = context.loops[i];
    w.put(1);
    w.put(static_cast<double>(n - i) / 8);
    w.put(doublings(l.length));
    w.put(doublings(l.topdown));
    w.put(doublings(l.bottomup));
    w.one_of(cost::kAnnotations, static_cast<int64_t>(l.annotation));
    for (size_t a = 0; a < cost::kAccesses; ++a) {
      const bool there = a < context.accesses;
      w.put(there ? doublings(std::abs(context.at(i, a).stride)) : 0);
      w.put(there ? doublings(context.at(i, a).count) : 0);
      w.put(there ? doublings(context.at(i, a).reuse) : 0);
    }
    TENON_CHECK(w.at() == kLoop) << w.at();
  }
}

void RowMaker::add_decision(const Decision& d, int64_t algorithm, std::vector<float>& out) const {
  const size_t first = out.size();
  out.resize(first + kColumns);
  Writer w(std::span(out).subspan(first + kFacts + kLoop, kDecision));
  w.put(1);
  w.one_of(kHoleKinds, static_cast<int64_t>(d.hole.kind) - 1);
  const std::string role = roles_.role(d.hole.stage);
  for (const char* word : kRoles) w.put(has_word(role, word) ? 1 : 0);
  w.one_of(kAxes, d.hole.number / 8);
  w.one_of(kLevels, d.hole.number % 8);
  const bool named = d.hole.kind == HoleKind::kStructure;
  const std::string name = named ? structure(algorithm, d.value) : std::string();
  w.one_of(kStructures,
           named ? static_cast<int64_t>(Hasher().add(name).value() % kStructures) : -1);
  w.one_of(kAlgorithms, d.hole.kind == HoleKind::kAlgorithm ? d.value : -1);

  const auto size = static_cast<double>(d.domain.size());
  const auto value = static_cast<double>(d.value), rule = static_cast<double>(d.rule);
  const auto high = static_cast<double>(d.domain.at(d.domain.size() - 1));
  const int64_t lanes = task_.target->is_cpu() ? task_.target->cpu().lanes(4) : 32;
  w.put(doublings(value));
  w.put(doublings(rule));
  w.put(d.value == d.rule ? 1 : 0);
  w.put(std::log2((1 + std::abs(value)) / (1 + std::abs(rule))) / 4);
  w.put(doublings(size));
  w.put(doublings(high));
  w.put(high > 0 ? value / high : 0);
  w.put(d.value == d.domain.at(0) ? 1 : 0);
  w.put(value == high ? 1 : 0);
  w.put(d.value > 0 && d.value % lanes == 0 ? 1 : 0);
  w.put(d.value > 0 && std::has_single_bit(static_cast<uint64_t>(d.value)) ? 1 : 0);
  w.put(d.value == 1 ? 1 : 0);
  w.put(d.value == 0 ? 1 : 0);
  TENON_CHECK(w.at() == kDecision) << w.at();
}

cost::Row RowMaker::rows(const Look& look, size_t made) const {
  cost::Row row;
  row.width = row_columns();
  row.values.reserve((1 + kMostLoops + made) * kColumns);
  const cost::LoopContext context =
      look.program.bounds == nullptr ? cost::LoopContext{}
                                     : cost::loop_context(look.program.state, *look.program.bounds);
  add_facts(look, made, context, row.values);
  add_loops(context, row.values);
  const int64_t algorithm = algorithm_of(look.decisions);
  for (size_t i = 0; i < made; ++i) add_decision(look.decisions[i], algorithm, row.values);
  const size_t rows = row.values.size() / kColumns;
  for (size_t i = 1; i <= rows; ++i) row.values[i * kColumns - 1] = 1.0F / static_cast<float>(rows);
  return row;
}

}  // namespace tenon::value
