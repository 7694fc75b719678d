// SPDX-License-Identifier: Apache-2.0
// State and Illegal as text.
#include "schedule/program.h"
#include "schedule/state.h"
#include "schedule/words.h"

namespace tenon::schedule {

namespace {

std::string stage_name(const State& s, StageId id) {
  return s.has(StageRef{id}) ? s.stage(id).name : std::to_string(id);
}

std::string loop_name(const State& s, StageId stage, LoopId loop) {
  if (!s.has(StageRef{stage}) || !s.stage(stage).has_loop(loop)) return std::to_string(loop);
  return s.stage(stage).loop_name(loop);
}

const char* mark_word(Mark mark, LoopKind kind) {
  switch (mark) {
    case Mark::kParallel:
      return "parallel ";
    case Mark::kVectorize:
      return "vectorized ";
    case Mark::kTensorize:
      return "tensorized ";
    case Mark::kUnroll:
      return "unrolled ";
    case Mark::kThread:
      return "thread ";
    case Mark::kNone:
      return kind == LoopKind::kReduce ? "reduce " : "for ";
  }
  return "";
}

// `bounds` may be null: then loops are shown as declared.
void print_stage(const State& s, const Stage& st, const Bounds* bounds, const std::string& indent,
                 std::string& out) {
  std::string in = indent;
  const StageBounds* own = bounds ? &bounds->stages[static_cast<size_t>(st.id)] : nullptr;
  const std::vector<Mark> marks = own ? final_marks(s, st, *own) : std::vector<Mark>();
  for (const LoopId l : st.leaves) {
    const auto at = static_cast<size_t>(l);
    const Loop& lp = st.loop(l);
    out += in + mark_word(own ? marks[at] : lp.mark, lp.kind) + st.loop_name(l) + " in " +
           std::to_string(own ? own->extents[at] : lp.extent);
    if (l == st.init_at) out += "  # initial value set here";
    if (l == st.pipelined) out += "  # pipelined";
    out += "\n";
    in += "  ";
    for (const StageId a : s.attached_to(st.id, l)) print_stage(s, s.stage(a), bounds, in, out);
  }
  out += in + st.name + " = ...";
  if (st.scope != ir::Scope::kGlobal) out += "  # in " + std::string(word(st.scope));
  out += "\n";
}

}  // namespace

std::string render_illegal(const State& s, const Illegal& why) {
  const std::string_view sentence = illegal_sentence(why.code);
  const bool of_other = sentence.find("{loop} of {other}") != std::string_view::npos;
  std::string out;
  for (size_t i = 0; i < sentence.size();) {
    const size_t end = sentence[i] == '{' ? sentence.find('}', i) : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += sentence[i++];
      continue;
    }
    const std::string_view hole = sentence.substr(i + 1, end - i - 1);
    if (hole == "stage") out += stage_name(s, why.stage);
    if (hole == "other") out += stage_name(s, why.other);
    if (hole == "loop") out += loop_name(s, of_other ? why.other : why.stage, why.loop);
    if (hole == "value") out += std::to_string(why.value);
    if (hole == "scope") out += word(static_cast<ir::Scope>(why.value));
    if (hole == "intrinsic") out += word(static_cast<Dot>(why.value));
    if (hole == "algorithm") out += word(static_cast<Algorithm>(why.value));
    if (hole == "limit") out += std::to_string(why.limit);
    i = end + 1;
  }
  return out;
}

std::string to_string(const State& s) {
  std::string out;
  for (const StageId id : s.order()) {
    const Stage& st = s.stage(id);
    if (!st.layout.is_identity())
      out += "# " + st.name + " is stored as " + layout::to_string(st.layout) + "\n";
  }
  const Result<Bounds> bounds = infer_bounds(s);
  for (const StageId id : s.order()) {
    const Stage& st = s.stage(id);
    if (!st.is_input() && st.place == Place::kRoot) {
      print_stage(s, st, bounds ? &*bounds : nullptr, "", out);
    }
  }
  return out;
}

}  // namespace tenon::schedule
