#pragma once
// Discrete-event simulation of copies that share resources, in virtual time.
//
// An operation becomes ready when all it waits for has finished and it has been issued. A copy then
// takes a place at each of its engines (first ready, first served), spends its hop's latency, and
// flows at its max-min fair rate (model/fair_rates.h, the only rates ever used) until its bytes are
// through. Everything else takes a fixed time. Equal times are taken in order of issue, so that the
// same calls give the same times.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <tuple>
#include <vector>

#include "machine/machine.h"
#include "model/fair_rates.h"

namespace polypath::sim {

/// One operation on the timeline.
struct Operation {
  std::uint64_t id = 0;
  HopId hop;       ///< the hop a copy goes over; invalid for anything that is no copy
  Bytes bytes;     ///< of a copy
  Seconds issued;  ///< it does not start before
  Seconds ready;
  Seconds started;
  Seconds finished = Seconds::infinity();
  bool done = false;
  PlaceId lands_at;  ///< whose staging latency a later operation pays that waits for this one
  std::function<void(const Operation&)> on_done;

  int unfinished = 0;  ///< operations it still waits for
  std::vector<std::pair<std::shared_ptr<Operation>, Seconds>> successors;  ///< and their delays
  double left = 0;  ///< bytes still to flow
};

using OperationPointer = std::shared_ptr<Operation>;

/// The timeline of one machine. Not thread-safe.
class Fluid {
 public:
  explicit Fluid(const Machine& machine);

  /// Makes `operation` start at least `delay` after `earlier` has finished. Call before submit.
  static void order(const OperationPointer& earlier, const OperationPointer& operation,
                    Seconds delay);
  /// Hands the operation over; its `issued` must not lie before now().
  void submit(const OperationPointer& operation);

  /// Plays everything that happens up to `time`.
  void advance_to(Seconds time);
  /// Plays until `operation` has finished; returns when that was.
  Seconds advance_until(const Operation& operation);
  /// Plays until nothing is left.
  void drain();

  [[nodiscard]] Seconds now() const { return now_; }

 private:
  enum class Step { ready, flow, finish };
  struct Event {
    Seconds time;
    std::uint64_t id;
    Step step;
    OperationPointer operation;
    bool operator>(const Event& other) const {
      return std::tie(time, id) > std::tie(other.time, other.id);
    }
  };
  bool play_next(Seconds limit);
  void flow_for(Seconds duration);
  [[nodiscard]] Seconds next_completion();
  void find_rates();
  void schedule(Seconds time, Step step, const OperationPointer& operation);
  void become_ready(const OperationPointer& operation);
  [[nodiscard]] bool take_engines(const Operation& operation);
  void release_engines(const Operation& operation);
  void start(const OperationPointer& operation);
  void start_flow(const OperationPointer& operation);
  void finish(const OperationPointer& operation);

  const Machine& machine_;
  std::vector<BytesPerSecond> capacities_;
  Seconds now_;
  std::uint64_t next_id_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<OperationPointer> flowing_;
  std::vector<BytesPerSecond> rates_;
  bool rates_stale_ = false;
  std::map<ResourceId, int> free_engines_;  ///< of those that work on few copies at a time
  std::deque<OperationPointer> waiting_;    ///< ready copies without their engines, in that order
  std::map<std::vector<HopId>, std::vector<BytesPerSecond>> known_rates_;
};

}  // namespace polypath::sim
