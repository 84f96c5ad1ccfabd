#pragma once
// How much of each resource the transfers of this process take now, and with a ledger those of the
// node's other processes, by prediction: asking the driver whether they are done would cost more
// than it is worth.

#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/brief_mutex.h"
#include "driver/driver.h"
#include "engine/load/node_ledger.h"
#include "engine/load/recurring_set.h"
#include "plan/single/planner.h"

namespace polypath {

/// A transfer about to be planned.
struct TransferRequest {
  StreamHandle stream;
  PlaceId source;
  PlaceId destination;
  Bytes bytes;
};

/// The transfers that it has to share the machine with.
struct Contention {
  ConcurrentTransfers load;  ///< transfers of this process between other places, now or soon
  Load foreign_load;  ///< taken of each resource by other processes between other places, which
                      ///< know as little of what comes next
  BothWays both_ways = BothWays::no;  ///< one as large goes the other way: plan for both instead
  bool followers_unknown = false;     ///< others are in flight, and this is the first of its way
  bool meets_way_back = false;        ///< and is in flight now, issued by another process
  bool meets_same_way = false;        ///< one of another stream of this process goes the same way
  /// All of the above with the transfer itself, if each of these transfers knows the same set; else
  /// empty.
  RecurringSet set = {};
  std::uint64_t set_name = 0;  ///< of what recurs with it and with other processes, known or not
};

/// Thread-safe; engines may share one.
class LoadTracker {
 public:
  /// A check of an earlier decision need not know what recurs within this process: finding that out
  /// takes 2 us where two threads work on it (32 cores beside H200s).
  enum class Depth { full, cached };

  explicit LoadTracker(const Machine& machine, std::unique_ptr<NodeLedger> ledger = nullptr);

  /// Notes a transfer that has been enqueued on `stream` at `now`, and its contention.
  void add(StreamHandle stream, PlanPointer plan, Seconds now, const Contention& contention = {});
  /// The transfers on other streams that still run, by prediction. Transfers on the same stream do
  /// not count: they are over when the next one starts. Nor do those that go the same way: paths
  /// are shared in proportion, so that the solo plan stays optimal for each.
  ///
  /// Programs repeat themselves: a transfer that met the last ones of this way, in flight before
  /// them or joining them, is expected to meet this one, and counts before it comes; the other way
  /// as well. A transfer that took turns with it, as in a ping-pong, has not met it.
  [[nodiscard]] Contention contention_of(const TransferRequest& asked, Seconds now,
                                         Depth depth = Depth::full);
  /// True if there is not room for the plan beside what other processes are using.
  [[nodiscard]] bool lacks_room(const Plan& plan, const Load& foreign_load) const;

 private:
  /// The last transfer of a stream.
  struct Running {
    PlanPointer plan;
    LedgerEntry entry;   ///< for others, but for its times
    Seconds end;         ///< also of those before it
    Seconds back_until;  ///< until when it is expected back; zero if it met none the other way
    Seconds called;
    std::thread::id thread;
    bool queued = false;         ///< it was issued before the one before it was over
    bool for_both_ways = false;  ///< planned together with the same transfer the other way

    [[nodiscard]] bool runs(Seconds now) const;
    [[nodiscard]] bool goes_the_same_way(const TransferRequest& asked) const;
    [[nodiscard]] bool mirrors(const TransferRequest& asked) const;
    void meet_way_back();
  };

  /// From one place to another.
  using Way = std::pair<PlaceId, PlaceId>;
  static constexpr int kForgotten = 1 << 20;
  static constexpr int kRemembered = 3;  ///< episodes without a overlap until it is forgotten
  /// The last transfer of one way that met one of another.
  struct Overlap {
    PlanPointer plan;
    int episode = 0;                   ///< of the other way
    int queued_episode = -kForgotten;  ///< the last one in which it was queued behind its like
    bool by_threads = false;           ///< issued at the same time, at least once
    bool came_first = false;           ///< was issued before the transfer of this way
  };
  /// The last transfer of another process that met one of this way.
  struct Foreign {
    Bytes bytes = {};
    int episode = -kForgotten;         ///< of this way
    int varied_episode = -kForgotten;  ///< the last one in which its size was another one
    std::uint64_t set_name = 0;        ///< what its process takes to recur with it
  };
  /// Transfers of one way that are in flight one after another or beside each other are an episode.
  struct History {
    int episodes = 0;
    Bytes bytes = {};                  ///< of the last one
    int varied_episode = -kForgotten;  ///< the last one in which the size was another one
    std::map<Way, Overlap> met;
    RecurringSet known_set = {};   ///< what recurs with it
    std::uint64_t known_when = 0;  ///< as long as `changes_` is that
    // With other processes.
    Seconds start = {};                 ///< of the last episode
    LedgerEntry entry = {};             ///< as published last
    int strange_episode = -kForgotten;  ///< the last one that met what it cannot tell apart
    std::map<Way, Foreign> foreign = {};
  };
  using ByWay = std::map<Way, ConcurrentTransfer>;

  void begin_episode(const Plan& plan, Seconds now);
  void note_size(const Plan& plan);
  void meet(StreamHandle stream, const Running& transfer, Seconds now);
  [[nodiscard]] static Way way_of(const Plan& plan) { return {plan.source, plan.destination}; }
  [[nodiscard]] bool has_met_processes(const Way& way) const;
  [[nodiscard]] bool is_in_flight(const Way& way, Seconds now) const;
  enum class Came { first, second };
  [[nodiscard]] static bool note(const Running& transfer, Came came, int episode, bool by_threads,
                                 Overlap& overlap);
  [[nodiscard]] bool same_thread(const Running& other, const TransferRequest& asked,
                                 Seconds now) const;
  [[nodiscard]] int episode_of(const Way& way, Seconds now) const;
  [[nodiscard]] bool gives_place(const Running& running, const TransferRequest& asked,
                                 Seconds now) const;
  [[nodiscard]] const Overlap* lately_met(const Way& way, const Way& other, Seconds now) const;
  [[nodiscard]] bool recurs(const Way& way, Seconds now) const;
  [[nodiscard]] bool knows_all(const std::vector<Way>& ways, Seconds now) const;
  void recognise(const TransferRequest& asked, Seconds now, const ByWay& concurrent,
                 Contention& contention);
  void find_set(const TransferRequest& asked, Seconds now, const ByWay& concurrent,
                Contention& contention);
  template <class IsOfIt>
  [[nodiscard]] static bool meets_only(IsOfIt is_of_it, const TransferRequest& asked,
                                       const ByWay& concurrent, const Contention& contention);
  void remember(const std::vector<Way>& ways, const RecurringSet& set, Seconds now);
  [[nodiscard]] bool may_forget(const Way& way, const RecurringSet& set) const;
  [[nodiscard]] RecurringSet set_of(const std::vector<Way>& ways, Seconds now) const;
  [[nodiscard]] static ConcurrentTransfer concurrent_transfer_of(const Plan& plan);
  static void add(const ConcurrentTransfer& other_transfer, ByWay& concurrent);
  void look_at(const Running& running, const TransferRequest& asked, Seconds now, bool queues,
               ByWay& concurrent, Contention& contention) const;
  void expect(const TransferRequest& asked, Seconds now, bool queues, ByWay& concurrent,
              Contention& contention) const;
  [[nodiscard]] LedgerEntry entry_of(const Plan& plan) const;
  void publish(Seconds now);
  void publish_lately_over();
  void look_at_others(const TransferRequest& asked, Seconds now, Contention& contention);
  void add_other(const LedgerEntry& entry, const TransferRequest& asked,
                 Contention& contention) const;
  void meet_other(const LedgerEntry& entry, const Way& own, Seconds now);
  using ForeignWays = std::map<Way, Foreign>;
  [[nodiscard]] std::optional<ForeignWays> lately_met_others(const Way& way, Seconds now) const;
  void recognise_with_others(const std::vector<Way>& ways, const ForeignWays& others,
                             Contention& contention) const;

  Machine machine_;
  ResourceModel resources_;
  std::unique_ptr<NodeLedger> ledger_;
  BriefMutex mutex_;
  std::map<StreamHandle, Running> running_;
  std::map<Way, History> histories_;
  /// How often what recurs may have changed: by more than another round like those before.
  std::uint64_t changes_ = 1;
  /// The ledger's clock of the driver's, when both were looked at together: when a transfer is
  /// noted, the time of its calls has passed.
  std::optional<double> ahead_;
  std::vector<LedgerEntry> published_;
  std::vector<Way> lately_;  ///< those of the last transfers, the latest last
};

}  // namespace polypath
