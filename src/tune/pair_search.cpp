// SPDX-License-Identifier: Apache-2.0
#include "tune/pair_search.h"

#include <algorithm>
#include <tuple>

#include "support/check.h"
#include "tune/best_schedules.h"
#include "tune/task_times.h"

namespace tenon::tune {
namespace {

constexpr double kPays = 0.98;  // of the time of the two: measurements are not better than that
constexpr double kGuessedFlops = 1e11,
                 kGuessedBytes = 1e10;  // per second, of what was not measured

TaskToTune task_of_call(const plan::Network& n, const std::string& call) {
  for (size_t step = 0; step < n.task_of.size(); ++step) {
    if (n.call_of(step) == call) return to_tune(n, static_cast<size_t>(n.task_of[step]));
  }
  throw InternalError("no step computes " + call);
}

// Equal pairs of all models.
struct Pair {
  TaskToTune first, second, joined;
  struct Call {
    size_t model;
    std::string name, first;  // of the second call, and of the one in front of it
  };
  std::vector<Call> calls;

  bool same_as(const Pair& o) const {
    const auto keys = [](const Pair& p) {
      return std::tie(p.first.task.key, p.second.task.key, p.joined.task.key);
    };
    return keys(*this) == keys(o);
  }

  // Its first input and its output lie as those of the two: else conversions around them would
  // differ too.
  bool fits() const {
    const auto lies = [](const task::Task& t, const te::Tensor& tensor) {
      return t.edges.at(tensor.name());
    };
    const auto image = [](const task::Task& t) {
      return std::find_if(t.dag->inputs.begin(), t.dag->inputs.end(),
                          [](const te::Input& in) { return !in.constant; })
          ->tensor;
    };
    const task::Task &a = first.task, &b = second.task, &both = joined.task;
    return layout::same_storage(lies(a, image(a)), lies(both, image(both))) &&
           layout::same_storage(lies(b, b.dag->outputs[0]), lies(both, both.dag->outputs[0]));
  }

  // What the two cost in all networks, before anything is measured.
  double guessed_s() const {
    double s = 0;
    for (const TaskToTune* t : {&first, &second})
      s += t->task.flops / kGuessedFlops + t->task.bytes / kGuessedBytes;
    return s * static_cast<double>(calls.size());
  }
};

}  // namespace

bool may_have_pairs(const graph::Graph& g) {
  return std::any_of(g.nodes.begin(), g.nodes.end(), [](const graph::Node& n) {
    const auto* conv = std::get_if<graph::Conv>(&n.op);
    return conv != nullptr && conv->params.groups > 1;
  });
}

struct PairSearch::Impl {
  TaskTimes times;
  Tell tell;
  std::vector<Pair> pairs;
  size_t next = 0;
  std::vector<plan::CallDecisions> chosen;
  double gained_s = 0;

  void add(const PairNetworks& m, size_t model) {
    for (const auto& [name, first] : m.joined.plan.pairs.calls) {
      Pair p{task_of_call(m.apart, first),
             task_of_call(m.apart, name),
             task_of_call(m.joined, name),
             {}};
      if (!p.fits()) continue;
      auto it =
          std::find_if(pairs.begin(), pairs.end(), [&](const Pair& o) { return o.same_as(p); });
      if (it == pairs.end()) it = pairs.insert(it, std::move(p));
      it->calls.push_back({model, name, first});
    }
  }

  bool step(const std::function<bool()>& stop) {
    if (next == pairs.size()) return false;
    const Pair& p = pairs[next];
    try {
      try_one(p, stop);
    } catch (const InternalError& e) {
      // A fault of ours costs this pair, not the night's work.
      tell(events::Fault{p.joined.task.key, e.what()});
    }
    ++next;
    return true;
  }

  void try_one(const Pair& p, const std::function<bool()>& stop) {
    const double apart = times.seconds_of(p.first, stop) + times.seconds_of(p.second, stop);
    const double joined = times.seconds_of(p.joined, stop);
    for (const TaskToTune* t : {&p.first, &p.second, &p.joined}) {
      if (!times.knows(t->task.key)) return;  // cut short
    }
    const bool pays = joined < kPays * apart;
    tell(events::PairTried{.task = p.joined.task.key,
                           .label = p.joined.task.label,
                           .first = p.first.task.key,
                           .second = p.second.task.key,
                           .calls = std::ssize(p.calls),
                           .s = joined,
                           .apart_s = apart,
                           .taken = pays});
    if (!pays) return;
    gained_s += static_cast<double>(p.calls.size()) * (apart - joined);
    for (const Pair::Call& c : p.calls) chosen[c.model].calls[c.name] = c.first;
  }
};

PairSearch::PairSearch(const std::vector<PairNetworks>& models, const TunerOptions& tuner,
                       const PairOptions& options, measure::Measurer& measurer, db::Database* db,
                       const std::string& run, Tell tell)
    : impl_(new Impl{
          .times = TaskTimes(tuner, options.trials, options.rounds, measurer, db, run, tell),
          .tell = tell ? tell : [](const events::Event&) {},
          .pairs = {},
          .chosen = std::vector<plan::CallDecisions>(
              models.size(), plan::CallDecisions{{}, plan::From::kMeasured})}) {
  for (size_t m = 0; m < models.size(); ++m) impl_->add(models[m], m);
  std::sort(impl_->pairs.begin(), impl_->pairs.end(), [](const Pair& a, const Pair& b) {
    const double one = a.guessed_s(), other = b.guessed_s();
    return one != other ? one > other : a.joined.task.key < b.joined.task.key;
  });
}
PairSearch::~PairSearch() = default;

bool PairSearch::step(const std::function<bool()>& stop) { return impl_->step(stop); }
size_t PairSearch::pairs() const { return impl_->pairs.size(); }
const std::vector<plan::CallDecisions>& PairSearch::chosen() const { return impl_->chosen; }
double PairSearch::gained_s() const { return impl_->gained_s; }
int64_t PairSearch::measured() const { return impl_->times.measured(); }

}  // namespace tenon::tune
