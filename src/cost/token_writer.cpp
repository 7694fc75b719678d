// SPDX-License-Identifier: Apache-2.0
#include "cost/token_writer.h"

#include <array>
#include <cmath>

namespace tenon::cost {

namespace {

using schedule::Mark;

// Which column a loop's mark has.
enum MarkColumn : uint8_t {
  kParallelMark,
  kVectorMark,
  kUnrollMark,
  kTensorMark,
  kBlockMark,
  kThreadMark,
  kVThreadMark,
  kUnevenMark
};

MarkColumn column_of(ir::ThreadTag tag) {
  if (tag >= ir::ThreadTag::kVThread) return kVThreadMark;
  return tag >= ir::ThreadTag::kThreadX ? kThreadMark : kBlockMark;
}

}  // namespace

float log_of(int64_t v) {
  static const auto table = [] {
    std::array<float, 4096> t{};
    for (size_t i = 0; i < t.size(); ++i) t[i] = kLogUnit * std::log2(static_cast<float>(1 + i));
    return t;
  }();
  if (v >= 0 && v < std::ssize(table)) return table[static_cast<size_t>(v)];
  const double magnitude = std::log2(1 + std::abs(static_cast<double>(v)));
  return kLogUnit * static_cast<float>(v < 0 ? -magnitude : magnitude);
}

TokenMachine::TokenMachine(const target::Target& t) : gpu(!t.is_cpu()) {
  if (gpu) {
    const target::Gpu& g = t.gpu();
    vector_bytes = int64_t{g.warp_threads} * 4;
    registers = g.registers_per_thread;
    cores = g.multiprocessors;
    l1 = g.shared_bytes_per_multiprocessor;
    l2 = g.l2_bytes;
    return;
  }
  const target::Cpu& c = t.cpu();
  vector_bytes = c.vector_bytes;
  registers = c.vector_registers;
  cores = c.cores;
  l1 = c.l1d_bytes;
  l2 = c.l2_bytes;
  l3 = c.l3_bytes;
}

void TokenWriter::begin(size_t kind, uint8_t flags) {
  at_ = values_.size();
  values_.resize(at_ + kTokenColumns);
  values_[at_ + kind] = 1;
  for (size_t b = 0; b < 8; ++b) values_[at_ + kFlagsAt + b] = ((flags >> b) & 1) != 0 ? 1 : 0;
}

void TokenWriter::axis(const AxisFacts& f) {
  values_[at_ + kRoleAt + static_cast<size_t>(f.role)] = 1;
  values_[at_ + kAxisAt] = small(f.axis + 1, 8);
}

void TokenWriter::mark_loop(const SketchLoop& l) {
  const auto mark = [&](MarkColumn m) { values_[at_ + kMarksAt + m] = 1; };
  if (l.uneven) mark(kUnevenMark);
  switch (l.mark) {
    case Mark::kParallel:
      return mark(kParallelMark);
    case Mark::kVectorize:
      return mark(kVectorMark);
    case Mark::kUnroll:
      return mark(kUnrollMark);
    case Mark::kTensorize:
      return mark(kTensorMark);
    case Mark::kThread:
      return mark(column_of(l.tag));
    case Mark::kNone:
      return;
  }
}

}  // namespace tenon::cost
