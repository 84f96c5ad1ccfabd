#pragma once
// Buffers and streams for an operation on a simulated machine, and the engines under test: one per
// lane, each called by its own virtual CPU thread and knowing the others' load, as ranks would be.

#include <memory>
#include <string>
#include <vector>

#include "bench/operation.h"
#include "driver/sim/sim_driver.h"
#include "engine/engine.h"

namespace polypath::bench {

/// Streams and buffers of one operation at one size; gives all of it back.
class Session {
 public:
  /// `driver_options` say whether bytes move. The machine is copied.
  Session(const Machine& machine, const Operation& operation, Bytes bytes, const Settings& settings,
          sim::Options driver_options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  /// Runs the operation once: every lane copies `window` times, then all streams are waited for.
  /// Returns the time from the first call until the last wait returned.
  Seconds run(const PlanOptions& options, int window);

  /// Writes a pattern into every source and another into every destination. Needs bytes that move.
  void fill();
  /// True if every byte of every destination is its source's.
  [[nodiscard]] bool verify() const;

  /// How each lane's first copy was done in the last run.
  [[nodiscard]] const std::vector<CopyResult>& results() const { return results_; }
  [[nodiscard]] sim::SimDriver& driver() { return driver_; }
  /// The first lane's engine.
  [[nodiscard]] Engine& engine() { return *engines_.front(); }

 private:
  struct Buffers {
    Address source;
    Address destination;
    StreamHandle stream;
    PlaceId gpu;
  };

  void copy(std::size_t lane, const PlanOptions& options, bool first);
  [[nodiscard]] PlaceId gpu_of(const Lane& lane) const;

  sim::SimDriver driver_;
  std::vector<std::unique_ptr<Engine>> engines_;
  Operation operation_;
  Bytes bytes_;
  std::vector<Buffers> buffers_;
  std::vector<CopyResult> results_;
};

}  // namespace polypath::bench
