// SPDX-License-Identifier: Apache-2.0
// A card as the contexts of a model share it: the driver's primary context, the loaded kernels and the weights, made with the
// first context of the model on that card and released with the last.
#pragma once

#include "runtime/cuda/driver.h"
#include "runtime/cuda/table.h"
#include "runtime/fork_mark.h"

namespace tenon::runtime::cuda {

inline constexpr size_t kNameBytes = 128;

struct Card {
  const Driver* driver = nullptr;
  Card* next = nullptr;  // in the list of all
  int64_t users = 0;
  int32_t number = 0;
  Device device = 0;
  Context context = nullptr;
  char name[kNameBytes] = "";  // "NVIDIA H200, sm_90"
  int32_t major = 0, minor = 0;
  Module* modules = nullptr;      // as in the table; null where not loaded yet
  Function* functions = nullptr;  // one per launch of the table
  DevicePointer weights = 0;
  ForkMark mark;
};

// Null with a sentence of kSentenceBytes. Safe to call from several threads.
Card* use_card(const tenon_model_options& options, char* sentence);
void leave_card(Card* card);

// A sentence about something that the driver did not do on this card. Returns false.
bool refuse(const Card& card, Status status, const char* what, char* sentence);

// False with a sentence that says how much was wanted and how much is free.
bool allocate(const Card& card, size_t bytes, const char* what, DevicePointer* data,
              char* sentence);

// The driver's functions work on the calling thread's current context: this makes the card's current as long as it lives,
// and the former one again afterwards.
class Current {
 public:
  explicit Current(const Card& card) : driver_(*card.driver) {
    status_ = driver_.CtxPushCurrent(card.context);
  }
  ~Current() {
    Context popped = nullptr;
    if (status_ == kSuccess) {
      driver_.CtxPopCurrent(&popped);
    }
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  Status status() const { return status_; }

 private:
  const Driver& driver_;
  Status status_;
};

}  // namespace tenon::runtime::cuda
