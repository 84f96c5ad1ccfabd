#pragma once
// A map of bounded size that forgets what was used longest ago.

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <utility>

namespace polypath::plan {

/// Not thread-safe. `on_evict` is called with each value that has to go.
template <class Key, class Value>
class LruCache {
 public:
  explicit LruCache(std::size_t capacity, std::function<void(Value&)> on_evict = {})
      : capacity_(capacity), on_evict_(std::move(on_evict)) {}

  /// The value of `key`, or of what compares like it, now the most recently used; null if absent.
  template <class Sought>
  Value* find(const Sought& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->second;
  }

  /// Adds or replaces; evicts the least recently used when full.
  Value& insert(const Key& key, Value value) {
    erase(key);
    while (entries_.size() >= capacity_) ++evictions_, erase_last();
    entries_.emplace_front(key, std::move(value));
    index_[key] = entries_.begin();
    return entries_.front().second;
  }

  void erase(const Key& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return;
    if (on_evict_) on_evict_(found->second->second);
    entries_.erase(found->second);
    index_.erase(found);
  }

  void clear() {
    while (!entries_.empty()) erase_last();
  }

  /// Calls `visit` with every key and value, the most recently used one first.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [key, value] : entries_) visit(key, value);
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  /// Times that insert had to evict.
  [[nodiscard]] std::size_t evictions() const { return evictions_; }

 private:
  void erase_last() {
    const Key key = entries_.back().first;
    erase(key);
  }

  std::size_t capacity_;
  std::function<void(Value&)> on_evict_;
  std::list<std::pair<Key, Value>> entries_;
  std::map<Key, typename std::list<std::pair<Key, Value>>::iterator, std::less<>> index_;
  std::size_t evictions_ = 0;
};

}  // namespace polypath::plan
