// SPDX-License-Identifier: Apache-2.0
#include "ir/interp_machine.h"

#include <algorithm>

namespace tenon::ir::interp {

Storage::Storage(const BufferNode* buffer, const Clock& clock, bool tracked)
    : buffer_(buffer),
      clock_(clock),
      tracked_(tracked),
      cells_(static_cast<size_t>(buffer->elements())),
      written_(cells_.size()) {}

void Storage::forget() {
  std::fill(written_.begin(), written_.end(), uint8_t{0});
  touches_.clear();
}

void Storage::fill(const Array& from) {
  for (size_t i = 0; i < cells_.size(); ++i) {
    cells_[i] = from.get(static_cast<int64_t>(i));
    written_[i] = 1;
  }
}

void Storage::spill(Array& to) const {
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (written_[i] != 0) {
      to.set(static_cast<int64_t>(i), cells_[i]);
    }
  }
}

Scalar Storage::read(int64_t offset, const Thread& t) {
  TENON_CHECK(written_[static_cast<size_t>(offset)] != 0)
      << "element " << offset << " of " << buffer_->name << " is read before it is written";
  if (tracked_ && t.concurrent) {
    note_read(offset, t);
  }
  return cells_[static_cast<size_t>(offset)];
}

void Storage::write(int64_t offset, Scalar v, const Thread& t) {
  TENON_CHECK(!read_only_) << buffer_->name << " is an input and may not be stored to";
  if (tracked_ && t.concurrent) {
    note_write(offset, t);
  }
  cells_[static_cast<size_t>(offset)] = v;
  written_[static_cast<size_t>(offset)] = 1;
}

Storage::Touch& Storage::touch(int64_t offset) {
  if (touches_.empty()) {
    touches_.resize(cells_.size());
  }
  Touch& touch = touches_[static_cast<size_t>(offset)];
  const uint64_t now = buffer_->scope == Scope::kShared ? clock_.phase : clock_.region;
  if (touch.stamp != now) {
    touch = {now, kNobody, kNobody};
  }
  return touch;
}

void Storage::note_read(int64_t offset, const Thread& t) {
  Touch& seen = touch(offset);
  TENON_CHECK(seen.writer == kNobody || seen.writer == t.agent)
      << "race: element " << offset << " of " << buffer_->name
      << " is read by one iteration and written by another";
  if (seen.reader != t.agent) {
    seen.reader = seen.reader == kNobody ? t.agent : kSeveral;
  }
}

void Storage::note_write(int64_t offset, const Thread& t) {
  Touch& seen = touch(offset);
  TENON_CHECK(seen.writer == kNobody || seen.writer == t.agent)
      << "race: element " << offset << " of " << buffer_->name << " is written by two iterations";
  TENON_CHECK(seen.reader == kNobody || seen.reader == t.agent)
      << "race: element " << offset << " of " << buffer_->name
      << " is written by one iteration and read by another";
  seen.writer = t.agent;
}

}  // namespace tenon::ir::interp
