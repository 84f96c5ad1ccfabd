#pragma once
// How much of each resource the transfers of this process take now, by prediction: asking the
// driver whether they are done would cost more than it is worth.

#include <map>
#include <mutex>
#include <vector>

#include "driver/driver.h"
#include "plan/planner.h"

namespace polypath {

/// Thread-safe; engines may share one.
class LoadTracker {
 public:
  explicit LoadTracker(const Machine& machine) : machine_(machine), resources_(machine_) {}

  /// Notes a transfer that has been enqueued on `stream` at `now`.
  void add(StreamHandle stream, const Plan& plan, Seconds now);
  /// What transfers on other streams, still running by prediction, take of each resource. Transfers
  /// on the same stream do not count: they are over when the next one starts.
  [[nodiscard]] Load load_beside(StreamHandle stream, Seconds now);

 private:
  struct Running {
    Load rates;
    Seconds end;
  };

  Machine machine_;
  ResourceModel resources_;
  std::mutex mutex_;
  std::map<StreamHandle, Running> running_;
};

}  // namespace polypath
