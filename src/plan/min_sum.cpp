// SPDX-License-Identifier: Apache-2.0
#include "plan/min_sum.h"

#include <algorithm>
#include <limits>
#include <set>

#include "support/check.h"

namespace tenon::plan {

// Costs of joint values of some variables; the last of `variables` varies fastest.
struct Table {
  std::vector<size_t> variables;  // ascending; none: it has been taken into another one
  std::vector<double> costs;
};

// What is known about a variable is kept up to date when one beside it goes, so that each costs as much as its neighbours.
class Elimination {
 public:
  Elimination(const MinSum& m, size_t most)
      : m_(m), most_(most), tables_of_(m.single_.size()), beside_(m.single_.size()) {
    values_.assign(m.single_.size(), 0);
    sizes_.assign(m.single_.size(), 1);
    for (size_t v = 0; v < m.single_.size(); ++v) add({{v}, m.single_[v]});
    for (const MinSum::Pair& p : m.pairs_) add(as_table(p));
    for (size_t v = 0; v < m.single_.size(); ++v) enlist(v);
  }

  MinSum::Values run() {
    while (!by_size_.empty()) {
      const auto [size, v] = *by_size_.begin();
      if (size > most_) {
        fix(by_neighbours_.rbegin()->second);
      } else {
        eliminate(v);
      }
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

  void add(Table t) {
    for (const size_t v : t.variables) {
      tables_of_[v].push_back(tables_.size());
      for (const size_t o : t.variables) {
        if (o != v) beside_[v].insert(o);
      }
    }
    tables_.push_back(std::move(t));
  }

  size_t index_of(const std::vector<size_t>& variables, const MinSum::Values& values) const {
    size_t i = 0;
    for (const size_t v : variables) i = i * extent(v) + values[v];
    return i;
  }

  // Entries of the table that stands for `v` afterwards; no more than just above the bound.
  size_t size_without(size_t v) const {
    size_t n = 1;
    for (const size_t o : beside_[v]) {
      n *= extent(o);
      if (n > most_) return most_ + 1;
    }
    return n;
  }

  void enlist(size_t v) {
    sizes_[v] = size_without(v);
    by_size_.emplace(sizes_[v], v);
    by_neighbours_.emplace(beside_[v].size(), v);
  }
  void delist(size_t v) {
    by_size_.erase({sizes_[v], v});
    by_neighbours_.erase({beside_[v].size(), v});
  }

  // The tables of v, which are given up.
  std::vector<Table> take_tables(size_t v) {
    std::vector<Table> out;
    for (const size_t i : tables_of_[v]) {
      if (!tables_[i].variables.empty()) out.push_back(std::move(tables_[i]));
      tables_[i] = {};
    }
    tables_of_[v].clear();
    return out;
  }

  // Leaves one value of it, that of the sweeps: its tables lose nothing but their other entries.
  void fix(size_t v) {
    if (swept_.empty()) swept_ = m_.sweep();
    delist(v);
    const std::set<size_t> others = std::move(beside_[v]);
    beside_[v].clear();
    for (const size_t o : others) {
      delist(o);
      beside_[o].erase(v);
    }
    for (Table& t : take_tables(v)) add(t.variables.size() > 1 ? without(t, v) : std::move(t));
    std::vector<double> only(extent(v), std::numeric_limits<double>::infinity());
    only[swept_[v]] = 0;
    add({{v}, std::move(only)});
    for (const size_t o : others) enlist(o);
    enlist(v);
  }

  Table without(const Table& t, size_t v) {
    Table out;
    for (const size_t o : t.variables) {
      if (o != v) out.variables.push_back(o);
    }
    values_[v] = swept_[v];
    for_each(out.variables, values_,
             [&] { out.costs.push_back(t.costs[index_of(t.variables, values_)]); });
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
    delist(v);
    for (const size_t o : beside_[v]) {
      delist(o);
      beside_[o].erase(v);
    }
    const std::vector<Table> with = take_tables(v);
    Table sum{{beside_[v].begin(), beside_[v].end()}, {}};
    Eliminated e{v, sum.variables, {}};
    for_each(sum.variables, values_, [&] {
      double least = std::numeric_limits<double>::infinity();
      size_t best = 0;
      for (size_t i = 0; i < extent(v); ++i) {
        values_[v] = i;
        double c = 0;
        for (const Table& t : with) c += t.costs[index_of(t.variables, values_)];
        if (c < least) {
          least = c;
          best = i;
        }
      }
      sum.costs.push_back(least);
      e.best.push_back(best);
    });
    if (!sum.variables.empty()) add(std::move(sum));
    for (const size_t o : e.others) enlist(o);
    eliminated_.push_back(std::move(e));
  }

  const MinSum& m_;
  size_t most_;
  MinSum::Values swept_;
  MinSum::Values values_;  // scratch, for one joint value at a time
  std::vector<Table> tables_;
  std::vector<std::vector<size_t>> tables_of_;  // per variable; some are given up
  std::vector<std::set<size_t>> beside_;        // per variable: those it shares tables with
  std::vector<size_t> sizes_;                   // per variable: size_without when it was enlisted
  std::set<std::pair<size_t, size_t>> by_size_, by_neighbours_;  // of the variables that are left
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
  if (single_[a].size() == 1 || single_[b].size() == 1) {  // it is decided for one of them
    std::vector<double>& open = single_[single_[a].size() == 1 ? b : a];
    for (size_t i = 0; i < open.size(); ++i) open[i] += costs[i];
    return;
  }
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
  std::vector<std::vector<const Pair*>> pairs(single_.size());
  for (const Pair& p : pairs_) {
    pairs[p.a].push_back(&p);
    pairs[p.b].push_back(&p);
  }
  // Sums up the costs that depend on the value of one variable.
  const auto share = [&](size_t i) {
    double sum = single_[i][v[i]];
    for (const Pair* p : pairs[i]) sum += p->costs[v[p->a] * single_[p->b].size() + v[p->b]];
    return sum;
  };
  constexpr int kSweeps = 20;
  bool better = true;
  for (int s = 0; s < kSweeps && better; ++s) {
    better = false;
    for (size_t i = 0; i < v.size(); ++i) {
      size_t now = v[i];
      double best = share(i);
      for (v[i] = 0; v[i] < single_[i].size(); ++v[i]) {
        if (const double c = share(i); c < best) {
          best = c;
          now = v[i];
          better = true;
        }
      }
      v[i] = now;
    }
  }
  return v;
}

MinSum::Values MinSum::solve(size_t most) const { return Elimination(*this, most).run(); }

}  // namespace tenon::plan
