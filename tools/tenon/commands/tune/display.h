// SPDX-License-Identifier: Apache-2.0
// Shows a tuning run on stderr while it goes on: a picture drawn over itself on a terminal, a line
// now and then elsewhere, nothing with --quiet or --progress=none. Has a thread of its own, so that
// the clock goes on while a round is measured.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tools/tenon/commands/tune/progress.h"
#include "tools/tenon/console.h"

namespace tenon::tools {

class TuneDisplay {
 public:
  // `stopping` is asked now and then: the run was told to come to an end.
  TuneDisplay(const Console& console, std::function<bool()> stopping);
  ~TuneDisplay();  // the last picture stays
  TuneDisplay(const TuneDisplay&) = delete;
  TuneDisplay& operator=(const TuneDisplay&) = delete;

  void take(const std::string& event);  // from any thread
  // Lines that stay, above the picture; not with --quiet.
  void note(const std::string& line);
  void warn(const std::string& line);
  void finish();  // draws the last picture; nothing is drawn afterwards
  TuneProgress progress() const;

 private:
  void make_room();  // for a line
  void loop();
  void draw();
  std::string back_to_top();  // the cursor, before what was drawn
  void tell_plainly();
  double now_t() const;

  const Console& console_;
  const ProgressKind kind_;
  std::function<bool()> stopping_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  TuneProgress progress_;
  double taken_s_ = 0;      // when the last event came, by the steady clock
  double next_line_s_ = 0;  // when the next plain line is due
  bool told_stopping_ = false;
  bool done_ = false;
  std::vector<size_t> drawn_;  // lengths of the lines on the terminal, without colours
  std::string last_;           // what was drawn
  std::thread thread_;
};

}  // namespace tenon::tools
