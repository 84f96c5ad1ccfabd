#pragma once
// Which copies of the program go to the driver without a decision: small ones, and all of them once
// Polypath is off.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "api/preload/outcome.h"
#include "core/units.h"

namespace polypath::preload {

/// Thread-safe.
class CopyGate {
 public:
  CopyGate() = default;
  CopyGate(const CopyGate&) = delete;
  CopyGate& operator=(const CopyGate&) = delete;

  /// False of every copy before the first threshold.
  [[nodiscard]] bool passes(Bytes bytes) const {
    return bytes.value < pass_below_.load(std::memory_order_acquire);
  }
  /// What became of those that pass.
  [[nodiscard]] Outcome outcome() const { return pass_as_.load(std::memory_order_relaxed); }
  /// Smaller copies pass from here on. Not beside turn_off.
  void pass_below(Bytes bytes) { pass_below_.store(bytes.value, std::memory_order_release); }
  /// The same in place of the threshold `before`, unless all copies pass by now.
  void pass_below(Bytes before, Bytes bytes);

  [[nodiscard]] bool is_off() const { return is_off_.load(std::memory_order_acquire); }
  /// All copies pass from here on.
  void turn_off(const char* why) noexcept;
  /// The same once the problem has been said on stderr.
  void turn_off(const std::string& problem, const char* why) noexcept;
  /// The same in a forked child, where a lock may be held for ever.
  void turn_off_in_child(const char* why) noexcept { set_off(why); }
  /// The first reason; empty: it is on.
  [[nodiscard]] const char* why_off();

 private:
  void set_off(const char* why) noexcept;

  std::atomic<std::uint64_t> pass_below_{0};
  std::atomic<Outcome> pass_as_{Outcome::small};
  std::atomic<bool> is_off_{false};
  std::mutex mutex_;
  const char* why_off_ = "";
};

}  // namespace polypath::preload
