#pragma once
// How much of each resource the transfers of this process take now, by prediction: asking the
// driver whether they are done would cost more than it is worth.

#include <map>
#include <mutex>
#include <vector>

#include "driver/driver.h"
#include "plan/planner.h"

namespace polypath {

/// A transfer about to be planned.
struct Asked {
  StreamHandle stream;
  PlaceId source;
  PlaceId destination;
  Bytes bytes;
};

/// What it has to share the machine with.
struct Company {
  Load load;               ///< taken of each resource by transfers on other streams
  bool both_ways = false;  ///< one as large goes the other way: plan for both instead
};

/// Thread-safe; engines may share one.
class LoadTracker {
 public:
  explicit LoadTracker(const Machine& machine) : machine_(machine), resources_(machine_) {}

  /// Notes a transfer that has been enqueued on `stream` at `now`.
  void add(StreamHandle stream, PlanPointer plan, Seconds now);
  /// The transfers on other streams that still run, by prediction. Transfers on the same stream do
  /// not count: they are over when the next one starts. Programs that exchange in both directions
  /// at once do so again and again: a transfer that overlapped one the other way is expected back
  /// for a while. One that took turns with it, as in a ping-pong, is not.
  [[nodiscard]] Company company_of(const Asked& asked, Seconds now);

 private:
  struct Running {
    PlanPointer plan;
    Seconds start;
    Seconds end;
    bool overlapped = false;  ///< with one as large the other way

    [[nodiscard]] bool mirrors(const Asked& asked) const;
    [[nodiscard]] Seconds forgotten() const;
  };

  void add_rates(const Plan& plan, Load& load) const;

  Machine machine_;
  ResourceModel resources_;
  std::mutex mutex_;
  std::map<StreamHandle, Running> running_;
};

}  // namespace polypath
