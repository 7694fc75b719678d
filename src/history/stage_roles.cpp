// SPDX-License-Identifier: Apache-2.0
#include "history/stage_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "history/reduction.h"
#include "te/access.h"

namespace tenon::history {
namespace {

using schedule::StageId;
using te::ComputeDag;
using te::ComputeOp;

constexpr int kDeepest = 8;  // ops in front of the anchor that are named by their operand
constexpr std::string_view kMade = "made", kProgram = "program";

std::vector<std::string> split_words(const std::string& role) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= role.size();) {
    const size_t end = std::min(role.find('+', at), role.size());
    out.push_back(role.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

bool share_a_word(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& word) {
    return std::find(b.begin(), b.end(), word) != b.end();
  });
}

bool is_constant(const ComputeDag& dag, const te::Tensor& t) {
  return std::any_of(dag.inputs.begin(), dag.inputs.end(),
                     [&](const te::Input& in) { return in.constant && in.tensor.same_as(t); });
}

}  // namespace

StageRoles::StageRoles(const ComputeDag& dag) : words_(dag.inputs.size() + dag.ops.size()) {
  const ComputeOp& anchor = anchor_of(dag);
  name(stage_of(dag, anchor.output), "anchor");
  name_behind(dag, anchor);
  if (!dag.outputs.empty()) name(stage_of(dag, dag.outputs[0]), "last");
  int operand = 0;
  for (const te::Access& a : te::accesses(anchor)) {
    const std::string path = is_constant(dag, a.tensor) ? "w" : operand++ == 0 ? "x" : "z";
    name_before(dag, a.tensor, path, 1);
  }
  name_others(dag, anchor);
  for (auto& words : words_) std::sort(words.begin(), words.end());
}

void StageRoles::name(StageId stage, const std::string& word) {
  words_[static_cast<size_t>(stage)].push_back(word);
}

StageId StageRoles::stage_of(const ComputeDag& dag, const te::Tensor& t) const {
  for (size_t i = 0; i < dag.inputs.size(); ++i) {
    if (dag.inputs[i].tensor.same_as(t)) return static_cast<StageId>(i);
  }
  for (size_t i = 0; i < dag.ops.size(); ++i) {
    if (dag.ops[i]->output.same_as(t)) return static_cast<StageId>(dag.inputs.size() + i);
  }
  throw InternalError("a tensor that is none of the dag's");
}

// The chain of element-wise readers; its end is where the result is written.
void StageRoles::name_behind(const ComputeDag& dag, const ComputeOp& anchor) {
  const ComputeOp* at = &anchor;
  for (int n = 1;; ++n) {
    const auto readers = dag.readers(at->output);
    if (readers.size() != 1 || readers[0]->is_reduction() ||
        !te::is_elementwise_match(*at, *readers[0])) {
      break;
    }
    if (at != &anchor) name(stage_of(dag, at->output), fmt::format("after{}", n - 1));
    at = readers[0];
  }
  name(stage_of(dag, at->output), "out");
}

void StageRoles::name_before(const ComputeDag& dag, const te::Tensor& t, const std::string& path,
                             int depth) {
  const StageId stage = stage_of(dag, t);
  if (!words_[static_cast<size_t>(stage)].empty()) return;
  name(stage, path + std::to_string(depth));
  const ComputeOp* op = dag.producer(t);
  if (op == nullptr || depth == kDeepest) return;
  const auto reads = te::accesses(*op);
  if (!reads.empty()) name_before(dag, reads[0].tensor, path, depth + 1);
}

// By their distance from the anchor in the order of ops; inputs by their number.
void StageRoles::name_others(const ComputeDag& dag, const ComputeOp& anchor) {
  const StageId at = stage_of(dag, anchor.output);
  for (size_t i = 0; i < words_.size(); ++i) {
    if (!words_[i].empty()) continue;
    const auto id = static_cast<StageId>(i);
    words_[i].push_back(i < dag.inputs.size() ? fmt::format("in{}", i)
                                              : fmt::format("op{}", id - at));
  }
}

std::string StageRoles::role(StageId stage) const {
  if (stage < 0) return std::string(kProgram);
  const auto at = static_cast<size_t>(stage);
  if (at >= words_.size()) return fmt::format("{}{}", kMade, at - words_.size());
  return fmt::format("{}", fmt::join(words_[at], "+"));
}

std::vector<StageId> StageRoles::stages(const std::string& role) const {
  if (role == kProgram) return {-1};
  if (role.starts_with(kMade)) {
    StageId number = 0;
    const char* end = role.data() + role.size();
    const auto [at, error] = std::from_chars(role.data() + kMade.size(), end, number);
    const bool good = error == std::errc() && at == end && number >= 0 && number < (1 << 20);
    return good ? std::vector{static_cast<StageId>(words_.size()) + number}
                : std::vector<StageId>{};
  }
  const auto wanted = split_words(role);
  std::vector<StageId> out;
  for (const bool all : {true, false}) {
    for (size_t i = 0; i < words_.size(); ++i) {
      if ((words_[i] == wanted) == all && share_a_word(words_[i], wanted)) {
        out.push_back(static_cast<StageId>(i));
      }
    }
  }
  return out;
}

}  // namespace tenon::history
