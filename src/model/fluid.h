#pragma once
// Discrete-event simulation of copies that share resources, in virtual time: the simulated driver
// runs on it, and it predicts plans whose paths contend for something.
//
// An activity becomes ready when all it waits for has finished and it has been issued. A copy then
// takes a place at each of its engines (first ready, first served), spends its hop's latency, with
// the GPU's busy latency on top for every other copy of that GPU that is under way, and flows at
// its max-min fair rate (model/fair_rates.h, the only rates ever used) until its bytes are through.
// Rates are found anew when a flow begins or ends, and when a resource has used up its credit above
// its capacity (burst_credit.h). Everything else takes a fixed time; the bytes that a kernel then
// moves over hops flow at fair rates, too, all of them at the same time, without an engine. Equal
// times are taken in order of issue, so that the same calls give the same times.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "machine/machine.h"
#include "model/burst_credit.h"
#include "model/fair_rates.h"

namespace polypath {

/// The bytes that a kernel moves over a hop.
struct Traffic {
  HopId hop;
  double bytes = 0;
};

/// One activity on the timeline.
struct Activity {
  std::uint64_t id = 0;
  HopId hop;              ///< the hop a copy goes over; invalid for anything that is no copy
  Bytes bytes;            ///< of a copy
  Seconds duration = {};  ///< of anything else
  PlaceId gpu = {};       ///< that does it, if it is a kernel
  std::vector<Traffic> traffic = {};  ///< of a kernel, after `duration`
  Seconds issued;                     ///< it does not start before
  Seconds ready;
  Seconds started;
  Seconds finished = Seconds::infinity();
  bool done = false;
  bool waits = false;  ///< its stream waits for another one before it
  std::function<void(const Activity&)> on_done;
  /// Asked when it is ready; false: it ends when Fluid::resume says so.
  std::function<bool(const std::shared_ptr<Activity>&)> may_go_on;

  int unfinished = 0;  ///< activities it still waits for
  std::vector<std::pair<std::shared_ptr<Activity>, Seconds>> successors;  ///< and their delays
  double left = 0;                                                        ///< bytes still to flow
  std::shared_ptr<Activity> part_of;  ///< the kernel whose traffic this is
  std::size_t flows = 0;              ///< of its traffic, not yet through
};

using ActivityPointer = std::shared_ptr<Activity>;

/// The max-min fair rates of copies over given hops at the same time, remembered per set of hops.
class HopRates {
 public:
  /// Hops at work, by their indices in ascending order, and the resources whose bursts are used up.
  struct Scene {
    std::vector<std::int32_t> hops;
    std::vector<ResourceId> spent;
    bool operator==(const Scene&) const = default;
  };

  explicit HopRates(const Machine& machine);

  /// By the hops' indices: the rate of each copy over that hop; 0 of hops that are not at work.
  const std::vector<BytesPerSecond>& of(const Scene& scene);
  [[nodiscard]] const std::vector<Capacity>& capacities() const { return capacities_; }

 private:
  struct SceneHash {
    std::size_t operator()(const Scene& scene) const noexcept;
  };

  const Machine& machine_;
  std::vector<Capacity> capacities_;
  std::unordered_map<Scene, std::vector<BytesPerSecond>, SceneHash> known_;
};

/// The timeline of one machine. Not thread-safe.
class Fluid {
 public:
  Fluid(const Machine& machine, HopRates& hop_rates);

  /// Makes `activity` start at least `delay` after `earlier` has finished. Call before submit.
  static void order(const ActivityPointer& earlier, const ActivityPointer& activity, Seconds delay);
  /// Hands the activity over; its `issued` must not lie before now().
  void submit(const ActivityPointer& activity);

  /// Plays everything that happens up to `time`.
  void advance_to(Seconds time);
  /// Ends an activity that might not go on, after a while.
  void resume(const ActivityPointer& activity, Seconds delay);
  /// Plays until `activity` has finished; false if nothing is left that could end it.
  bool play_until(const Activity& activity);
  /// Plays until nothing is left.
  void drain();
  /// Plays so many steps; false if nothing is left.
  bool play_some(int steps);

  [[nodiscard]] Seconds now() const { return now_; }

 private:
  enum class Step { ready, flow, finish };
  struct Event {
    Seconds time;
    std::uint64_t id;
    Step step;
    ActivityPointer activity;
    bool operator>(const Event& other) const {
      return std::tie(time, id) > std::tie(other.time, other.id);
    }
  };
  bool play_next(Seconds limit);
  void play_event();
  void end_flows();
  void flow_for(Seconds duration);
  [[nodiscard]] Seconds next_completion();
  [[nodiscard]] bool has_flowed(const Activity& activity, BytesPerSecond rate) const;
  void find_rates();
  void schedule(Seconds time, Step step, const ActivityPointer& activity);
  void become_ready(const ActivityPointer& activity);
  [[nodiscard]] bool take_engines(const Activity& activity);
  [[nodiscard]] int& under_way(HopId hop);
  void release_engines(const Activity& activity);
  void start(const ActivityPointer& activity);
  [[nodiscard]] Seconds latency_of(const Activity& activity);
  void start_flow(const ActivityPointer& activity);
  void start_traffic(const ActivityPointer& kernel);
  void end_traffic(const ActivityPointer& part);
  void finish(const ActivityPointer& activity);

  const Machine& machine_;
  HopRates& hop_rates_;
  Seconds now_;
  std::uint64_t next_id_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<ActivityPointer> flowing_;
  HopRates::Scene scene_;  ///< of what flows
  std::vector<BytesPerSecond> rates_;
  bool rates_stale_ = false;
  BurstCredit credit_;                   ///< what is left of the resources' bursts
  std::vector<int> under_way_;           ///< by place: copies that a GPU makes now
  bool has_engines_ = false;             ///< some resource works on few copies at a time
  std::vector<int> free_engines_;        ///< by resource; kUnlimited of those that take any number
  std::deque<ActivityPointer> waiting_;  ///< ready copies without their engines, in that order
};

}  // namespace polypath
