// SPDX-License-Identifier: Apache-2.0
#include "compile/min_sum.h"

#include <algorithm>
#include <limits>
#include <set>

#include "support/check.h"

namespace tenon::compile {

// Costs of joint values of some variables; the last of `variables` varies fastest.
struct Table {
  std::vector<size_t> variables;  // ascending
  std::vector<double> costs;
};

class Elimination {
 public:
  Elimination(const MinSum& m, size_t most) : m_(m), most_(most) {
    for (size_t v = 0; v < m.single_.size(); ++v) tables_.push_back({{v}, m.single_[v]});
    for (const MinSum::Pair& p : m.pairs_) tables_.push_back(as_table(p));
  }

  MinSum::Values run() {
    std::set<size_t> left;
    for (size_t v = 0; v < m_.single_.size(); ++v) left.insert(v);
    while (!left.empty()) {
      const size_t v = cheapest(left);
      if (size_without(v) > most_) {
        fix(most_joined(left));
        continue;
      }
      left.erase(v);
      eliminate(v);
    }
    MinSum::Values values(m_.single_.size(), 0);
    for (auto e = eliminated_.rbegin(); e != eliminated_.rend(); ++e) {
      values[e->variable] = e->best[index_of(e->others, values)];
    }
    return values;
  }

 private:
  struct Eliminated {
    size_t variable;
    std::vector<size_t> others;  // that its best value depends on
    std::vector<size_t> best;
  };

  size_t extent(size_t v) const { return m_.single_[v].size(); }

  Table as_table(const MinSum::Pair& p) const {
    if (p.a < p.b) return {{p.a, p.b}, p.costs};
    Table t{{p.b, p.a}, std::vector<double>(p.costs.size())};
    const size_t na = extent(p.a), nb = extent(p.b);
    for (size_t i = 0; i < na; ++i) {
      for (size_t j = 0; j < nb; ++j) t.costs[j * na + i] = p.costs[i * nb + j];
    }
    return t;
  }

  size_t index_of(const std::vector<size_t>& variables, const MinSum::Values& values) const {
    size_t i = 0;
    for (const size_t v : variables) i = i * extent(v) + values[v];
    return i;
  }

  std::vector<size_t> others_of(size_t v) const {
    std::set<size_t> all;
    for (const Table& t : tables_) {
      if (std::binary_search(t.variables.begin(), t.variables.end(), v)) {
        all.insert(t.variables.begin(), t.variables.end());
      }
    }
    all.erase(v);
    return {all.begin(), all.end()};
  }

  // Entries of the table that stands for `v` afterwards; no more than just above the bound.
  size_t size_without(size_t v) const {
    size_t n = 1;
    for (const size_t o : others_of(v)) {
      n *= extent(o);
      if (n > most_) return most_ + 1;
    }
    return n;
  }

  size_t cheapest(const std::set<size_t>& left) const {
    return *std::min_element(left.begin(), left.end(), [&](size_t a, size_t b) {
      const size_t x = size_without(a), y = size_without(b);
      return x != y ? x < y : a < b;
    });
  }
  size_t most_joined(const std::set<size_t>& left) const {
    return *std::max_element(left.begin(), left.end(), [&](size_t a, size_t b) {
      const size_t x = others_of(a).size(), y = others_of(b).size();
      return x != y ? x < y : a < b;
    });
  }

  // Leaves one value of it, that of the sweeps: its tables lose nothing but their other entries.
  void fix(size_t v) {
    if (swept_.empty()) swept_ = m_.sweep();
    for (Table& t : tables_) {
      const auto at = std::find(t.variables.begin(), t.variables.end(), v);
      if (at == t.variables.end() || t.variables.size() == 1) continue;
      t = without(t, v, swept_[v]);
    }
    std::vector<double> only(extent(v), std::numeric_limits<double>::infinity());
    only[swept_[v]] = 0;
    tables_.push_back({{v}, std::move(only)});
  }

  Table without(const Table& t, size_t v, size_t value) const {
    Table out;
    for (const size_t o : t.variables) {
      if (o != v) out.variables.push_back(o);
    }
    MinSum::Values values(m_.single_.size(), 0);
    values[v] = value;
    for_each(out.variables, values,
             [&] { out.costs.push_back(t.costs[index_of(t.variables, values)]); });
    return out;
  }

  // Every joint value of `variables`, in the order of a table.
  template <class F>
  void for_each(const std::vector<size_t>& variables, MinSum::Values& values, const F& f) const {
    for (const size_t v : variables) values[v] = 0;
    for (;;) {
      f();
      size_t d = variables.size();
      while (d > 0 && ++values[variables[d - 1]] == extent(variables[d - 1])) {
        values[variables[--d]] = 0;
      }
      if (d == 0) return;
    }
  }

  void eliminate(size_t v) {
    std::vector<Table> with;
    std::erase_if(tables_, [&](Table& t) {
      if (!std::binary_search(t.variables.begin(), t.variables.end(), v)) return false;
      with.push_back(std::move(t));
      return true;
    });
    std::set<size_t> all;
    for (const Table& t : with) all.insert(t.variables.begin(), t.variables.end());
    all.erase(v);
    Table sum{{all.begin(), all.end()}, {}};
    Eliminated e{v, sum.variables, {}};
    MinSum::Values values(m_.single_.size(), 0);
    for_each(sum.variables, values, [&] {
      double least = std::numeric_limits<double>::infinity();
      size_t best = 0;
      for (size_t i = 0; i < extent(v); ++i) {
        values[v] = i;
        double c = 0;
        for (const Table& t : with) c += t.costs[index_of(t.variables, values)];
        if (c < least) {
          least = c;
          best = i;
        }
      }
      sum.costs.push_back(least);
      e.best.push_back(best);
    });
    if (!sum.variables.empty()) tables_.push_back(std::move(sum));
    eliminated_.push_back(std::move(e));
  }

  const MinSum& m_;
  size_t most_;
  MinSum::Values swept_;
  std::vector<Table> tables_;
  std::vector<Eliminated> eliminated_;
};

size_t MinSum::add(std::vector<double> costs) {
  TENON_CHECK(!costs.empty()) << "a variable without values";
  single_.push_back(std::move(costs));
  return single_.size() - 1;
}

void MinSum::pair(size_t a, size_t b, const std::vector<double>& costs) {
  TENON_CHECK(a < single_.size() && b < single_.size());
  if (a == b) {  // costs of a value with itself
    for (size_t i = 0; i < single_[a].size(); ++i)
      single_[a][i] += costs[i * single_[a].size() + i];
    return;
  }
  TENON_CHECK(costs.size() == single_[a].size() * single_[b].size());
  pairs_.push_back({a, b, costs});
}

double MinSum::cost(const Values& v) const {
  double sum = 0;
  for (size_t i = 0; i < single_.size(); ++i) sum += single_[i][v[i]];
  for (const Pair& p : pairs_) sum += p.costs[v[p.a] * single_[p.b].size() + v[p.b]];
  return sum;
}

MinSum::Values MinSum::sweep() const {
  Values v(single_.size());
  for (size_t i = 0; i < v.size(); ++i) {
    v[i] = static_cast<size_t>(std::min_element(single_[i].begin(), single_[i].end()) -
                               single_[i].begin());
  }
  constexpr int kSweeps = 20;
  double best = cost(v);
  for (int s = 0; s < kSweeps; ++s) {
    const double before = best;
    for (size_t i = 0; i < v.size(); ++i) {
      const size_t was = v[i];
      size_t now = was;
      for (v[i] = 0; v[i] < single_[i].size(); ++v[i]) {
        if (const double c = cost(v); c < best) {
          best = c;
          now = v[i];
        }
      }
      v[i] = now;
    }
    if (best >= before) break;
  }
  return v;
}

MinSum::Values MinSum::solve(size_t most) const { return Elimination(*this, most).run(); }

}  // namespace tenon::compile
