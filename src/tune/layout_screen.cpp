// SPDX-License-Identifier: Apache-2.0
#include "tune/layout_screen.h"

#include <algorithm>
#include <iterator>

namespace tenon::tune {
namespace {

constexpr size_t kWaiting = 128;

}  // namespace

// What is in front of the queue is what the strategy knows to be good: without a trained model it
// comes first.
std::optional<space::Program> LayoutScreen::next(Rng& rng) {
  const bool judges = model_ != nullptr && model_->trained();
  if (waiting_.size() < (judges ? kWaiting / 2 : 1)) refill(rng);
  if (waiting_.empty()) return std::nullopt;
  const auto at = waiting_.begin() + static_cast<std::ptrdiff_t>(judges ? most_promising() : 0);
  space::Program out = std::move(at->layout);
  waiting_.erase(at);
  return out;
}

void LayoutScreen::refill(Rng& rng) {
  const bool judges = model_ != nullptr && model_->trained();
  for (space::Program& p : strategy_.propose(judges ? kWaiting : 1, rng)) {
    Waiting w{std::move(p), {}};
    const auto t = judges ? task_under_(w.layout) : std::nullopt;
    if (t) {
      auto row = model_->encode({t->task, t->start});
      if (row) w.row = std::move(row.value());
    }
    screened_ += judges ? 1 : 0;
    waiting_.push_back(std::move(w));
  }
}

size_t LayoutScreen::most_promising() const {
  std::vector<cost::Row> rows;
  std::vector<size_t> of;
  for (size_t i = 0; i < waiting_.size(); ++i) {
    if (waiting_[i].row.rows() == 0) continue;
    rows.push_back(waiting_[i].row);
    of.push_back(i);
  }
  if (rows.empty()) return 0;
  const std::vector<float> worth = model_->score(rows);
  return of[static_cast<size_t>(
      std::distance(worth.begin(), std::max_element(worth.begin(), worth.end())))];
}

}  // namespace tenon::tune
