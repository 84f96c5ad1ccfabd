#pragma once
// A value in memory that processes share: one of them writes it, the others copy it whole.
//
// It has a version, odd while it is written. The words are atomic: a reader that finds a new word
// finds the odd version, or a later one, on CPUs that order memory weakly, too.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

namespace polypath {

/// Zeros are a value that has not been written. One thread writes at a time. Nothing here waits.
template <class Value>
class Versioned {
  static constexpr std::size_t kWords = sizeof(Value) / sizeof(std::uint64_t);
  static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) % sizeof(std::uint64_t) == 0);

 public:
  void write(const Value& value) {
    std::array<std::uint64_t, kWords> copied;
    std::memcpy(copied.data(), &value, sizeof value);
    const std::uint64_t odd = version_.load(std::memory_order_relaxed) | 1;
    version_.store(odd, std::memory_order_relaxed);
    for (std::size_t i = 0; i < kWords; ++i) words_[i].store(copied[i], std::memory_order_release);
    version_.store(odd + 1, std::memory_order_release);
  }

  /// None if it is being written, or has not been written.
  [[nodiscard]] std::optional<Value> read() const {
    const std::uint64_t version = version_.load(std::memory_order_acquire);
    if (version == 0 || version % 2 != 0) return std::nullopt;
    std::array<std::uint64_t, kWords> copied;
    for (std::size_t i = 0; i < kWords; ++i) copied[i] = words_[i].load(std::memory_order_acquire);
    if (version_.load(std::memory_order_relaxed) != version) return std::nullopt;
    Value value;
    std::memcpy(static_cast<void*>(&value), copied.data(), sizeof value);
    return value;
  }

 private:
  std::atomic<std::uint64_t> version_{0};
  std::array<std::atomic<std::uint64_t>, kWords> words_{};
};

}  // namespace polypath
