#pragma once
// Ends a rank's queued work, whether the other ranks do their parts or not: sets all words that it
// waits for (awaited_words.h), again and again until it is over, because a word may be awaited more
// than once. The contents of the outputs are not defined then. Internal to src/collective.

#include <atomic>
#include <functional>
#include <vector>

#include "collective/rank/awaited_words.h"
#include "driver/driver.h"

namespace polypath::collective {

/// One thread enqueues; another one may release.
class ForcedEnd {
 public:
  /// Both outlive it.
  ForcedEnd(Driver& driver, AwaitedWords& awaited) : driver_(driver), awaited_(awaited) {}

  /// While there is one, its thread is enqueuing work, and release() does not take it for over.
  class Enqueuing {
   public:
    explicit Enqueuing(ForcedEnd& of) : flag_(of.is_enqueuing_) { flag_ = true; }
    Enqueuing(const Enqueuing&) = delete;
    Enqueuing& operator=(const Enqueuing&) = delete;
    ~Enqueuing() { flag_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool>& flag_;
  };
  /// Error (communicator) once release() was called: nothing may be enqueued any more.
  void check_held() const;
  /// Ends what precedes these events. False if it has not ended after so long.
  [[nodiscard]] bool drain(const std::vector<EventHandle>& ends, Seconds timeout) noexcept;
  /// Something may be queued that nothing can wait for. It is ended as far as it begins soon.
  void note_unsettled() noexcept;
  [[nodiscard]] bool is_unsettled() const { return is_unsettled_; }
  /// Ends all queued work: `is_over` says when it has. False if it has not ended after so long.
  bool release(const std::function<bool()>& is_over, Seconds timeout);

 private:
  [[nodiscard]] bool set_words_until(const std::function<bool()>& is_over,
                                     Seconds timeout) noexcept;

  Driver& driver_;
  AwaitedWords& awaited_;
  std::atomic<bool> released_ = false;
  std::atomic<bool> is_enqueuing_ = false;
  std::atomic<bool> is_unsettled_ = false;
};

}  // namespace polypath::collective
