// SPDX-License-Identifier: Apache-2.0
#include "runtime/region.h"

namespace tenon::runtime {
namespace {

// How long a thread that is awake may be late before others take its pieces: far above the time in which a spinning
// thread answers, far below what the kernel takes to run one again.
constexpr int64_t kGraceNs = 2000;

constexpr uint64_t kNumberMask = (uint64_t{1} << 48) - 1;

// The word Progress::taken as seen in one region.
struct Taken {
  int64_t front, back;
  bool over;  // the word is of a later region
};

Taken read_taken(uint64_t word, uint64_t region) {
  const uint64_t number = (region >> 1) & kNumberMask;
  const auto ahead = static_cast<int64_t>(((word >> 16) - number) << 16);
  if (ahead != 0) {
    return {0, 0, ahead > 0};  // of an earlier one: nothing is taken yet
  }
  return {static_cast<int64_t>((word >> 8) & 0xff), static_cast<int64_t>(word & 0xff), false};
}

uint64_t write_taken(uint64_t region, int64_t front, int64_t back) {
  return (region >> 1 & kNumberMask) << 16 | static_cast<uint64_t>(front) << 8 |
         static_cast<uint64_t>(back);
}

// Runs pieces [first, first + count) of the share of `owner`. The caller notes what it has run itself where nobody else looks.
void run_pieces(Desk& desk, const Job& job, int32_t runner, int32_t owner, int64_t first,
                int64_t count) {
  const Share all = job.shares[owner];
  const int64_t pieces = job.pieces_of(owner);
  if (count == pieces) {
    job.body(job.closure, all.begin, all.end);
  } else {
    const Cut cut(all.end - all.begin, pieces);
    job.body(job.closure, all.begin + cut.begin_of(first), all.begin + cut.begin_of(first + count));
  }
  if (runner == 0) {
    desk.expected[owner] -= count;
  } else {
    finished_of(desk, owner).fetch_add(count);
  }
}

// Takes one piece from the back and runs it; false: there is none.
bool run_last(Desk& desk, uint64_t region, const Job& job, int32_t runner, int32_t owner) {
  Progress& of_share = desk.progress[owner];
  const int64_t pieces = job.pieces_of(owner);
  for (;;) {
    const uint64_t seen = of_share.taken.acquire();
    const Taken t = read_taken(seen, region);
    if (t.over || t.front + t.back >= pieces) {
      return false;
    }
    if (of_share.taken.change(seen, write_taken(region, t.front, t.back + 1))) {
      run_pieces(desk, job, runner, owner, pieces - t.back - 1, 1);
      return true;
    }
  }
}

}  // namespace

void publish(Desk& desk, const Job& job) {
  const uint64_t last = desk.region.relaxed();
  desk.region.relaxed(last + 1);
  desk.body.release(job.body);
  desk.closure.release(job.closure);
  desk.n.release(job.n);
  desk.parts.release(job.parts);
  desk.pieces.release(job.pieces);
  desk.region.exchange(last + 2);
}

bool read_job(const Desk& desk, uint64_t region, Job& job) {
  tenon_body body = desk.body.acquire();
  void* closure = desk.closure.acquire();
  const int64_t n = desk.n.acquire();
  const int32_t parts = desk.parts.acquire();
  const int32_t pieces = desk.pieces.acquire();
  if (desk.region.relaxed() != region) {
    return false;
  }
  job = {body, closure, n, parts, pieces};
  return true;
}

int32_t Sleepers::take_first(int32_t end) {
  for (int32_t first = 0; first < end; first += 64) {
    uint64_t word = words_[first / 64].load();
    if (end - first < 64) {
      word &= bit(end) - 1;
    }
    for (; word != 0; word &= word - 1) {
      const int32_t thread = first + __builtin_ctzll(word);
      if (remove(thread)) {
        return thread;
      }
    }
  }
  return -1;
}

void run_own(Desk& desk, uint64_t region, const Job& job, int32_t thread) {
  Progress& of_share = desk.progress[thread];
  const int64_t pieces = job.pieces_of(thread);
  for (;;) {
    const uint64_t seen = of_share.taken.acquire();
    const Taken t = read_taken(seen, region);
    const int64_t left = pieces - t.front - t.back;
    if (t.over || left <= 0) {
      return;
    }
    const int64_t count = (left + 1) / 2;
    if (of_share.taken.change(seen, write_taken(region, t.front + count, t.back))) {
      run_pieces(desk, job, thread, thread, t.front, count);
    }
  }
}

void run_others(Desk& desk, uint64_t region, const Job& job, int32_t thread, const Sleepers& asleep,
                bool patient) {
  int64_t deadline = 0;
  for (;;) {
    bool waits = false;  // there are pieces of threads that have a moment of grace
    const bool late = !patient || (deadline != 0 && now_ns() >= deadline);
    for (int32_t i = 1; i < job.parts; ++i) {
      const int32_t other = (thread + i) % job.parts;
      const Taken t = read_taken(desk.progress[other].taken.acquire(), region);
      if (t.over) {
        return;
      }
      if (t.front + t.back >= job.pieces_of(other)) {
        continue;
      }
      if (t.front + t.back > 0 || late || asleep.has(other)) {
        while (run_last(desk, region, job, thread, other)) {
        }
      } else {
        waits = true;
      }
    }
    if (!waits) {
      return;
    }
    deadline = deadline == 0 ? now_ns() + kGraceNs : deadline;
    pause_cpu();
  }
}

void expect_all(Desk& desk, const Job& job) {
  for (int32_t i = 0; i < job.parts; ++i) {
    desk.expected[i] += job.pieces_of(i);
  }
}

// All are read before anything is decided, so that the lines come from other caches at the same time.
bool all_finished(Desk& desk, const Job& job) {
  int64_t missing = 0;
  for (int32_t i = 0; i < job.parts; ++i) {
    missing |= finished_of(desk, i).load() ^ desk.expected[i];
  }
  return missing == 0;
}

bool finish_soon(Desk& desk, const Job& job) {
  for (int looks = 0; looks < 32; ++looks) {
    if (all_finished(desk, job)) {
      return true;
    }
    pause_cpu();
  }
  return false;
}

void join(Desk& desk, const Job& job, int64_t spin_ns) {
  int64_t deadline = 0;
  for (int looks = 0; !all_finished(desk, job); ++looks) {
    pause_cpu();
    if (looks % 64 != 63) {
      continue;
    }
    const int64_t now = now_ns();
    deadline = deadline == 0 ? now + spin_ns : deadline;
    if (now < deadline) {
      continue;
    }
    desk.waiting.exchange(1);
    if (!all_finished(desk, job)) {
      sleep_if(desk.waiting, 1);
    }
  }
  if (desk.waiting.relaxed() != 0) {
    desk.waiting.relaxed(0);
  }
}

void leave(Desk& desk) {
  if (desk.waiting.load() == 1 && desk.waiting.change(1, 0)) {
    wake_sleeper(desk.waiting);
  }
}

}  // namespace tenon::runtime
