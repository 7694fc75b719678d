// SPDX-License-Identifier: Apache-2.0
#include "fuzz/shrink.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "te/text.h"

namespace tenon::fuzz {
namespace {

using schedule::StageRef;
using schedule::Step;
using schedule::Trace;

// Those steps that are legal one after the other; the last one stays even if it breaks something.
Trace legal_part(const Case& c) {
  schedule::State s = initial_state(c);
  Trace out;
  for (const Step& step : c.trace) {
    try {
      if (!schedule::check(step, s)) {
        continue;
      }
      out.push_back(step);
      schedule::apply(step, s);
    } catch (const InternalError&) {
      if (out.empty() || !(out.back() == step)) {
        out.push_back(step);
      }
      break;
    }
  }
  return out;
}

template <class Fn>
void each_stage_ref(Step& step, Fn&& fn) {
  std::visit(
      [&](auto& p) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(p)>, std::monostate>) {
          schedule::for_each_field(p, [&](const auto&, auto& v) {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, StageRef>) {
              fn(v);
            } else if constexpr (std::is_same_v<T, std::vector<StageRef>>) {
              for (StageRef& r : v) {
                fn(r);
              }
            }
          });
        }
      },
      step);
}

// Every number in a step, for making it smaller.
template <class Fn>
void each_number(Step& step, Fn&& fn) {
  std::visit(
      [&](auto& p) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(p)>, std::monostate>) {
          schedule::for_each_field(p, [&](const auto&, auto& v) {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, int64_t>) {
              fn(v);
            } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
              for (int64_t& x : v) {
                fn(x);
              }
            }
          });
        }
      },
      step);
}

std::vector<std::string> stage_names(const te::ComputeDag& dag) {
  std::vector<std::string> names;
  for (const te::Input& in : dag.inputs) {
    names.push_back(in.tensor.name());
  }
  for (const te::OpRef& op : dag.ops) {
    names.push_back(op->name());
  }
  return names;
}

// The same steps for a dag that has lost some of its stages.
Trace renumbered(const Trace& trace, const te::ComputeDag& from, const te::ComputeDag& to) {
  const auto old_names = stage_names(from);
  const auto new_names = stage_names(to);
  const auto moved =
      static_cast<int32_t>(new_names.size()) - static_cast<int32_t>(old_names.size());
  Trace out;
  for (Step step : trace) {
    bool lost = false;
    each_stage_ref(step, [&](StageRef& r) {
      if (r.id < 0) {
        return;
      }
      if (static_cast<size_t>(r.id) >= old_names.size()) {
        r.id += moved;
        return;
      }
      const auto at =
          std::find(new_names.begin(), new_names.end(), old_names[static_cast<size_t>(r.id)]);
      lost = lost || at == new_names.end();
      r.id = static_cast<int32_t>(at - new_names.begin());
    });
    if (!lost) {
      out.push_back(step);
    }
  }
  return out;
}

// Drops ops and inputs that no output needs.
te::ComputeDag without_unused(te::ComputeDag dag) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < dag.ops.size(); ++i) {
      const te::Tensor t = dag.ops[i]->output;
      const bool output = std::any_of(dag.outputs.begin(), dag.outputs.end(),
                                      [&](const te::Tensor& o) { return o.same_as(t); });
      if (!output && dag.readers(t).empty()) {
        dag.ops.erase(dag.ops.begin() + static_cast<std::ptrdiff_t>(i));
        changed = true;
        break;
      }
    }
  }
  std::erase_if(dag.inputs, [&](const te::Input& in) { return dag.readers(in.tensor).empty(); });
  return dag;
}

// All dags that are one op smaller: it becomes an input, or the only output.
std::vector<te::ComputeDag> smaller_dags(const te::ComputeDag& dag) {
  std::vector<te::ComputeDag> out;
  for (size_t i = 0; i < dag.ops.size(); ++i) {
    const te::Tensor t = dag.ops[i]->output;
    te::ComputeDag last = dag;
    last.outputs = {t};
    out.push_back(without_unused(last));
    te::ComputeDag first = dag;
    first.ops.erase(first.ops.begin() + static_cast<std::ptrdiff_t>(i));
    std::erase_if(first.outputs, [&](const te::Tensor& o) { return o.same_as(t); });
    first.inputs.push_back({t, false});
    if (!first.outputs.empty()) {
      out.push_back(without_unused(first));
    }
  }
  return out;
}

// Every whole number `from` that stands alone in `text` replaced by `to`.
std::string replace_number(const std::string& text, const std::string& from,
                           const std::string& to) {
  const auto joins = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_';
  };
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const bool alone = text.compare(i, from.size(), from) == 0 && (i == 0 || !joins(text[i - 1])) &&
                       (i + from.size() == text.size() || !joins(text[i + from.size()]));
    out += alone ? to : text.substr(i, 1);
    i += alone ? from.size() : 1;
  }
  return out;
}

class Shrinker {
 public:
  Shrinker(Case c, const Fails& fails, int tries)
      : best_(std::move(c)), fails_(fails), tries_(tries) {}

  Case run() {
    for (bool better = true; better && tries_ > 0;) {
      better = drop_steps();
      better = drop_ops() || better;
      better = shrink_extents() || better;
      better = shrink_numbers() || better;
    }
    return best_;
  }

 private:
  bool accept(Case c) {
    if (tries_-- <= 0) {
      return false;
    }
    c.trace = legal_part(c);
    if (!fails_(c)) {
      return false;
    }
    best_ = std::move(c);
    return true;
  }

  bool drop_steps() {
    bool any = false;
    for (size_t chunk = std::max<size_t>(1, best_.trace.size() / 2); chunk > 0; chunk /= 2) {
      for (size_t i = best_.trace.size(); i-- > 0;) {
        if (i + chunk > best_.trace.size()) {
          continue;
        }
        Case c = best_;
        const auto at = c.trace.begin() + static_cast<std::ptrdiff_t>(i);
        c.trace.erase(at, at + static_cast<std::ptrdiff_t>(chunk));
        any = accept(std::move(c)) || any;
      }
    }
    return any;
  }

  bool drop_ops() {
    bool any = false;
    for (bool again = true; again && tries_ > 0;) {
      again = false;
      for (te::ComputeDag& dag : smaller_dags(*best_.dag)) {
        Case c = best_;
        c.trace = renumbered(c.trace, *best_.dag, dag);
        c.dag = std::make_shared<const te::ComputeDag>(std::move(dag));
        if (accept_dag(std::move(c))) {
          again = any = true;
          break;
        }
      }
    }
    return any;
  }

  // A dag put together from parts may not be valid.
  bool accept_dag(Case c) {
    try {
      c.dag->validate();
      c.dag = std::make_shared<const te::ComputeDag>(te::parse(te::to_text(*c.dag)));
    } catch (const UserError&) {
      return false;
    }
    return accept(std::move(c));
  }

  bool shrink_extents() {
    bool any = false;
    std::set<int64_t> extents;
    for (const te::OpRef& op : best_.dag->ops) {
      for (const auto* axes : {&op->axes, &op->reduce_axes}) {
        for (const te::Axis& a : *axes) {
          extents.insert(a.extent);
        }
      }
    }
    for (const int64_t e : extents) {
      for (int64_t smaller = 1; smaller < e; ++smaller) {
        if (with_extent(e, smaller)) {
          any = true;
          break;
        }
      }
    }
    return any;
  }

  bool with_extent(int64_t from, int64_t to) {
    Case c = best_;
    const std::string text =
        replace_number(te::to_text(*c.dag), std::to_string(from), std::to_string(to));
    try {
      c.dag = std::make_shared<const te::ComputeDag>(te::parse(text));
    } catch (const UserError&) {
      return false;
    }
    return accept(std::move(c));
  }

  bool shrink_numbers() {
    bool any = false;
    for (size_t i = 0; i < best_.trace.size(); ++i) {
      int count = 0;
      each_number(best_.trace[i], [&](int64_t&) { ++count; });
      for (int n = 0; n < count && i < best_.trace.size(); ++n) {
        any = shrink_number(i, n) || any;
      }
    }
    return any;
  }

  bool shrink_number(size_t step, int which) {
    for (int64_t v = 0; v < 4; ++v) {
      Case c = best_;
      int n = 0;
      bool smaller = false;
      each_number(c.trace[step], [&](int64_t& x) {
        if (n++ == which && v < x) {
          x = v;
          smaller = true;
        }
      });
      if (smaller && accept(std::move(c))) {
        return true;
      }
    }
    return false;
  }

  Case best_;
  const Fails& fails_;
  int tries_;
};

}  // namespace

Case shrink(Case c, const Fails& fails, int tries) {
  return Shrinker(std::move(c), fails, tries).run();
}

}  // namespace tenon::fuzz
