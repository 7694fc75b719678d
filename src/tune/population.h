// SPDX-License-Identifier: Apache-2.0
// How many candidates a strategy looks at for a batch of proposals: thinking is to take no longer
// than a share of measuring.
//
//   Population p(2048, 1, Cores::kOwn);  // 256 in a round at first, for one thread
//   p.adapt(1.0, 4.0);                 // thinking took a quarter of measuring: twice as many
//   p.of_batch(16, 32);                // half of them for half a round
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::tune {

// Whose cores thinking takes.
enum class Cores : uint8_t {
  kOwn,       // builders do not want them, or not at that time: half of measuring
  kBuilders,  // each second of thinking is one in which fewer programs are built: an eighth
};

class Population {
 public:
  // At most `most`; one core that also builds programs looks at fewer at first.
  Population(size_t most, int threads, Cores cores);

  // As many per proposed program as in a whole round.
  size_t of_batch(int64_t batch, int64_t round) const;
  // After a batch: what thinking and measuring took.
  void adapt(double searched_s, double measured_s);

 private:
  size_t most_;
  double share_;
  size_t size_;  // of a whole round
};

}  // namespace tenon::tune
