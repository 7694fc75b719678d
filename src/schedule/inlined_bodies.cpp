// SPDX-License-Identifier: Apache-2.0
#include "schedule/inlined_bodies.h"

#include <algorithm>
#include <utility>

namespace tenon::schedule {
namespace {

constexpr int kMostEntries = 64;

bool same_axes(const std::vector<te::Axis>& a, const std::vector<te::Axis>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const te::Axis& x, const te::Axis& y) {
                      return x.var.same_as(y.var) && x.extent == y.extent;
                    });
}

}  // namespace

// The extents of the reader's axes count, since the new body is simplified by them.
struct InlinedBodies::Entry {
  ir::Expr before;
  std::vector<te::Axis> axes, reduce_axes;
  te::OpRef inlined;
  ir::Expr after;
  Entry* older = nullptr;
  int count = 1;  // of entries from here on

  bool is(const te::ComputeOp& reader, const te::ComputeOp& op) const {
    return reader.body.same_as(before) && &op == inlined.get() && same_axes(reader.axes, axes) &&
           same_axes(reader.reduce_axes, reduce_axes);
  }
};

InlinedBodies::~InlinedBodies() {
  for (const Entry* e = newest_.load(); e != nullptr;) delete std::exchange(e, e->older);
}

const ir::Expr* InlinedBodies::find(const te::ComputeOp& reader,
                                    const te::ComputeOp& inlined) const {
  for (const Entry* e = newest_.load(std::memory_order_acquire); e != nullptr; e = e->older) {
    if (e->is(reader, inlined)) return &e->after;
  }
  return nullptr;
}

// Two threads may add the same at once; the older of the two is then never found again.
void InlinedBodies::add(const te::ComputeOp& reader, const te::OpRef& inlined,
                        const ir::Expr& body) {
  Entry* newest = newest_.load(std::memory_order_acquire);
  if (newest != nullptr && newest->count >= kMostEntries) return;
  auto* fresh = new Entry{reader.body, reader.axes, reader.reduce_axes, inlined, body};
  do {
    fresh->older = newest;
    fresh->count = newest == nullptr ? 1 : newest->count + 1;
  } while (!newest_.compare_exchange_weak(newest, fresh, std::memory_order_acq_rel));
}

}  // namespace tenon::schedule
