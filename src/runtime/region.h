// SPDX-License-Identifier: Apache-2.0
// One parallel loop on the threads of a pool: who runs which iterations, and when all are done.
//
//   n = 12 on two threads:   share 0: | 0-1 | 2-3 | 4-5 |   share 1: | 6-7 | 8-9 | 10-11 |
//
// [0, n) is cut into one contiguous share per thread, which is the same in every loop of that length, and a share into a
// few pieces. A thread takes half of what is left of its own share at a time, from the front. One that has nothing left
// takes single pieces from the back of the shares of others: of one that is at work at once, of one that has not begun
// after a moment of grace. So a thread that sleeps, or that the kernel runs late, is not waited for.
//
// Nobody registers for a region. A piece is taken by a compare-and-swap on a word that carries the region's number, which
// fails as soon as the region is over; the caller returns when as many pieces are finished as there were.
#pragma once

#include "runtime/wait.h"
#include "tenon/runtime.h"

namespace tenon::runtime {

struct Share {
  int64_t begin, end;
};

// [0, n) cut into contiguous parts whose sizes differ by at most one, longer ones first.
struct Cut {
  int64_t size, longer;  // of the shorter parts; how many are longer
  Cut(int64_t n, int64_t parts) : size(n / parts), longer(n % parts) {}
  int64_t size_of(int64_t i) const { return size + (i < longer ? 1 : 0); }
  int64_t begin_of(int64_t i) const { return i * size + (i < longer ? i : longer); }
  Share operator[](int64_t i) const { return {begin_of(i), begin_of(i + 1)}; }
};

struct Job {
  tenon_body body = nullptr;  // null: the pool ends
  void* closure = nullptr;
  int64_t n = 0;
  int32_t parts = 1;   // threads that have a share
  int32_t pieces = 1;  // of a share, if it has as many iterations
  Cut shares{n, parts};
  int64_t pieces_of(int32_t thread) const {
    const int64_t size = shares.size_of(thread);
    return size < pieces ? size : pieces;
  }
};

// The share of one thread. Its two words lie apart: the thread writes the first alone, unless others help, and the caller
// watches the second. 128 bytes: some CPUs fetch lines in pairs.
struct Progress {
  alignas(128) Atomic<uint64_t> taken{0};    // region << 16 | from the front << 8 | from the back
  alignas(128) Atomic<int64_t> finished{0};  // pieces, of all regions so far
};

// Where a caller lays down a region, and everything that belongs to it.
struct Desk {
  alignas(128) Atomic<uint64_t> region{0};  // twice its number; odd while the job is being written
  Atomic<tenon_body> body{nullptr};
  Atomic<void*> closure{nullptr};
  Atomic<int64_t> n{0};
  Atomic<int32_t> parts{0};
  Atomic<int32_t> pieces{0};
  Atomic<int64_t> finished_beside{0};  // of share `beside`, instead of the word in its Progress
  alignas(128) Progress* progress = nullptr;  // here and below: hardly ever written
  // The share of the only worker of a pool, else -1. Its word lies where the worker looks for regions: a line that both
  // sides write in turn goes to and fro half as often as two lines that one writes and the other reads.
  int32_t beside = -1;
  Word waiting{0};                        // 1: the caller sleeps until a thread leaves
  alignas(128) Atomic<bool> busy{false};  // here and below: the caller's alone
  const void* caller = nullptr;           // the thread that was here last; null: none yet
  int32_t home = -1;                      // the CPU that is left free for it
  int64_t* expected =
      nullptr;  // per share: `finished` when all is done, but for what the caller ran
};

inline Atomic<int64_t>& finished_of(Desk& desk, int32_t share) {
  return share == desk.beside ? desk.finished_beside : desk.progress[share].finished;
}

// Makes the job known to everyone who looks at the desk. Nobody else may do so until it is done.
void publish(Desk& desk, const Job& job);

// False if the desk has gone on since `region` was seen there.
bool read_job(const Desk& desk, uint64_t region, Job& job);

// The threads of the pool that sleep, as bits.
class Sleepers {
 public:
  static constexpr int32_t kMost = 1024;
  void add(int32_t thread) { words_[thread / 64].fetch_or(bit(thread)); }
  // True if the thread was among them.
  bool remove(int32_t thread) {
    return (words_[thread / 64].fetch_and(~bit(thread)) & bit(thread)) != 0;
  }
  bool has(int32_t thread) const { return (words_[thread / 64].relaxed() & bit(thread)) != 0; }
  // The first below `end`, which is removed; -1: none.
  int32_t take_first(int32_t end);

 private:
  static uint64_t bit(int32_t thread) { return uint64_t{1} << (thread % 64); }
  Atomic<uint64_t> words_[kMost / 64]{};
};

// Runs what is left of the thread's own share, in pieces.
void run_own(Desk& desk, uint64_t region, const Job& job, int32_t thread);

// Runs pieces of other threads' shares until none is left to take. Without patience, also of those that have not begun.
void run_others(Desk& desk, uint64_t region, const Job& job, int32_t thread, const Sleepers& asleep,
                bool patient);

// Counts the pieces of the region that was just published into what is expected.
void expect_all(Desk& desk, const Job& job);
bool all_finished(Desk& desk, const Job& job);

// Looks a few times. Where each share is one piece, watching what is finished disturbs nobody, unlike looking for work.
bool finish_soon(Desk& desk, const Job& job);

// Waits until all pieces are finished: spinning for `spin_ns`, then asleep.
void join(Desk& desk, const Job& job, int64_t spin_ns);

// Wakes the caller if it sleeps. Whoever has finished a piece calls this before it looks elsewhere.
void leave(Desk& desk);

}  // namespace tenon::runtime
