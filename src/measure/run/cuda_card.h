// SPDX-License-Identifier: Apache-2.0
// A GPU as this process sees it: the driver, one stream in which all work stands in order, and memory between zones that
// nothing may touch.
//
//   | canaries | data | canaries |
#pragma once

#include <chrono>
#include <map>

#include "measure/run/device.h"
#include "runtime/cuda/driver.h"

namespace tenon::run {

class Card {
 public:
  Card();  // throws Unable where there is no driver or no card
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  const runtime::cuda::Driver& driver() const { return *driver_; }
  runtime::cuda::Stream stream() const { return stream_; }
  int64_t l2_bytes() const { return l2_bytes_; }

  // Throws std::bad_alloc, Unable or Unfit, with the driver's own words after `doing`.
  void check(runtime::cuda::Status status, const char* doing) const;
  // Until all work in the stream is done; an error of any of it is thrown here.
  void wait();
  // Seconds since work was waited for: an idle card slows its clocks down.
  double idle_s() const;

  // Blocks that were given back serve again: the driver takes its time to make one.
  runtime::cuda::DevicePointer take(int64_t bytes);  // or std::bad_alloc
  void give(runtime::cuda::DevicePointer data, int64_t bytes);

 private:
  runtime::cuda::Status open();
  void close();
  void free_kept();

  const runtime::cuda::Driver* driver_ = nullptr;
  runtime::cuda::Device device_ = 0;
  runtime::cuda::Context context_ = nullptr;
  runtime::cuda::Stream stream_ = nullptr;
  int64_t l2_bytes_ = 0;
  std::multimap<int64_t, runtime::cuda::DevicePointer> kept_;  // by size
  int64_t kept_bytes_ = 0;
  std::chrono::steady_clock::time_point waited_;
};

// A block of the card's memory for as long as this lives.
class CardBlock {
 public:
  CardBlock(Card& card, int64_t bytes) : card_(card), bytes_(bytes), data_(card.take(bytes)) {}
  ~CardBlock() { card_.give(data_, bytes_); }
  CardBlock(const CardBlock&) = delete;
  CardBlock& operator=(const CardBlock&) = delete;
  runtime::cuda::DevicePointer data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  Card& card_;
  int64_t bytes_;
  runtime::cuda::DevicePointer data_;
};

class CardBuffer : public Buffer {
 public:
  CardBuffer(Card& card, int64_t bytes);  // throws std::bad_alloc

  runtime::cuda::DevicePointer data() const;
  int64_t bytes() const override { return bytes_; }
  void put(const void* from, int64_t count, int64_t at) override;
  void fill(const std::vector<char>& pattern) override;
  void get(void* to, int64_t count, int64_t at) const override;
  bool intact() const override;  // no canary was overwritten

 private:
  bool has_canaries(int64_t at, int64_t count) const;

  Card& card_;
  int64_t bytes_;
  CardBlock block_;
};

}  // namespace tenon::run
