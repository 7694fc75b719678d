// SPDX-License-Identifier: Apache-2.0
#include "measure/run/cuda_card.h"

#include <algorithm>
#include <new>
#include <string>

namespace tenon::run {
namespace {

namespace cuda = runtime::cuda;

constexpr int64_t kUnit = 4096;                       // sizes of blocks are multiples of it
constexpr int64_t kGuard = 4096;                      // on either side of the data
constexpr int64_t kMostKeptBytes = int64_t{4} << 30;  // of blocks that nobody uses
constexpr uint8_t kCanary = 0xc5;

int64_t up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// Nothing that a program does brings these about.
bool is_machines_fault(cuda::Status s) {
  return s == cuda::kDeviceUnavailable || s == cuda::kEccUncorrectable || s == cuda::kNoDevice ||
         s == cuda::kSystemDriverMismatch || s == cuda::kDeinitialized;
}

std::string words(const cuda::Driver& driver, cuda::Status status) {
  char text[256];
  cuda::explain(driver, status, text, sizeof text);
  return text;
}

}  // namespace

Card::Card() {
  char sentence[runtime::kSentenceBytes] = {};
  driver_ = cuda::open_driver(sentence);
  if (driver_ == nullptr) throw Unable(sentence);
  const cuda::Status s = open();
  if (s != cuda::kSuccess) {
    close();
    throw Unable("the card cannot be used: " + words(*driver_, s));
  }
  int32_t l2 = 0;
  driver_->DeviceGetAttribute(&l2, cuda::kL2Bytes, device_);
  l2_bytes_ = l2;
}

Card::~Card() {
  free_kept();
  close();
}

cuda::Status Card::open() {
  cuda::Status s = driver_->DeviceGet(&device_, 0);
  if (s == cuda::kSuccess) s = driver_->DevicePrimaryCtxRetain(&context_, device_);
  if (s == cuda::kSuccess) s = driver_->CtxSetCurrent(context_);
  if (s == cuda::kSuccess) s = driver_->StreamCreate(&stream_, cuda::kStreamNonBlocking);
  return s;
}

void Card::close() {
  if (stream_ != nullptr) driver_->StreamDestroy(stream_);
  if (context_ == nullptr) return;
  driver_->CtxSetCurrent(nullptr);
  driver_->DevicePrimaryCtxRelease(device_);
}

void Card::check(cuda::Status status, const char* doing) const {
  if (status == cuda::kSuccess) return;
  if (status == cuda::kOutOfMemory) throw std::bad_alloc();
  const std::string why = std::string(doing) + ": " + words(*driver_, status);
  if (is_machines_fault(status)) throw Unable(why);
  throw Unfit(why);
}

void Card::wait() {
  check(driver_->StreamSynchronize(stream_), "running");
  waited_ = std::chrono::steady_clock::now();
}

double Card::idle_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - waited_).count();
}

cuda::DevicePointer Card::take(int64_t bytes) {
  bytes = up(std::max<int64_t>(bytes, 1), kUnit);
  if (const auto it = kept_.find(bytes); it != kept_.end()) {
    const cuda::DevicePointer data = it->second;
    kept_.erase(it);
    kept_bytes_ -= bytes;
    return data;
  }
  cuda::DevicePointer data = 0;
  cuda::Status s = driver_->MemAlloc(&data, static_cast<size_t>(bytes));
  if (s == cuda::kOutOfMemory) {
    free_kept();
    s = driver_->MemAlloc(&data, static_cast<size_t>(bytes));
  }
  check(s, "taking memory");
  return data;
}

void Card::give(cuda::DevicePointer data, int64_t bytes) {
  bytes = up(std::max<int64_t>(bytes, 1), kUnit);
  if (kept_bytes_ + bytes > kMostKeptBytes) {
    driver_->MemFree(data);
    return;
  }
  kept_.emplace(bytes, data);
  kept_bytes_ += bytes;
}

void Card::free_kept() {
  for (const auto& [bytes, data] : kept_) driver_->MemFree(data);
  kept_.clear();
  kept_bytes_ = 0;
}

CardBuffer::CardBuffer(Card& card, int64_t bytes)
    : card_(card), bytes_(bytes), block_(card, kGuard + up(bytes, kUnit) + kGuard) {
  const auto paint = [&](cuda::DevicePointer from, cuda::DevicePointer to) {
    card_.check(card_.driver().MemsetD8Async(from, kCanary, to - from, card_.stream()),
                "painting memory");
  };
  paint(block_.data(), data());
  paint(data() + static_cast<uint64_t>(bytes_),
        block_.data() + static_cast<uint64_t>(block_.bytes()));
}

cuda::DevicePointer CardBuffer::data() const {
  return block_.data() + static_cast<uint64_t>(kGuard);
}

void CardBuffer::put(const void* from, int64_t count, int64_t at) {
  if (count == 0) return;
  card_.check(card_.driver().MemcpyHtoDAsync(data() + static_cast<uint64_t>(at), from,
                                             static_cast<size_t>(count), card_.stream()),
              "copying to the card");
}

void CardBuffer::fill(const std::vector<char>& pattern) {
  int64_t done = std::min(static_cast<int64_t>(pattern.size()), bytes_);
  put(pattern.data(), done, 0);
  // What is there is copied behind itself, and is a multiple of the pattern each time.
  while (done > 0 && done < bytes_) {
    const int64_t count = std::min(done, bytes_ - done);
    card_.check(card_.driver().MemcpyDtoDAsync(data() + static_cast<uint64_t>(done), data(),
                                               static_cast<size_t>(count), card_.stream()),
                "copying on the card");
    done += count;
  }
}

void CardBuffer::get(void* to, int64_t count, int64_t at) const {
  if (count == 0) return;
  card_.check(card_.driver().MemcpyDtoHAsync(to, data() + static_cast<uint64_t>(at),
                                             static_cast<size_t>(count), card_.stream()),
              "copying from the card");
  card_.wait();
}

bool CardBuffer::has_canaries(int64_t at, int64_t count) const {
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  get(bytes.data(), count, at);
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b == kCanary; });
}

bool CardBuffer::intact() const {
  return has_canaries(-kGuard, kGuard) && has_canaries(bytes_, block_.bytes() - kGuard - bytes_);
}

}  // namespace tenon::run
