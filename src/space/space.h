// SPDX-License-Identifier: Apache-2.0
// What may be decided about a task, as a tree of partial programs. A program is written by one skeleton, which asks for
// a value at each hole: the layouts of the edges that are free, the algorithm, the structure (which template or which
// sketch), then sizes, places and marks. A prefix of the choices is a partial program.
//
//   Partial p;                                        // nothing decided
//   while (const auto hole = space.next(p)) {         // its legal values
//     p = *space.choose(p, hole->domain.at(0));
//   }
//   Result<Program> program = space.build(p);         // or why there is none
//   space.recognise(program->trace) == p;
//
// Domains may depend on all choices before them: the skeleton is run again with the prefix, and what it asks next is
// the open hole. Nobody has to describe dependences in a language of its own.
#pragma once

#include <memory>
#include <optional>

#include "space/builder.h"
#include "task/task.h"

namespace tenon::space {

// Writes a program through a builder. Many threads may write at once; the same answers give the same program.
class Skeleton {
 public:
  virtual ~Skeleton() = default;
  virtual void write(Builder& b) const = 0;
  // Choices that are known to be good without a search; the other holes go by rule.
  virtual std::vector<Choices> seeds() const { return {}; }
};

struct Partial {
  Choices made;
  bool operator==(const Partial&) const = default;
};

// A program that fits: `trace`, replayed on the task's dag, gives `state`, which keeps the task's edges, or those that
// were decided where layouts are decisions of the space.
struct Program {
  Choices choices;
  schedule::Trace trace;
  schedule::State state;
  uint64_t hash = 0;                               // of the trace
  std::shared_ptr<const schedule::Bounds> bounds;  // of the state, where they are known already
};

class Space {
 public:
  Space(task::Task t, std::unique_ptr<Skeleton> skeleton);

  const task::Task& task() const { return task_; }
  const Skeleton& skeleton() const { return *skeleton_; }

  // The open hole; nothing if the program is complete. Choices that are none of this space's are a bug.
  std::optional<Hole> next(const Partial& p) const;
  // Refused: the value is not legal here.
  Result<Partial> choose(const Partial& p, int64_t value) const;
  // Of a complete program. Refused: it does not fit, and why.
  Result<Program> build(const Partial& complete) const;
  // The program that a decider leads to.
  Result<Program> write(Decider& decider) const;
  // What is known to be good, to be tried before any other: the seeds of the skeleton that fit.
  std::vector<Program> first() const;
  // A blind draw.
  Result<Program> sample(Rng& rng) const;
  // The choices that lead to this trace; nothing if none do.
  std::optional<Partial> recognise(const schedule::Trace& trace) const;
  // A program from a record; refused if it does not fit the task. `known` is what the record says its choices are; the
  // program has none where they do not lead to the trace.
  Result<Program> adopt(const schedule::Trace& trace, const Choices& known = {}) const;

 private:
  Result<schedule::Bounds> serves(const Builder& b) const;
  bool leads_to(const Choices& choices, const schedule::Trace& trace) const;

  task::Task task_;
  schedule::State initial_;
  std::unique_ptr<Skeleton> skeleton_;
  std::unique_ptr<PrefixTree> tree_;
};

}  // namespace tenon::space
