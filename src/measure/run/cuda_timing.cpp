// SPDX-License-Identifier: Apache-2.0
#include "measure/run/cuda_timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "measure/run/timing.h"

namespace tenon::run {
namespace {

namespace cuda = runtime::cuda;
using Clock = std::chrono::steady_clock;

constexpr double kRepetitionS = 100e-6;  // at least: events are a few microseconds apart
constexpr int kMostLaunches = 64;        // of the module in a graph
constexpr double kLongS = 2e-3;          // of a module that is alone in its graph
constexpr double kVeryLongS = 0.02;      // once is enough to know so
constexpr int kTrials = 3;
constexpr int kBatch = 4;  // repetitions that are put into the stream at once
constexpr size_t kLeast = 3, kMost = 1000;
constexpr double kLongTimes = 10;     // of min_run_s: then even one repetition is enough
constexpr double kIdleS = 0.5;        // after which clocks may have slowed down
constexpr double kWarmUpS = 0.02;     // of work then, at least
constexpr double kWarmUpMostS = 0.2;  // and at most
constexpr double kSteady = 0.02;      // two batches that differ by less are as fast as it gets
constexpr int64_t kMostCopiedBytes = int64_t{4} << 30;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

cuda::DevicePointer pointer_of(const std::unique_ptr<Buffer>& b) {
  return static_cast<const CardBuffer&>(*b).data();  // all buffers of this device are such
}

class Events {
 public:
  Events(Card& card, size_t count) : card_(card), events_(count) {
    for (cuda::Event& e : events_) card_.check(card_.driver().EventCreate(&e, 0), "timing");
  }
  ~Events() {
    for (const cuda::Event e : events_) {
      if (e != nullptr) card_.driver().EventDestroy(e);
    }
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  void record(size_t i) {
    card_.check(card_.driver().EventRecord(events_[i], card_.stream()), "timing");
  }
  double between(size_t i, size_t j) const {
    float ms = 0;
    card_.check(card_.driver().EventElapsedTime(&ms, events_[i], events_[j]), "timing");
    return 1e-3 * static_cast<double>(ms);
  }

 private:
  Card& card_;
  std::vector<cuda::Event> events_;
};

// The parameters that are to be cold, several times, and memory that drives them out of the cache where they are few.
class Copies {
 public:
  Copies(Card& card, const Arguments& a, const TimingRules& rules, int launches) : card_(card) {
    for (const auto& p : a.params) base_.push_back(pointer_of(p));
    base_.push_back(pointer_of(a.workspace));
    if (!rules.cold) return;
    int64_t bytes = 0;
    for (size_t i = 0; i < a.params.size(); ++i) {
      if (rules.flushed[i]) bytes += a.params[i]->bytes();
    }
    if (bytes == 0) return;
    const int64_t enough = 2 * card.l2_bytes();
    const int64_t wanted = std::min<int64_t>(launches, enough / bytes + 1);
    const int64_t copies = std::max<int64_t>(1, std::min(wanted, kMostCopiedBytes / bytes));
    for (int64_t c = 0; c < copies; ++c) add_copy(a, rules);
    if (copies * bytes < enough) flusher_ = std::make_unique<CardBlock>(card, enough);
  }

  const CardModule::Pointers& base() const { return base_; }
  const CardModule::Pointers& of(int launch) const {
    return copied_.empty() ? base_ : copied_[static_cast<size_t>(launch) % copied_.size()];
  }
  bool flushes() const { return flusher_ != nullptr; }
  void flush() {
    card_.check(card_.driver().MemsetD8Async(
                    flusher_->data(), 0, static_cast<size_t>(flusher_->bytes()), card_.stream()),
                "flushing");
  }

 private:
  void add_copy(const Arguments& a, const TimingRules& rules) {
    CardModule::Pointers p = base_;
    for (size_t i = 0; i < a.params.size(); ++i) {
      if (!rules.flushed[i]) continue;
      buffers_.push_back(std::make_unique<CardBlock>(card_, a.params[i]->bytes()));
      p[i] = buffers_.back()->data();
      if (a.params[i]->bytes() == 0) continue;
      card_.check(card_.driver().MemcpyDtoDAsync(
                      p[i], base_[i], static_cast<size_t>(a.params[i]->bytes()), card_.stream()),
                  "copying on the card");
    }
    copied_.push_back(std::move(p));
  }

  Card& card_;
  CardModule::Pointers base_;
  std::vector<CardModule::Pointers> copied_;
  std::vector<std::unique_ptr<CardBlock>> buffers_;
  std::unique_ptr<CardBlock> flusher_;
};

class Graph {
 public:
  Graph(Card& card, const CardModule& module, const Copies& copies, int launches) : card_(card) {
    try {
      make(module, copies, launches);
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~Graph() { destroy(); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch() { card_.check(card_.driver().GraphLaunch(exec_, card_.stream()), "launching"); }

 private:
  void make(const CardModule& module, const Copies& copies, int launches) {
    card_.check(card_.driver().GraphCreate(&graph_, 0), "making a graph");
    cuda::GraphNode last = nullptr;
    for (int i = 0; i < launches; ++i) module.add_to(graph_, last, copies.of(i));
    card_.check(card_.driver().GraphInstantiate(&exec_, graph_, 0), "making a graph");
  }
  void destroy() {
    if (exec_ != nullptr) card_.driver().GraphExecDestroy(exec_);
    if (graph_ != nullptr) card_.driver().GraphDestroy(graph_);
  }

  Card& card_;
  cuda::Graph graph_ = nullptr;
  cuda::GraphExec exec_ = nullptr;
};

class Timer {
 public:
  Timer(Card& card, const CardModule& module, const Arguments& a, const TimingRules& rules)
      : card_(card),
        module_(module),
        rules_(rules),
        events_(card, 2 * kBatch),
        launches_(launches_for(try_out(a))),
        copies_(card, a, rules, launches_),
        graph_(card, module, copies_, launches_) {}

  std::vector<double> run() {
    const bool idle = idle_s_ > kIdleS;
    std::vector<double> seconds = warm_up(idle);
    if (!idle && clearly_slower(seconds, rules_)) return seconds;
    seconds.clear();
    const auto start = Clock::now();
    for (;;) {
      const std::vector<double> more = batch();
      seconds.insert(seconds.end(), more.begin(), more.end());
      const double spent = since(start);
      if (seconds.size() >= kMost || spent > kLongTimes * rules_.min_run_s) break;
      if (seconds.size() < kLeast) continue;
      if (spent >= rules_.min_run_s || well_known(seconds) || clearly_slower(seconds, rules_)) {
        break;
      }
    }
    return seconds;
  }

 private:
  // Roughly, one launch after the other; what a program does wrong shows here.
  double try_out(const Arguments& a) {
    CardModule::Pointers p;
    for (const auto& b : a.params) p.push_back(pointer_of(b));
    p.push_back(pointer_of(a.workspace));
    idle_s_ = card_.idle_s();
    const auto start = Clock::now();
    module_.enqueue(p);
    card_.wait();
    if (const double first = since(start); first >= kVeryLongS) return first;
    events_.record(0);
    for (int i = 0; i < kTrials; ++i) module_.enqueue(p);
    events_.record(1);
    card_.wait();
    return events_.between(0, 1) / kTrials;
  }
  static int launches_for(double about_s) {
    if (about_s >= kLongS) return 1;
    const double wanted = std::ceil(kRepetitionS / std::max(about_s, 1e-7));
    return std::clamp(static_cast<int>(wanted), 4, kMostLaunches);
  }

  // What the last batch took.
  std::vector<double> warm_up(bool idle) {
    if (!idle && launches_ == 1) return {};
    const auto start = Clock::now();
    for (double before = 0;;) {
      std::vector<double> seconds = batch();
      const double now = *std::min_element(seconds.begin(), seconds.end());
      const bool steady = std::abs(now - before) <= kSteady * now;
      const double spent = since(start);
      if (spent >= kWarmUpMostS || !idle || (spent >= kWarmUpS && steady)) return seconds;
      before = now;
    }
  }

  // What is to be cold leaves the cache, and what is not comes back by a launch that leaves the copies alone.
  void prepare() {
    if (!copies_.flushes()) return;
    copies_.flush();
    module_.enqueue(copies_.base());
  }

  // Several repetitions are put into the stream without waiting, so that a host that is busy delays none of them; the
  // first launch of the graph gives it a start.
  std::vector<double> batch() {
    const size_t count = launches_ > 1 ? kBatch : 1;
    if (launches_ > 1 && !copies_.flushes()) graph_.launch();
    for (size_t i = 0; i < count; ++i) {
      prepare();
      events_.record(2 * i);
      graph_.launch();
      events_.record(2 * i + 1);
    }
    card_.wait();
    std::vector<double> seconds;
    for (size_t i = 0; i < count; ++i)
      seconds.push_back(events_.between(2 * i, 2 * i + 1) / launches_);
    return seconds;
  }

  Card& card_;
  const CardModule& module_;
  const TimingRules& rules_;
  double idle_s_ = 0;
  Events events_;
  int launches_;
  Copies copies_;
  Graph graph_;
};

}  // namespace

std::vector<double> time_on_card(Card& card, const CardModule& module, const Arguments& a,
                                 const TimingRules& rules) {
  return Timer(card, module, a, rules).run();
}

}  // namespace tenon::run
