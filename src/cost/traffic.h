// SPDX-License-Identifier: Apache-2.0
// What a statement moves between memory and the processor: per buffer the bytes and cache lines, how much of it is
// distinct, and after how long an element is used again; per loop the arithmetic and the memory below it.
#pragma once

#include <vector>

#include "cost/statements.h"

namespace tenon::cost {

enum class Reuse : uint8_t {
  kLoop,    // an enclosing loop does not move the access
  kSerial,  // an earlier statement under the same loop touched it
  kNone,
};

struct Traffic {
  bool read = false, written = false;
  double bytes = 0, unique_bytes = 0;
  double lines = 0, unique_lines = 0;
  Reuse reuse = Reuse::kNone;
  double distance_iterations = 0, distance_bytes = 0, reuse_count = 0;
  double stride = 0;  // of the innermost loop, in elements; 0: it does not move the access
};

// Below one loop: everything that it runs through.
struct LevelWork {
  double ops = 0;
  double bytes = 0;
};

// Statements have to come in the order of execution: what earlier ones touched under shared loops is kept.
class TrafficMeter {
 public:
  explicit TrafficMeter(double line_bytes) : line_bytes_(line_bytes) {}
  // Runs the loops of `s`. Results stay valid until the next call.
  void measure(Statement& s, double ops_per_iteration);
  const std::vector<Traffic>& traffic() const { return traffic_; }  // by use
  const std::vector<LevelWork>& levels() const { return levels_; }  // innermost first

 private:
  struct Touch {
    const ir::BufferNode* buffer;
    double elements;
    int32_t next;
  };
  struct LoopTouches {
    double bytes = 0;
    int32_t first = -1;
  };

  void touch(Statement& s, double ops_per_iteration);
  double touched(const Statement& s, size_t use);
  void record(int32_t loop, const Use& u, double elements);
  void find_moves(const Statement& s);
  bool moves(const Statement& s, size_t use, size_t loop) const {
    return moves_[use * s.loops.size() + loop];
  }
  void find_lines(const Statement& s, size_t use);
  double least_stride(const Statement& s, size_t use, size_t loop) const;
  void find_unique_lines(const Statement& s, size_t use);
  void find_reuse(const Statement& s, size_t use);
  bool find_serial_reuse(const NestLoop& loop, const Use& u, Traffic& t) const;

  double line_bytes_;
  std::vector<Traffic> traffic_;
  std::vector<LevelWork> levels_;
  std::vector<double> region_;  // of each dimension of each use, all loops so far
  std::vector<char> moves_;     // use x loop: the loop occurs in an index
  std::vector<LoopTouches> loops_;
  std::vector<Touch> touches_;
};

}  // namespace tenon::cost
