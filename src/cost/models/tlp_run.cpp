// SPDX-License-Identifier: Apache-2.0
#include "cost/models/tlp_run.h"

#include <algorithm>

#include "cost/models/xgb_library.h"
#include "cost/token_writer.h"

namespace tenon::cost {

namespace {

constexpr Parameter kSmallTrees[] = {
    {"max_depth", "3"},
    {"gamma", "0.0001"},
    {"min_child_weight", "1"},
    {"eta", "0.3"},
};
constexpr int kRunRounds = 200;
constexpr size_t kEnoughOfRun = 4;  // programs that ran

}  // namespace

std::vector<float> short_form(const Row& row) {
  std::vector<float> out(kShortColumns);
  float* sums = out.data() + kShortLoops * kShortOfLoop;
  size_t loops = 0;
  for (size_t r = 0; r < row.rows(); ++r) {
    const float* from = row.values.data() + r * row.width;
    for (size_t c = 0; c < row.width; ++c) sums[c] += from[c];
    if (from[kNestToken] == 0 || loops == kShortLoops) continue;
    float* to = out.data() + loops++ * kShortOfLoop;
    to = std::copy_n(from + kRoleAt, kAxisRoles, to);
    to = std::copy_n(from + kMarksAt, kTokenMarks, to);
    for (const size_t n : {0U, 1U, 3U, 4U, 11U, 13U, 14U}) *to++ = from[kNumbersAt + n];
  }
  return out;
}

void TlpRun::add(const Sample& s, float score) {
  programs_.add({{short_form(s.row), kShortColumns, {}}, s.task, s.seconds});
  network_.push_back(double{score});
}

bool TlpRun::train() {
  const auto ok = std::count_if(programs_.timing.begin(), programs_.timing.end(), ran);
  if (static_cast<size_t>(ok) < kEnoughOfRun || !has_xgb()) return false;
  const Matrix data(programs_.values, kShortColumns);
  Lessons lessons{data, packs_of(programs_), {}};
  const Footing footing = stand_on(network_, rank_loss, lessons);
  const How how{{kSmallTrees, kShortColumns, seed_}, rank_loss, Stop::kRecall, kRunRounds};
  Booster booster = grow(how, lessons, std::vector<char>(programs_.size(), 1));
  booster.settle();
  trees_.emplace(Trees{footing, std::move(booster)});
  return true;
}

void TlpRun::correct(std::span<const Row> rows, std::span<float> scores) const {
  if (!trees_ || rows.empty()) return;
  std::vector<float> values, added(rows.size());
  values.reserve(rows.size() * kShortColumns);
  for (const Row& r : rows) {
    const auto one = short_form(r);
    values.insert(values.end(), one.begin(), one.end());
  }
  trees_->booster.predict(values, added);
  const auto history = static_cast<float>(trees_->footing.history);
  const auto run = static_cast<float>(trees_->footing.run);
  const auto offset = static_cast<float>(trees_->footing.offset);
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i] = offset + history * scores[i] + run * added[i];
  }
}

}  // namespace tenon::cost
