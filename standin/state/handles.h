#pragma once
// The objects that the program knows by opaque pointers.

#include <map>
#include <memory>
#include <vector>

#include "standin/failure.h"

namespace polypath::standin {

/// Live objects. A pointer is never given out twice, so that a pointer that outlived its object is
/// detected; or, on demand, the last one given up is the next one given out, as memory allocators
/// do it.
template <class Object, class Pointer>
class Handles {
 public:
  /// `kind` keeps the pointers of different kinds of objects apart.
  explicit Handles(std::uintptr_t kind, bool reuse = false)
      : last_((0x50 + kind) << 32), reuse_(reuse) {}

  Pointer add(std::unique_ptr<Object> object) {
    const std::uintptr_t value = next();
    objects_[value] = std::move(object);
    return reinterpret_cast<Pointer>(value);
  }
  /// As add, by a pointer that was given out before.
  void add_again(Pointer pointer, std::unique_ptr<Object> object) {
    objects_[reinterpret_cast<std::uintptr_t>(pointer)] = std::move(object);
  }
  /// Refuses (invalid handle, or what the caller says) what is not alive.
  Object& find(Pointer pointer, Result otherwise = kInvalidHandle) const {
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(pointer));
    if (found == objects_.end()) refuse(otherwise, "the handle is none, or no more");
    return *found->second;
  }
  [[nodiscard]] bool contains(Pointer pointer) const {
    return objects_.contains(reinterpret_cast<std::uintptr_t>(pointer));
  }
  /// Takes the object out; the pointer is dead from now on.
  std::unique_ptr<Object> take(Pointer pointer) {
    (void)find(pointer);
    const auto value = reinterpret_cast<std::uintptr_t>(pointer);
    given_up_.push_back(value);
    return std::move(objects_.extract(value).mapped());
  }
  [[nodiscard]] const std::map<std::uintptr_t, std::unique_ptr<Object>>& all() const {
    return objects_;
  }
  template <class Condition>
  void erase_if(Condition condition) {
    std::erase_if(objects_, [&](const auto& entry) {
      const bool erased = condition(*entry.second);
      if (erased) given_up_.push_back(entry.first);
      return erased;
    });
  }

 private:
  std::uintptr_t next() {
    if (!reuse_ || given_up_.empty()) return last_ += 16;
    const std::uintptr_t value = given_up_.back();
    given_up_.pop_back();
    return value;
  }

  std::uintptr_t last_;
  bool reuse_;
  std::vector<std::uintptr_t> given_up_;
  std::map<std::uintptr_t, std::unique_ptr<Object>> objects_;
};

}  // namespace polypath::standin
