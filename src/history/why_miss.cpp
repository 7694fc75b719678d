// SPDX-License-Identifier: Apache-2.0
#include "history/why_miss.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "history/records.h"
#include "history/selection.h"
#include "history/task_history.h"
#include "support/check.h"
#include "support/nearest.h"
#include "support/text.h"
#include "task/serve.h"

namespace tenon::history {
namespace {

// A text as named fields, in order.
using Fields = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

// "cores=2" has its own name; others go by their place.
Fields named_fields(const std::vector<std::string>& parts, const std::vector<std::string>& names) {
  Fields fields;
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    if (equals != std::string::npos) {
      fields.emplace_back(parts[i].substr(0, equals), parts[i].substr(equals + 1));
    } else {
      fields.emplace_back(i < names.size() ? names[i] : fmt::format("field {}", i + 1), parts[i]);
    }
  }
  return fields;
}

// Code built for one target may have been measured on another machine: "FINGERPRINT on
// FINGERPRINT".
Fields target_fields(const std::string& measured) {
  const std::vector<std::string> names = {"triple", "cpu", "features", "machine"};
  const size_t on = measured.find(" on ");
  Fields fields = named_fields(split(measured.substr(0, on), ';'), names);
  if (on == std::string::npos) return fields;
  for (auto& [name, value] : named_fields(split(measured.substr(on + 4), ';'), names)) {
    fields.emplace_back("host " + name, value);
  }
  return fields;
}

Fields protocol_fields(const std::string& protocol) {
  return named_fields(split(protocol, ' '), {"version", "threads", "cache"});
}

// "C: split 0 by 8" per tensor; row-major ones have no line.
Fields edge_fields(const std::string& edges) {
  Fields fields;
  for (const std::string& line : split(edges, '\n')) {
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) {
      fields.emplace_back(line.substr(0, colon), line.substr(colon + 2));
    }
  }
  return fields;
}

// Of long lists ("+avx2,+fma,...") only what the other does not have.
std::string only_in(const std::string& a, const std::string& b) {
  const auto others = split(b, ',');
  std::string text;
  for (const std::string& word : split(a, ',')) {
    if (std::find(others.begin(), others.end(), word) == others.end()) {
      text += (text.empty() ? "" : ",") + word;
    }
  }
  return text;
}

std::vector<FieldDifference> differences(const std::string& prefix, const Fields& wanted,
                                         const Fields& recorded, const std::string& absent) {
  std::vector<std::string> names;
  std::map<std::string, std::string> a(wanted.begin(), wanted.end());
  std::map<std::string, std::string> b(recorded.begin(), recorded.end());
  for (const Fields* fields : {&wanted, &recorded}) {
    for (const auto& [name, value] : *fields) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::vector<FieldDifference> list;
  for (const std::string& name : names) {
    const std::string w = a.contains(name) ? a[name] : absent;
    const std::string r = b.contains(name) ? b[name] : absent;
    if (w == r) continue;
    const bool words = name == "features";
    list.push_back({prefix + name, words ? only_in(w, r) : w, words ? only_in(r, w) : r});
  }
  return list;
}

class Search {
 public:
  Search(const db::Database& db, const std::vector<db::TaskRow>& tasks,
         const std::vector<db::Group>& groups, const Wanted& wanted)
      : db_(db), tasks_(tasks), groups_(groups), w_(wanted) {}

  Miss run() const {
    const auto own = keys_of(w_.task.key);
    if (own.contains({w_.task.key, w_.target, w_.protocol})) return same_key();
    std::set<std::string> protocols, targets;
    for (const RecordKey& k : own) {
      if (k.target == w_.target) protocols.insert(k.protocol);
      targets.insert(k.target);
    }
    if (!protocols.empty()) return other_protocol(protocols);
    if (!targets.empty()) return other_target(targets);
    return other_task();
  }

 private:
  std::set<RecordKey> keys_of(const std::string& task) const {
    std::set<RecordKey> keys;
    for (const db::Group& g : groups_) {
      if (g.task == task) keys.insert({g.task, g.target, g.protocol});
    }
    return keys;
  }

  Miss same_key() const {
    const TaskHistory history = history_of(db_, {}, {w_.task.key, w_.target, w_.protocol});
    if (history.best(true) != nullptr) return fastest_verified(history);
    if (const auto* best = history.best(false)) {
      return {"unverified",
              fmt::format("{} measured, the best {}, but none was compared with the reference",
                          history.measured(), time_text(best->median_s)),
              {},
              "",
              0};
    }
    std::string kinds;
    for (const auto& [kind, n] : history.failures()) {
      kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", n, kind);
    }
    return {"failed",
            fmt::format("{} measured, and none ran right: {}", history.measured(), kinds),
            {},
            "",
            0};
  }

  Miss fastest_verified(const TaskHistory& history) const {
    std::string why;
    try {
      const task::Task t = task_of(w_.task, w_.compiled_for);
      for (const task::Measurement* m : history.fastest(SIZE_MAX)) {
        if (!m->verified) continue;
        const task::Served program = task::serve_json(t, m->trace);
        if (program) {
          return {"hit",
                  fmt::format("{} of {} measured", time_text(m->median_s), history.measured()),
                  {},
                  "",
                  m->median_s};
        }
        if (why.empty()) why = program.why;
      }
    } catch (const UserError& e) {
      why = e.what();
    }
    return {"refused", "what was verified cannot be used: " + why, {}, "", 0};
  }

  // The nearest is the one with the fewest differences.
  template <class FieldsOf>
  std::vector<FieldDifference> nearest(const std::set<std::string>& texts,
                                       const std::string& wanted, const std::string& prefix,
                                       const FieldsOf& fields_of) const {
    std::vector<FieldDifference> best;
    for (const std::string& text : texts) {
      auto list = differences(prefix, fields_of(wanted), fields_of(text), "none");
      if (best.empty() || list.size() < best.size()) best = std::move(list);
    }
    return best;
  }

  Miss other_protocol(const std::set<std::string>& protocols) const {
    return {"protocol",
            fmt::format("measured on this target, but otherwise: {}", fmt::join(protocols, " | ")),
            nearest(protocols, w_.protocol, "protocol.", protocol_fields), "", 0};
  }

  Miss other_target(const std::set<std::string>& targets) const {
    return {"target",
            fmt::format("measured on {} other machine{} or setting{}", targets.size(),
                        targets.size() == 1 ? "" : "s", targets.size() == 1 ? "" : "s"),
            nearest(targets, w_.target, "target.", target_fields), "", 0};
  }

  Miss other_task() const {
    const db::TaskRow* found = nullptr;
    std::vector<FieldDifference> best;
    for (const db::TaskRow& t : tasks_) {
      if (t.te != w_.task.te || t.key == w_.task.key || t.te.empty()) continue;
      auto list =
          differences("stored.", edge_fields(w_.task.edges), edge_fields(t.edges), "row-major");
      if (found == nullptr || list.size() < best.size()) {
        found = &t;
        best = std::move(list);
      }
    }
    if (found != nullptr) {
      return {"layouts", "the same computation is known with its tensors stored otherwise", best,
              found->key, 0};
    }
    const bool there = std::any_of(tasks_.begin(), tasks_.end(),
                                   [&](const auto& t) { return t.key == w_.task.key; });
    Miss miss{there ? "never-measured" : "unknown",
              there ? "the task is known, but nothing was measured for it"
                    : "nothing is known of this computation",
              {},
              "",
              0};
    if (const db::TaskRow* near = nearest_label()) {
      miss.nearest = near->key;
      miss.differences = {{"label", w_.task.label, near->label}};
      if (near->label == w_.task.label) {
        miss.differences = {
            {"flops", fmt::format("{:.4g}", w_.task.flops), fmt::format("{:.4g}", near->flops)}};
      }
    }
    return miss;
  }

  const db::TaskRow* nearest_label() const {
    const db::TaskRow* found = nullptr;
    int best = 0;
    for (const db::TaskRow& t : tasks_) {
      if (t.key == w_.task.key || t.label.empty()) continue;
      const int distance = edit_distance(t.label, w_.task.label);
      if (found == nullptr || distance < best) {
        found = &t;
        best = distance;
      }
    }
    return found;
  }

  const db::Database& db_;
  const std::vector<db::TaskRow>& tasks_;
  const std::vector<db::Group>& groups_;
  const Wanted& w_;
};

}  // namespace

Miss why_miss(const db::Database& db, const std::vector<db::TaskRow>& tasks,
              const std::vector<db::Group>& groups, const Wanted& wanted) {
  return Search(db, tasks, groups, wanted).run();
}

}  // namespace tenon::history
