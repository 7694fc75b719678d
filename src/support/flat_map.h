// SPDX-License-Identifier: Apache-2.0
// A map of a few entries in one piece of memory, in the order of their keys. A copy is one
// allocation, and a lookup among a dozen entries is faster than a hash.
//
//   FlatMap<int, char> m{{2, 'b'}, {1, 'a'}};   m[1]   =>   'a'
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include "support/check.h"

namespace tenon {

// What std::map has of the same name, but that inserting and erasing move the entries behind.
template <class Key, class Value>
class FlatMap {
 public:
  using value_type = std::pair<Key, Value>;
  using iterator = typename std::vector<value_type>::iterator;
  using const_iterator = typename std::vector<value_type>::const_iterator;

  FlatMap() = default;
  FlatMap(std::initializer_list<value_type> entries) {
    for (const value_type& e : entries) emplace(e.first, e.second);
  }

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  iterator begin() { return entries_.begin(); }
  iterator end() { return entries_.end(); }
  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  void clear() { entries_.clear(); }

  const_iterator find(const Key& key) const {
    const auto at = std::lower_bound(begin(), end(), key, kBefore);
    return at != end() && at->first == key ? at : end();
  }
  iterator find(const Key& key) {
    const auto at = std::lower_bound(begin(), end(), key, kBefore);
    return at != end() && at->first == key ? at : end();
  }
  const Value& at(const Key& key) const {
    const auto found = find(key);
    TENON_CHECK(found != end()) << "no such key";
    return found->second;
  }
  bool contains(const Key& key) const { return find(key) != end(); }
  size_t count(const Key& key) const { return contains(key) ? 1 : 0; }

  // Leaves an entry of the same key as it is; true if there was none.
  std::pair<iterator, bool> emplace(const Key& key, Value value) {
    const auto at = std::lower_bound(begin(), end(), key, kBefore);
    if (at != end() && at->first == key) return {at, false};
    if (entries_.capacity() == 0) {
      entries_.reserve(kFirstRoom);
      return {entries_.emplace(entries_.end(), key, std::move(value)), true};
    }
    return {entries_.emplace(at, key, std::move(value)), true};
  }
  Value& operator[](const Key& key) { return emplace(key, Value()).first->second; }
  size_t erase(const Key& key) {
    const auto at = find(key);
    if (at == end()) return 0;
    entries_.erase(at);
    return 1;
  }

 private:
  static constexpr size_t kFirstRoom = 8;
  // std::less orders any two pointers.
  static constexpr auto kBefore = [](const value_type& e, const Key& key) {
    return std::less<Key>()(e.first, key);
  };
  std::vector<value_type> entries_;
};

}  // namespace tenon
