// SPDX-License-Identifier: Apache-2.0
// What the interpreter runs on: threads with variable slots, and memory that knows which of its
// elements were written and by whom.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/interp.h"
#include "ir/ir.h"

namespace tenon::ir::interp {

// Who touches memory inside a concurrent region: an iteration of a parallel loop, or a thread of a
// block. The two numbers are only compared.
struct Agent {
  uint64_t block = 0;
  uint64_t thread = 0;
  bool operator==(const Agent&) const = default;
};
inline constexpr Agent kNobody{~uint64_t{0}, 0};
inline constexpr Agent kSeveral{~uint64_t{0}, 1};

// Accesses that carry the same stamp may happen at once. Each region (an outermost parallel or
// thread-bound loop) has its own stamp; for shared memory each barrier starts a new one.
struct Clock {
  uint64_t last = 0;
  uint64_t region = 0;
  uint64_t phase = 0;  // within the current block, between two barriers
  void enter_region() { region = phase = ++last; }
  void next_phase() { phase = ++last; }
};

class Storage;

struct Thread {
  std::vector<int64_t> vars;
  std::vector<Storage*> buffers;
  Agent agent;
  std::array<int64_t, 3> number = {-1, -1, -1};  // along x, y and z of its block; -1: not bound
  bool concurrent = false;                       // inside a region
};
using Active = std::span<Thread* const>;

// The contents of one buffer.
class Storage {
 public:
  // `tracked`: several agents may reach it, so accesses inside regions are checked for races.
  Storage(const BufferNode* buffer, const Clock& clock, bool tracked);
  // Everything unwritten and untouched again.
  void forget();
  void fill(const Array& from);
  // Copies the elements that were written.
  void spill(Array& to) const;
  void forbid_stores() { read_only_ = true; }
  Scalar read(int64_t offset, const Thread& t);
  void write(int64_t offset, Scalar v, const Thread& t);

 private:
  struct Touch {
    uint64_t stamp = 0;
    Agent writer;
    Agent reader;
  };
  Touch& touch(int64_t offset);
  void note_read(int64_t offset, const Thread& t);
  void note_write(int64_t offset, const Thread& t);

  const BufferNode* buffer_;
  const Clock& clock_;
  bool tracked_;
  bool read_only_ = false;
  std::vector<Scalar> cells_;
  std::vector<uint8_t> written_;
  std::vector<Touch> touches_;  // made at the first access inside a region
};

}  // namespace tenon::ir::interp
