#pragma once
// What all parts of a simulated driver share: the machine and its time, the order of things, the
// words that streams wait for, and what is found. The driver holds its lock around every use.

#include <cstdint>
#include <string>
#include <vector>

#include "driver/sim/faults.h"
#include "driver/sim/findings.h"
#include "driver/sim/flags.h"
#include "driver/sim/host_clocks.h"
#include "driver/sim/options.h"
#include "driver/sim/order_log.h"
#include "driver/sim/race_detector.h"
#include "model/fluid.h"

namespace polypath::sim {

/// An access to memory, as the race detector wants it.
struct Touch {
  Region region;
  bool writes = false;
};

/// Error (invalid_argument): there is none such.
[[noreturn]] void fail_handle(const char* what, std::uintptr_t handle);

struct Simulation {
  /// Error (invalid_machine) if there is something wrong with the machine.
  Simulation(Machine simulated, Options asked);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  ~Simulation() = default;

  /// Error (invalid_argument) if the machine has no such place.
  void check_place(PlaceId place) const;
  /// The same if it is no GPU.
  void check_gpu(PlaceId place) const;
  [[nodiscard]] std::uintptr_t make_handle() { return next_handle++; }
  /// A call is made: it may be one that is to fail.
  void count(Call call) { faults.count(call); }
  /// The thread of the GPU's node makes a call that takes so long.
  void spend_at(PlaceId gpu, Seconds cost) {
    clocks.issue_at(gpu);
    clocks.spend(cost);
  }
  /// Something in a stream that takes no time.
  [[nodiscard]] ActivityPointer make_marker() const;
  /// The delay of work of `gpu` that waits for `earlier` on another stream, once both are ready.
  [[nodiscard]] Seconds crossing_delay(const ActivityPointer& earlier, PlaceId gpu) const;
  /// The host waits for it. Error (driver) if it never ends; `what` and the handle name it then.
  void play_until(const Activity& activity, const char* what, std::uintptr_t handle);
  /// One more step of a logical thread, and what it reads and writes.
  void step(std::size_t thread, std::vector<Touch> touches, std::string what);
  /// The thread ends, once all before that is known.
  void retire_thread(std::size_t thread);

  Machine machine;
  Options options;
  HostClocks clocks{machine};
  HopRates rates{machine};
  Fluid fluid{machine, rates};
  RaceDetector races;
  OrderLog order{races};
  Flags flags;
  Faults faults;
  Findings findings;
  std::uintptr_t next_handle = 1;
};

}  // namespace polypath::sim
