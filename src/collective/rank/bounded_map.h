#pragma once
// A map that drops its oldest entries beyond a size. Ranks that add the same entries in the same
// order drop the same ones; lookups change nothing.

#include <cstddef>
#include <deque>
#include <map>
#include <utility>

namespace polypath::collective {

template <class Key, class Value>
class BoundedMap {
 public:
  /// Of all values together, as their sizes are given.
  explicit BoundedMap(std::size_t most) : most_(most) {}

  /// Null if it is not there.
  [[nodiscard]] const Value* find(const Key& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second.value;
  }
  /// The key is new. However large it is, the new value stays; true if others had to go.
  bool add(const Key& key, Value value, std::size_t size) {
    values_.insert_or_assign(key, Sized{std::move(value), size});
    order_.push_back(key);
    size_ += size;
    const std::size_t before = order_.size();
    while (size_ > most_ && order_.size() > 1) forget_first();
    return order_.size() < before;
  }
  void clear() { values_.clear(), order_.clear(), size_ = 0; }
  void set_most(std::size_t most) { most_ = most; }
  [[nodiscard]] std::size_t count() const { return values_.size(); }

 private:
  struct Sized {
    Value value;
    std::size_t size;
  };

  void forget_first() {
    const auto first = values_.find(order_.front());
    size_ -= first->second.size;
    values_.erase(first);
    order_.pop_front();
  }

  std::size_t most_;
  std::size_t size_ = 0;
  std::map<Key, Sized> values_;
  std::deque<Key> order_;
};

}  // namespace polypath::collective
