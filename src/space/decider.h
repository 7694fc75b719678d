// SPDX-License-Identifier: Apache-2.0
// Who fills the holes of a program while it is written. A skeleton asks hole by hole; the domain of a hole may depend
// on every choice before it, since the skeleton works it out from what it has written so far.
//
//   ByRule                   what the skeleton would take itself: the default program
//   Prefix(choices)          these choices, then by rule; remembers the first hole that was open
//   Blindly(rng)             any legal value
//   Follow(choices, other)   the choices of another program where the hole is the same, else `other`
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "schedule/trace.h"
#include "space/choice.h"
#include "space/domain.h"
#include "support/function_ref.h"

namespace tenon::space {

// How likely a blind draw takes each value of a domain; asked for where somebody draws.
using Weights = FunctionRef<std::vector<double>(const Domain&)>;
// The value that a complete trace shows; nothing where it does not tell.
using Read = FunctionRef<std::optional<int64_t>(const schedule::Trace&)>;

struct Hole {
  HoleId id;
  std::string_view name;  // for people: "kb"; of static storage
  Domain domain;          // two values or more: what has one is no decision
  int64_t rule = 0;       // what the skeleton takes by its own rule; in the domain
  Weights weights;        // empty: as Blindly has it; not to be kept
  Read read;              // may be empty; not to be kept
};

class Decider {
 public:
  virtual ~Decider() = default;
  virtual int64_t decide(const Hole& hole) = 0;  // a value of the domain
  // True: nobody wants the program that the decisions so far lead to. A skeleton may ask where it can stop; else the
  // program is refused once it is written.
  virtual bool gives_up() const { return false; }
};

class ByRule : public Decider {
 public:
  int64_t decide(const Hole& hole) override { return hole.rule; }
};

// By the weights of the hole. Where it has none, half of the draws take what the rule says, the others any value, small
// ones as often as large ones.
class Blindly : public Decider {
 public:
  explicit Blindly(Rng& rng) : rng_(rng) {}
  int64_t decide(const Hole& hole) override;

 private:
  Rng& rng_;
};

class Prefix : public Decider {
 public:
  explicit Prefix(std::span<const Choice> choices) : choices_(choices) {}
  int64_t decide(const Hole& hole) override;
  // The first hole after the choices; nothing if the program has no more.
  const std::optional<Hole>& open() const { return open_; }  // without functions
  // All choices were holes of the program, in this order, with legal values.
  bool fits() const { return fits_ && next_ == choices_.size(); }

 private:
  std::span<const Choice> choices_;
  size_t next_ = 0;
  bool fits_ = true;
  std::optional<Hole> open_;
};

class Follow : public Decider {
 public:
  Follow(std::span<const Choice> choices, Decider& other) : choices_(choices), other_(other) {}
  // A value that is not legal here becomes the nearest that is.
  int64_t decide(const Hole& hole) override;

 private:
  std::span<const Choice> choices_;
  Decider& other_;
  size_t next_ = 0;  // where the search for a hole begins: mostly they come in the same order
};

}  // namespace tenon::space
