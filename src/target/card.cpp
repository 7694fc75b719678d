// SPDX-License-Identifier: Apache-2.0
// The GPU at hand, as its driver describes it.
#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>

#include "runtime/cuda/driver.h"
#include "support/check.h"
#include "target/target.h"

namespace tenon::target {
namespace {

namespace cuda = runtime::cuda;

constexpr const char* kSimt = "simt";
constexpr std::string_view kRealProcessors = "sm_";

class Card {
 public:
  Card() {
    char sentence[runtime::kSentenceBytes] = {};
    driver_ = cuda::open_driver(sentence);
    if (driver_ == nullptr) throw UserError(fmt::format("target 'cuda': {}", sentence));
    int32_t count = 0;
    driver_->DeviceGetCount(&count);
    if (count < 1 || driver_->DeviceGet(&device_, 0) != cuda::kSuccess) {
      throw UserError("target 'cuda': the CUDA driver finds no card in this machine");
    }
  }

  std::string name() const {
    char text[256] = {};
    driver_->DeviceGetName(text, sizeof text, device_);
    return text;
  }
  int number(cuda::DeviceAttribute attribute) const {
    int32_t value = 0;
    driver_->DeviceGetAttribute(&value, attribute, device_);
    return value;
  }
  // 90 for compute capability 9.0.
  int capability() const {
    return 10 * number(cuda::kComputeCapabilityMajor) + number(cuda::kComputeCapabilityMinor);
  }

 private:
  const cuda::Driver* driver_ = nullptr;
  cuda::Device device_ = 0;
};

// 90 for "sm_90"; 0 for what is no card.
int capability_of(const Target& row) {
  const std::string& processor = row.gpu().processor;
  if (!processor.starts_with(kRealProcessors)) return 0;
  const char* end = processor.data() + processor.size();
  int value = 0;
  std::from_chars(processor.data() + kRealProcessors.size(), end, value);
  return value;
}

// The row with the most that this card has too: code for an older card runs on a newer one.
const Target& row_for(const Card& card) {
  const int capability = card.capability();
  const bool simt = capability == 0;  // which no real card has
  const Target* best = nullptr;
  for (const Target& row : gpu_targets()) {
    const int needed = capability_of(row);
    const bool fits = simt ? row.gpu().processor == kSimt : needed > 0 && needed <= capability;
    if (fits && (best == nullptr || needed > capability_of(*best))) best = &row;
  }
  if (best == nullptr) {
    throw UserError(fmt::format("target 'cuda': no code is made for {}, whose compute capability "
                                "is {}.{}",
                                card.name(), capability / 10, capability % 10),
                    "8.0 and later are known");
  }
  return *best;
}

template <typename T>
void take(T& field, const Card& card, cuda::DeviceAttribute attribute) {
  if (const int value = card.number(attribute); value > 0) field = value;
}

}  // namespace

Target card_target() {
  const Card card;
  Target t = row_for(card);
  t.name = "cuda";
  t.machine = card.name();
  Gpu& g = t.gpu();
  take(g.multiprocessors, card, cuda::kMultiprocessors);
  take(g.warp_threads, card, cuda::kWarpThreads);
  take(g.threads_per_block, card, cuda::kMaxThreadsPerBlock);
  take(g.threads_per_multiprocessor, card, cuda::kMaxThreadsPerMultiprocessor);
  take(g.registers_per_multiprocessor, card, cuda::kMaxRegistersPerMultiprocessor);
  take(g.shared_bytes_per_block, card, cuda::kMaxSharedBytesPerBlockOptin);
  take(g.shared_bytes_per_multiprocessor, card, cuda::kMaxSharedBytesPerMultiprocessor);
  take(g.l2_bytes, card, cuda::kL2Bytes);
  return t;
}

}  // namespace tenon::target
