#pragma once
// The simulated driver's events.

#include <map>
#include <optional>

#include "driver/sim/sim_streams.h"
#include "driver/sim/simulation.h"

namespace polypath::sim {

/// The functions are those of SimDriver with the same names.
class SimEvents {
 public:
  SimEvents(Simulation& simulation, SimStreams& streams)
      : simulation_(simulation), streams_(streams) {}

  EventHandle create(PlaceId gpu);
  void destroy(EventHandle event);
  void record(EventHandle event, StreamHandle stream);
  void wait(StreamHandle stream, EventHandle event);
  [[nodiscard]] bool is_done(EventHandle event);
  [[nodiscard]] std::optional<Seconds> elapsed(EventHandle begin, EventHandle end);
  void synchronize(EventHandle event);
  [[nodiscard]] std::optional<Seconds> finished_at(EventHandle event);
  /// Those that were not destroyed.
  [[nodiscard]] std::size_t count() const { return events_.size(); }

 private:
  struct Event {
    PlaceId gpu;
    bool recorded = false;
    ActivityPointer activity;
    MomentPointer moment;
    Seconds at;  ///< when it was recorded
  };

  [[nodiscard]] Event& at(EventHandle handle);
  [[nodiscard]] static std::optional<Seconds> time_of(const Event& event);

  Simulation& simulation_;
  SimStreams& streams_;
  std::map<EventHandle, Event> events_;
};

}  // namespace polypath::sim
