#pragma once
// How the program's threads tell a proxy's thread what to do.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "collective/internode/exchange_task.h"
#include "core/error.h"

namespace polypath::collective {

/// Thread-safe; await() and take() are of the proxy's thread.
class ExchangeInbox {
 public:
  struct News {
    bool has_work = false;                        ///< and time is left for it
    std::optional<Error> aborted = std::nullopt;  ///< why nothing is to be exchanged any more
  };

  void add(ExchangeTask task);
  void abort(const Error& why);
  /// What has been added is to be done by then, and nothing after that.
  void stop(const Deadline& by);

  /// Waits until there is something to do. `is_busy`: with earlier tasks; `has_failed`: an abort is
  /// no news.
  [[nodiscard]] News await(bool is_busy, bool has_failed);
  /// Moves what was added to the end of `tasks`.
  void take(std::deque<ExchangeTask>& tasks);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ExchangeTask> new_;
  std::optional<Error> aborted_;   ///< why, once it is
  std::optional<Deadline> stops_;  ///< once it is to end: by then
};

}  // namespace polypath::collective
