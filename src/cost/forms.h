// SPDX-License-Identifier: Apache-2.0
// Index expressions as numbers over the loops around one statement: a coefficient per loop, and for what is not
// linear (quotients of fused loops, clamps, indices that are read) atoms with an interval of their own. Doubles
// throughout: exact for every index that occurs, and nothing overflows.
//
//   loops f (12), j (4):   (f // 3)*4 + j   =>   {f: 0, j: 1} + 4 * quotient({f: 1}, 3)
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "ir/ir.h"

namespace tenon::cost {

using FormId = int32_t;

struct Range {
  double lo = 0, hi = 0;
};

class Forms {
 public:
  // Forgets all forms; those to come are over loops of these extents, outermost first, none running yet.
  void reset(std::span<const int64_t> extents);
  void name_loop(const ir::VarNode* v, size_t loop) { names_.emplace_back(v, ~int32_t(loop)); }
  void name_form(const ir::VarNode* v, FormId f) { names_.emplace_back(v, f); }
  // A variable without a name counts as 0: its loop has one iteration.
  FormId compile(const ir::Expr& e);
  FormId compile_sum(const ir::Expr& a, const ir::Expr& b);

  // From now on this loop takes all its values; the others that do not run stand at 0.
  void run_loop(size_t loop);
  Range range(FormId f) const;
  bool uses(FormId f, size_t loop) const;
  // What the first step of this loop adds, the others at 0.
  double step(FormId f, size_t loop) const;

 private:
  enum class AtomKind : uint8_t { kQuotient, kRemainder, kMin, kMax, kUnknown };
  struct Atom {
    AtomKind kind;
    FormId a, b;
    double divisor;
  };
  struct Term {
    int32_t atom;
    double factor;
    int32_t next;
  };

  FormId make();
  double* row(FormId f) { return &coefficients_[static_cast<size_t>(f) * stride_]; }
  const double* row(FormId f) const { return &coefficients_[static_cast<size_t>(f) * stride_]; }
  void add(const ir::Expr& e, double k, FormId out);
  void add_variable(const ir::VarNode* v, double k, FormId out);
  void add_binary(const ir::Binary& b, const ir::Expr& e, double k, FormId out);
  void add_form(FormId in, double k, FormId out);
  void add_atom(Atom atom, double k, FormId out);
  void add_unknown(const ir::Expr& e, double k, FormId out);
  void add_dependences(const ir::Expr& e, FormId out);
  Range range(const Atom& a) const;
  double at(FormId f, size_t loop, double value) const;
  double at(const Atom& a, size_t loop, double value) const;

  size_t stride_ = 1;  // loops, at least 1
  std::vector<double> extents_;
  std::vector<std::pair<const ir::VarNode*, int32_t>> names_;  // a form, or ~loop
  std::vector<double> coefficients_;                           // forms x stride
  std::vector<double> constants_;                              // by form
  std::vector<Range> running_;  // by form: the linear part over the loops that run
  std::vector<int32_t> terms_of_;
  std::vector<Term> terms_;
  std::vector<Atom> atoms_;
};

}  // namespace tenon::cost
