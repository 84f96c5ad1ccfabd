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
#include <functional>
#include <tuple>
#include <vector>

#include "machine/machine.h"
#include "model/activity.h"
#include "model/copy_engines.h"
#include "model/flows.h"
#include "model/hop_rates.h"

namespace polypath::model {

/// The timeline of one machine. Not thread-safe.
class Fluid {
 public:
  Fluid(const Machine& machine, const HopRates& hop_rates);

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
  void schedule(Seconds time, Step step, const ActivityPointer& activity);
  void become_ready(const ActivityPointer& activity);
  [[nodiscard]] int& under_way(HopId hop);
  void start(const ActivityPointer& activity);
  [[nodiscard]] Seconds latency_of(const Activity& activity);
  void start_flow(const ActivityPointer& activity);
  void start_traffic(const ActivityPointer& kernel);
  void end_traffic(const ActivityPointer& part);
  void end_copy(const Activity& copy);
  void finish(const ActivityPointer& activity);

  const Machine& machine_;
  Seconds now_;
  std::uint64_t next_id_ = 0;
  std::vector<Event> events_;  ///< a heap, the next one first
  Flows flows_;
  CopyEngines engines_;
  std::vector<int> under_way_;  ///< by place: copies that a GPU makes now
};

}  // namespace polypath::model
