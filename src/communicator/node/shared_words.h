#pragma once
// The primitives of protocols between ranks that share memory: words, time, and turns of the CPU.
// Tests put others in their place to go through all orders of steps
// (tests/support/interleavings.h).

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>

#include "core/units.h"

namespace polypath::communicator {

struct SharedWords {
  template <class Value>
  using Word = std::atomic<Value>;

  class Stopwatch {
   public:
    [[nodiscard]] Seconds elapsed() const {
      return Seconds{std::chrono::duration<double>(Clock::now() - start_).count()};
    }

   private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_ = Clock::now();
  };
  /// The rank waited for may need this very core.
  static void let_others_run() { std::this_thread::yield(); }

  static constexpr std::size_t kDecisions = 64;     ///< that AgreementRing keep
  static constexpr std::size_t kMessages = 1024;    ///< of one direction, that MessageRing keep
  static constexpr int kNotices = 64;               ///< of a rank
  static constexpr std::size_t kNoticeBytes = 248;  ///< at most
};

}  // namespace polypath::communicator
