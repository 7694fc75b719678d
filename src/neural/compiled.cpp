// SPDX-License-Identifier: Apache-2.0
#include "neural/compiled.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "neural/attention_onnx.h"
#include "neural/compiled_network.h"
#include "support/check.h"

namespace tenon::neural {

namespace {

namespace fs = std::filesystem;
using cost::Keep;
using cost::Row;

constexpr size_t kTreesKept = 4;
constexpr size_t kRowsKept = 24;  // four networks with all their paddings

fs::path cache_for(Keep keep, const CompileNetworks& how) {
  return keep == Keep::kForOthers ? how.cache : fs::path();
}

class CompiledTrees : public cost::TreeScorer {
 public:
  CompiledTrees(std::unique_ptr<CompiledNetwork> network, int64_t columns, const TreeForm& form)
      : network_(std::move(network)), columns_(columns), form_(form) {}

  std::vector<float> score(std::span<const Row> rows) const override {
    std::vector<float> out;
    const auto batch = static_cast<size_t>(form_.batch);
    for (size_t i = 0; i < rows.size(); i += batch) {
      const auto some = rows.subspan(i, std::min(batch, rows.size() - i));
      std::vector<float> scores(batch);
      network_->run(tree_inputs(some, columns_, form_), scores);
      out.insert(out.end(), scores.begin(),
                 scores.begin() + static_cast<std::ptrdiff_t>(some.size()));
    }
    return out;
  }

 private:
  std::unique_ptr<CompiledNetwork> network_;
  int64_t columns_;
  TreeForm form_;
};

class CompiledRows : public cost::RowsScorer {
 public:
  CompiledRows(const cost::AttentionNetwork& network, Keep keep, const CompileNetworks& how)
      : net_(network), how_(how), cache_(cache_for(keep, how)) {
    TENON_CHECK(!how.rows.paddings.empty() &&
                std::is_sorted(how.rows.paddings.begin(), how.rows.paddings.end()));
    plain_ = cost::plain_rows_scorer(net_, keep);
  }

  std::vector<float> score(std::span<const Row> sets, uint32_t output) const override {
    TENON_CHECK(output < net_.sizes.outputs) << "output " << output;
    std::vector<size_t> order(sets.size());  // the longest first: a batch pads to its first
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(sets[b].rows(), a) < std::pair(sets[a].rows(), b);
    });
    std::vector<float> out(sets.size());
    size_t i = 0;
    for (; i < order.size() && padding_of(sets[order[i]]) == 0; ++i) {
      out[order[i]] = plain_->score(sets.subspan(order[i], 1), output)[0];
    }
    const auto batch = static_cast<size_t>(how_.rows.batch);
    for (; i < order.size(); i += batch) {
      score_batch(sets, std::span(order).subspan(i, std::min(batch, order.size() - i)), output,
                  out);
    }
    return out;
  }

 private:
  // 0: none is long enough.
  int64_t padding_of(const Row& set) const {
    const auto& all = how_.rows.paddings;
    const auto it = std::lower_bound(all.begin(), all.end(), static_cast<int64_t>(set.rows()));
    return it == all.end() ? 0 : *it;
  }

  void score_batch(std::span<const Row> sets, std::span<const size_t> which, uint32_t output,
                   std::vector<float>& out) const {
    const RowsForm form{how_.rows.batch, padding_of(sets[which[0]])};
    std::vector<const Row*> some;
    for (const size_t i : which) some.push_back(&sets[i]);
    std::vector<float> scores(static_cast<size_t>(form.batch));
    network(form, output).run(row_inputs(some, net_.sizes.columns, form), scores);
    for (size_t i = 0; i < which.size(); ++i) out[which[i]] = scores[i];
  }

  const CompiledNetwork& network(const RowsForm& form, uint32_t output) const {
    const std::lock_guard lock(mutex_);  // whoever needs the same waits for it
    auto& made = made_[{form.rows, output}];
    if (made == nullptr) {
      made = compile_network({"attention", attention_onnx(net_, output, form), kRowsKept}, cache_,
                             how_.threads);
    }
    return *made;
  }

  cost::AttentionNetwork net_;
  CompileNetworks how_;
  fs::path cache_;
  std::unique_ptr<cost::RowsScorer> plain_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<int64_t, uint32_t>, std::unique_ptr<CompiledNetwork>> made_;
};

}  // namespace

cost::MakeTreeScorer compiled_tree_scorers(const CompileNetworks& how) {
  return [how](const cost::TreeNetwork& network, Keep keep) -> std::unique_ptr<cost::TreeScorer> {
    auto made = compile_network({"treegru", tree_onnx(network, how.form), kTreesKept},
                                cache_for(keep, how), how.threads);
    return std::make_unique<CompiledTrees>(std::move(made), network.sizes.columns, how.form);
  };
}

cost::MakeRowsScorer compiled_rows_scorers(const CompileNetworks& how) {
  return
      [how](const cost::AttentionNetwork& network, Keep keep) -> std::unique_ptr<cost::RowsScorer> {
        return std::make_unique<CompiledRows>(network, keep, how);
      };
}

}  // namespace tenon::neural
