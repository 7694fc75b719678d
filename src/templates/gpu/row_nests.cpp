// SPDX-License-Identifier: Apache-2.0
#include "templates/gpu/row_nests.h"

#include "schedule/primitives/set_scope.h"
#include "templates/anchor.h"
#include "templates/gpu/kernels.h"

namespace tenon::templates::gpu {

using space::Loop;
using space::StageRef;
using space::Value;

namespace {

constexpr int64_t kChains = 4;
constexpr int64_t kMostParts = 64;  // of a row, that each thread adds up by itself
constexpr int64_t kAtLast = 16;     // parts that are left of more
constexpr int64_t kCopies = 32;     // of what a thread does with its elements

}  // namespace

// A part for each thread, and for a few of them again where there are many and do not exchange them.
void RowNests::add_sum(StageRef stage) {
  if (can_exchange(stage)) {
    nests_.push_back({.stage = stage,
                      .parts = {part_of(stage, lanes_, threads_)},
                      .chains = {},
                      .exchanged = true});
    return;
  }
  Nest n{.stage = stage, .parts = {part_of(stage, lanes_, threads_)}, .chains = {}};
  if (threads_ > kMostParts) n.parts.push_back(part_of(stage, 1, kAtLast));
  if (b_.refused()) return;
  // Chains are of one length, so that nobody looks for parts beyond those of the threads.
  const int64_t found = b_.extent(b_.axis(stage, b_.now(stage).axes.size()));
  const int64_t chains = divisor(found, kChains);
  if (chains > 1 && found > chains) n.chains = part_of(stage, 1, chains);
  nests_.push_back(std::move(n));
}

// Every thread of the row has a part, and warps can exchange them.
bool RowNests::can_exchange(StageRef stage) const {
  if (b_.refused() || !exchange_ || b_.now(stage).output.dtype().bytes() != 4) return false;
  int64_t length = 1;
  for (const te::Axis& a : b_.now(stage).reduce_axes) length *= a.extent;
  const int64_t n = threads_, warp = b_.target().gpu().warp_threads;
  return length % lanes_ == 0 && length / lanes_ >= n && (n <= warp || n % warp == 0);
}

void RowNests::add_kept(StageRef stage, size_t row_axes) {
  nests_.push_back({.stage = stage, .parts = {}, .chains = {}, .row_axes = row_axes});
}

StageRef RowNests::part_of(StageRef sum, int64_t lanes, Value threads) {
  if (b_.refused()) return {};
  std::vector<Loop> loops;
  const size_t rank = b_.now(sum).axes.size();
  for (size_t d = 0; d < b_.now(sum).reduce_axes.size(); ++d)
    loops.push_back(b_.axis(sum, rank + d));
  Loop all = b_.fuse(loops);
  if (lanes > 1) all = b_.split<2>(all, {lanes})[0];
  if (b_.extent(all) < threads) threads = b_.extent(all);
  return b_.rfactor(b_.split<2>(all, {threads})[1], static_cast<int64_t>(rank));
}

Loop RowNests::deal_out(StageRef stage, const std::vector<Loop>& columns) {
  if (b_.refused()) return {};
  Loop thread = b_.fuse(columns);
  std::vector<Loop> order;
  if (lanes_ > 1) {
    const auto [quads, lane] = b_.split<2>(thread, {lanes_});
    b_.vectorize(lane);
    thread = quads;
    order = {lane};
  }
  if (b_.extent(thread) > threads_) {
    const auto [steps, share] = b_.split<2>(thread, {threads_});
    thread = share;
    order.insert(order.begin(), steps);
  }
  order.insert(order.begin(), thread);
  b_.reorder(order);
  b_.bind(thread, ir::ThreadTag::kThreadX);
  b_.limit_unrolling(stage, kCopies);
  set_thread(stage, thread);
  return thread;
}

void RowNests::place(Loop block) {
  block_ = block;
  for (auto it = nests_.rbegin(); it != nests_.rend() && !b_.refused(); ++it) {
    it->parts.empty() ? keep(*it) : reduce(*it);
  }
}

void RowNests::keep(const Nest& n) {
  b_.compute_shared(n.stage, block_);
  if (b_.refused()) return;
  std::vector<Loop> columns;
  for (size_t d = n.row_axes; d < b_.now(n.stage).axes.size(); ++d)
    columns.push_back(b_.axis(n.stage, d));
  bind_rows(n.stage, n.row_axes);
  deal_out(n.stage, columns);
}

// Leading axes of a stage, of which one has the rows of a block.
void RowNests::bind_rows(StageRef stage, size_t axes) {
  std::vector<Loop> rows;
  for (size_t d = 0; d < axes; ++d) rows.push_back(b_.axis(stage, d));
  Loop row = b_.fuse(rows);
  if (b_.extent(row) > rows_) {
    const auto [steps, one] = b_.split<2>(row, {rows_});
    b_.unroll(steps);
    row = one;
  }
  b_.bind(row, ir::ThreadTag::kThreadY);
}

// By each thread that reads it, if all that do stand in one place.
void RowNests::reduce(const Nest& n) {
  const auto readers = b_.state().readers(n.stage.id);
  const auto at = readers.size() == 1 ? thread_.find(readers[0]) : thread_.end();
  if (n.exchanged) {
    const bool all = at != thread_.end() && b_.extent(at->second) == threads_;
    return all ? exchange_at(n, at->second) : exchange_for_all(n);
  }
  if (at == thread_.end()) return reduce_for_all(n);
  const Loop thread = at->second;
  add_up(n.stage, thread);
  finish(n, thread);
}

// The threads that read the result have it from each other.
void RowNests::exchange_at(const Nest& n, Loop thread) {
  b_.compute_at(n.stage, thread);
  b_.add(schedule::SetScope{n.stage, ir::Scope::kRegister});
  exchange(n);
}

// One of them leaves it in shared memory.
void RowNests::exchange_for_all(const Nest& n) {
  b_.compute_shared(n.stage, block_);
  if (b_.refused()) return;
  bind_rows(n.stage, b_.now(n.stage).axes.size());
  exchange(n);
}

void RowNests::exchange(const Nest& n) {
  if (b_.refused()) return;
  const StageRef part = n.parts[0];
  const Loop thread = b_.axis(n.stage, b_.now(n.stage).axes.size());
  b_.bind(thread, ir::ThreadTag::kThreadX);
  b_.compute_at(part, thread);
  b_.add(schedule::SetScope{part, ir::Scope::kRegister});
  write_out_sums(b_, part);
  set_thread(part, thread);
}

void RowNests::reduce_for_all(const Nest& n) {
  const StageRef sum = b_.cache_write(n.stage, ir::Scope::kRegister);
  b_.compute_shared(n.stage, block_);
  if (b_.refused()) return;
  std::vector<Loop> rows;
  for (size_t d = 0; d < b_.now(n.stage).axes.size(); ++d) rows.push_back(b_.axis(n.stage, d));
  const auto [all, one] = b_.split<2>(b_.fuse(rows), {1});
  const Loop row = b_.extent(all) > rows_ ? b_.split<2>(all, {rows_})[1] : all;
  b_.bind(row, ir::ThreadTag::kThreadY);
  b_.bind(one, ir::ThreadTag::kThreadX);
  add_up(sum, one);
  finish(n, one);
}

void RowNests::finish(const Nest& n, Loop thread) {
  if (n.chains) add_up(*n.chains, thread);
  for (auto part = n.parts.rbegin(); part != n.parts.rend() && !b_.refused(); ++part)
    place_part(*part);
}

void RowNests::add_up(StageRef sum, Loop thread) {
  b_.compute_at(sum, thread);
  b_.add(schedule::SetScope{sum, ir::Scope::kRegister});
  if (b_.refused()) return;
  for (const Loop& l : b_.leaves(sum)) b_.unroll(l);
}

// Summed up in a register, and left where all threads of the row can read it.
void RowNests::place_part(StageRef part) {
  const StageRef sum = b_.cache_write(part, ir::Scope::kRegister);
  b_.compute_shared(part, block_);
  if (b_.refused()) return;
  const size_t rank = b_.now(part).axes.size();
  const Loop thread = b_.axis(part, rank - 1);
  bind_rows(part, rank - 1);
  b_.bind(thread, ir::ThreadTag::kThreadX);
  b_.compute_at(sum, thread);
  write_out_sums(b_, sum);
  set_thread(part, thread);
  set_thread(sum, thread);
}

}  // namespace tenon::templates::gpu
