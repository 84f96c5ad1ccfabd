#pragma once
// Ranks that end without a caller who would get their error: dropped ones, and those that are left
// when the program ends. Ranks of one process wait for each other, so that each needs a thread.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/python/buffer.h"
#include "api/python/rank_health.h"
#include "collective/rank/collectives.h"

namespace polypath::python {

class CollectiveRank;

/// A rank that is to end, with what it needs for that.
struct Ending {
  ContextPointer context;
  std::unique_ptr<Collectives> ranks;
  std::shared_ptr<RankHealth> health;

  /// Ends it; its error, if there is one. Passes on what interrupts it.
  std::optional<Error> close();
};

/// The one of the process. Thread-safe.
class Closing {
 public:
  static Closing& of_process();

  /// Ends a rank in a thread of its own.
  void begin(Ending ending);
  /// Ends it here. Passes on what interrupts it.
  void end(Ending ending);
  /// Ends these ranks together, and waits for those that have begun to end. Returns the errors that
  /// the program has not been told. Passes on what interrupts it, once all have given up.
  std::vector<std::string> finish(const std::vector<CollectiveRank*>& ranks);

 private:
  /// A rank that ends.
  struct Work {
    std::shared_ptr<RankHealth> health;
    std::shared_ptr<std::atomic<bool>> is_over;
    std::thread thread;
  };

  [[nodiscard]] static std::vector<Ending> endings_of(const std::vector<CollectiveRank*>& ranks);
  void end_all(std::vector<Ending> endings);
  [[nodiscard]] std::vector<Work> take_work();
  static void await(const std::vector<Work>& all);

  std::mutex mutex_;
  std::vector<Work> work_;
  std::vector<std::string> problems_;
};

/// From now on the program's status is 1 instead of 0, once everything else has ended.
void fail_at_exit();
/// Makes that possible; once, early.
void prepare_exit_status();

}  // namespace polypath::python
