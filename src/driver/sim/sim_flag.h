#pragma once
// Flags of the simulated driver: words that streams write and wait for (flags.h).

#include <cstdint>
#include <memory>

#include "driver/sim/mailboxes.h"
#include "driver/sim/sim_memory.h"
#include "driver/sim/sim_streams.h"
#include "driver/sim/simulation.h"

namespace polypath::sim {

struct AwaitedFlag {
  MomentPointer end;  ///< of the wait: told when it ends
  std::shared_ptr<FlagWait> wait;
};

/// The functions are those of Driver with the same names.
class SimFlags {
 public:
  SimFlags(Simulation& simulation, const SimMemory& memory, SimStreams& streams,
           Mailboxes& mailboxes)
      : simulation_(simulation), memory_(memory), streams_(streams), mailboxes_(mailboxes) {}

  void write_value(StreamHandle stream, Address address, PlaceId place, std::uint32_t value);
  void wait_value(StreamHandle stream, Address address, PlaceId place, std::uint32_t value);
  void signal(Address address, PlaceId place, std::uint32_t value);

  /// Error (invalid_argument) if it can be none.
  void check(Address address, PlaceId place) const;
  /// The logical thread writes one, or waits for one.
  MomentPointer note_write(std::size_t thread);
  AwaitedFlag note_wait(std::size_t thread);
  /// Activities that wait for it go on later by `latency`.
  ActivityPointer make_write(const FlagRequest& request, const MomentPointer& writer,
                             Seconds latency);
  ActivityPointer make_wait(const FlagRequest& request, const AwaitedFlag& awaited);

 private:
  [[nodiscard]] FlagRequest request_of(StreamHandle stream, Address address, PlaceId place,
                                       std::uint32_t value);

  Simulation& simulation_;
  const SimMemory& memory_;
  SimStreams& streams_;
  Mailboxes& mailboxes_;
};

}  // namespace polypath::sim
