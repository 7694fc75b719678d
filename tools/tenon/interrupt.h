// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, SIGTERM and the end of the terminal as a question instead of an end, while it lives: the first asks to come to
// a good end, the next one ends the process at once with 130. One at a time.
#pragma once

#include <signal.h>

namespace tenon::tools {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  bool asked() const;

 private:
  struct sigaction before_[3];
};

}  // namespace tenon::tools
