// SPDX-License-Identifier: Apache-2.0
#include "compile/packed.h"

#include <algorithm>
#include <cstring>

#include "support/hash.h"

namespace tenon::compile {

uint64_t sampled_hash(const ir::Array& a) {
  constexpr int64_t kLooked = 512;
  const auto* bytes = reinterpret_cast<const char*>(a.data());
  const int64_t step = std::max<int64_t>(1, a.bytes() / kLooked);
  Hasher h;
  h.add(a.bytes());
  for (int64_t i = 0; i < a.bytes(); i += step) h.add(static_cast<int64_t>(bytes[i]));
  return h.value();
}

bool equal_bytes(const ir::Array& a, const ir::Array& b) {
  return a.bytes() == b.bytes() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0);
}

bool begins_with(const ir::Array& a, const ir::Array& beginning) {
  const auto bytes = static_cast<size_t>(beginning.bytes());
  return beginning.bytes() <= a.bytes() &&
         (bytes == 0 || std::memcmp(a.data(), beginning.data(), bytes) == 0);
}

graph::Data PackedWeights::same_as_before(const graph::Data& data) {
  const std::scoped_lock guard(lock_);
  if (first_.contains(data)) return data;
  const uint64_t hash = sampled_hash(*data);
  for (auto [it, end] = by_hash_.equal_range(hash); it != end; ++it) {
    const ir::Array& known = *it->second;
    if (known.dtype() == data->dtype() && known.shape() == data->shape() &&
        equal_bytes(known, *data)) {
      return it->second;
    }
  }
  by_hash_.emplace(hash, data);
  first_.insert(data);
  return data;
}

graph::Data PackedWeights::find(const graph::Data& data, const std::string& how) {
  const std::scoped_lock guard(lock_);
  const auto it = packed_.find({data, how});
  return it == packed_.end() ? nullptr : it->second;
}

void PackedWeights::keep(const graph::Data& data, const std::string& how, graph::Data packed) {
  const std::scoped_lock guard(lock_);
  packed_[{data, how}] = std::move(packed);
}

}  // namespace tenon::compile
