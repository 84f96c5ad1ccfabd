#pragma once
// Which of the program's streams may hold something that waits for the program itself.
//
// Polypath's work beside a program's stream starts after the work in that stream. If the stream
// waits for the program (a kernel that looks at a flag, a host function, an event of another
// stream), so does Polypath's work. Contexts of our own keep that from the program's streams and
// calls (driver/cuda/contexts.h), but not from each other: so a copy that may be held is told apart
// from a copy behind work that ends by itself (copies, fills, all that is not noted here). Windows
// of pageable memory and batches are not taken behind such work.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <tuple>

#include "core/brief_mutex.h"
#include "driver/cuda/cuda_types.h"

namespace polypath::preload {

/// Thread-safe; noting something costs a few nanoseconds.
class StreamWatch {
 public:
  /// This process's, never destroyed.
  static StreamWatch& of_process();

  /// The program is about to put into the stream what may wait for it. Null stands for a default
  /// stream, whichever.
  void note(cuda::StreamPointer stream) {
    counter_of(stream).fetch_add(1, std::memory_order_relaxed);
    all_.fetch_add(1, std::memory_order_release);
  }

  /// Whose work a stream waits for.
  enum class Order {
    alone,         ///< its own: a non-blocking stream
    with_default,  ///< that of default and blocking streams as well
  };

  /// True if nothing that the stream waits for can wait for the program. `context` tells default
  /// streams apart. `is_idle` tells whether all of that has finished; it is asked only if something
  /// has been noted since it last had, and for a stream that is seen for the first time.
  [[nodiscard]] bool waits_for_nobody(cuda::StreamPointer stream, Order order,
                                      cuda::ContextPointer context,
                                      const std::function<bool()>& is_idle);

  /// True if something has been noted in it since it was last seen idle: no question is asked.
  [[nodiscard]] bool may_wait(cuda::StreamPointer stream, Order order,
                              cuda::ContextPointer context);

 private:
  using Counter = std::atomic<std::uint64_t>;

  [[nodiscard]] Counter& counter_of(cuda::StreamPointer stream) {
    // 2^64 / φ, whose multiples are well spread.
    const auto value = reinterpret_cast<std::uintptr_t>(stream);
    return counters_[(value * 0x9e3779b97f4a7c15ULL) >> 56];
  }

  /// A stream; of default ones the context and the thread as well.
  using Key = std::tuple<cuda::StreamPointer, cuda::ContextPointer, std::thread::id>;
  static Key key_of(cuda::StreamPointer stream, cuda::ContextPointer context);
  [[nodiscard]] std::uint64_t noted(cuda::StreamPointer stream, Order order);

  std::array<Counter, 256> counters_{};  ///< by hash of the stream
  Counter all_{0};
  BriefMutex mutex_;
  std::map<Key, std::uint64_t> idle_at_;  ///< the counter when last seen idle
};

}  // namespace polypath::preload
