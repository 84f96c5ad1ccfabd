#pragma once
// The objects that the program knows by opaque pointers.

#include <map>
#include <memory>

#include "standin/failure.h"

namespace polypath::standin {

/// Live objects. A pointer is never given out twice, so one that outlived its object is found out.
template <class Object, class Pointer>
class Handles {
 public:
  /// `kind` keeps the pointers of different kinds of objects apart.
  explicit Handles(std::uintptr_t kind) : next_((0x50 + kind) << 32) {}

  Pointer add(std::unique_ptr<Object> object) {
    next_ += 16;
    objects_[next_] = std::move(object);
    return reinterpret_cast<Pointer>(next_);
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
    return std::move(objects_.extract(reinterpret_cast<std::uintptr_t>(pointer)).mapped());
  }
  [[nodiscard]] const std::map<std::uintptr_t, std::unique_ptr<Object>>& all() const {
    return objects_;
  }
  template <class Condition>
  void erase_if(Condition condition) {
    std::erase_if(objects_, [&](const auto& entry) { return condition(*entry.second); });
  }

 private:
  std::uintptr_t next_;
  std::map<std::uintptr_t, std::unique_ptr<Object>> objects_;
};

}  // namespace polypath::standin
