#pragma once
// One thread that copies on several streams at once: what that takes beside native copies, on a
// simulated machine without bytes.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "driver/sim/sim_driver.h"
#include "engine/engine.h"
#include "machine/load_machine.h"

namespace polypath::bench {

/// One copy of a burst, on a stream of its own.
struct BurstCopy {
  PlaceId source;
  PlaceId destination;
  Bytes bytes;
};
using Burst = std::vector<BurstCopy>;

/// Buffers, streams and an engine for bursts.
class BurstRig {
 public:
  BurstRig(const Machine& machine, const Burst& burst, const std::string& executor)
      : driver_(machine, {false, false, false}) {
    Settings settings;
    settings.executor = executor;
    engine_ = std::make_unique<Engine>(driver_, driver_.machine(), settings);
    for (const BurstCopy& copy : burst) {
      const bool pushes = machine.place(copy.source).kind == PlaceKind::gpu;
      const PlaceId gpu = pushes ? copy.source : copy.destination;
      calls_.push_back({driver_.allocate(copy.destination, copy.bytes),
                        driver_.allocate(copy.source, copy.bytes),
                        copy.bytes,
                        driver_.create_stream(gpu),
                        gpu,
                        {}});
    }
  }

  /// Issues every copy `rounds` times, then waits for all.
  Seconds run(int rounds) {
    const Seconds start = driver_.now();
    for (int round = 0; round < rounds; ++round)
      for (const CopyCall& call : calls_) (void)engine_->copy(call);
    for (const CopyCall& call : calls_) driver_.synchronize(call.stream);
    return driver_.now() - start;
  }

 private:
  sim::SimDriver driver_;
  std::unique_ptr<Engine> engine_;
  std::vector<CopyCall> calls_;
};

/// Native time over the engine's.
struct BurstRatios {
  double first = 0;    ///< of the very first burst of a process
  double waiting = 0;  ///< of each later one, if they wait for each other; the worst
  double queued = 0;   ///< of later ones that are queued behind each other
};

inline BurstRatios ratios_of(const Machine& machine, const Burst& burst) {
  constexpr int kRounds = 6;
  BurstRatios ratios;
  BurstRig native(machine, burst, "native"), automatic(machine, burst, "auto");
  const auto ratio = [&](int rounds) { return native.run(rounds) / automatic.run(rounds); };
  ratios.first = ratio(1);
  ratios.waiting = ratio(1);
  for (int i = 1; i < kRounds; ++i) ratios.waiting = std::min(ratios.waiting, ratio(1));
  (void)ratio(kRounds);
  ratios.queued = ratio(kRounds);
  return ratios;
}

}  // namespace polypath::bench
