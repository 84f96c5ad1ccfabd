#pragma once
// How much of each resource the transfers of this process take now, and with a ledger those of the
// node's other processes, by prediction: asking the driver whether they are done would cost more
// than it is worth.

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "driver/driver.h"
#include "engine/node_ledger.h"
#include "plan/planner.h"

namespace polypath {

/// A native copy that takes no longer is no company for others, nor has it any: to look for that
/// takes some microseconds, in which others would hardly gain. (Open MPI's latency at 16 MiB, 56 us
/// between two H200s, got 7 % worse by looking.)
inline constexpr Seconds kBriefNativeCopy = 100_us;

/// A transfer about to be planned.
struct Asked {
  StreamHandle stream;
  PlaceId source;
  PlaceId destination;
  Bytes bytes;
};

/// What it has to share the machine with.
struct Company {
  Load load;   ///< taken of each resource by this process between other places, now or soon
  Load crowd;  ///< and by other processes between other places, who know as little of what comes
               ///< next
  BothWays both_ways = BothWays::no;  ///< one as large goes the other way: plan for both instead
  Seconds native_follower;  ///< the longest native copy of this process that is expected to follow
  bool meets_way_back = false;  ///< and is in flight now, issued by another process
};

/// Thread-safe; engines may share one.
class LoadTracker {
 public:
  explicit LoadTracker(const Machine& machine, std::unique_ptr<NodeLedger> ledger = nullptr);

  /// Notes a transfer that has been enqueued on `stream` at `now`, in that company.
  void add(StreamHandle stream, PlanPointer plan, Seconds now, const Company& company = {});
  /// The transfers on other streams that still run, by prediction. Transfers on the same stream do
  /// not count: they are over when the next one starts. Nor do those that go the same way: paths
  /// are shared in proportion, so that each does best with the plan it has alone.
  ///
  /// Programs do the same again: what met the last transfer of this way, in flight before it or
  /// joining it, is expected to meet this one, and is load before it comes.
  ///
  /// Programs that exchange in both directions at once do so again and again: a transfer that
  /// overlapped one the other way is expected back for a while. One that took turns with it, as in
  /// a ping-pong, is not.
  [[nodiscard]] Company company_of(const Asked& asked, Seconds now);
  /// True if there is not room for the plan beside what other processes are using.
  [[nodiscard]] bool lacks_room(const Plan& plan, const Load& crowd) const;

 private:
  /// The last transfer of a stream.
  struct Running {
    PlanPointer plan;
    Seconds end;         ///< also of those before it
    Seconds back_until;  ///< until when it is expected back; zero if it met none the other way

    [[nodiscard]] bool runs(Seconds now) const;
    [[nodiscard]] bool goes_the_same_way(const Asked& asked) const;
    [[nodiscard]] bool mirrors(const Asked& asked) const;
    void meet_way_back();
  };

  /// From one place to another.
  using Way = std::pair<PlaceId, PlaceId>;
  /// The last plan of each way that has met another one.
  using Met = std::map<Way, PlanPointer>;
  struct Meetings {
    Met last;  ///< by the transfers before
    Met now;   ///< by those in flight, which are one after another or beside each other
  };

  void meet(const PlanPointer& plan, Seconds now);
  [[nodiscard]] static Way way_of(const Plan& plan) { return {plan.source, plan.destination}; }
  void expect(const Asked& asked, Seconds now, Company& company) const;
  void publish(Seconds now) const;
  void add_rates(const Plan& plan, Load& load) const;
  void add_others(const Asked& asked, Company& company) const;

  Machine machine_;
  ResourceModel resources_;
  std::unique_ptr<NodeLedger> ledger_;
  std::mutex mutex_;
  std::map<StreamHandle, Running> running_;
  std::map<Way, Meetings> meetings_;
};

}  // namespace polypath
