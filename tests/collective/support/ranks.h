#pragma once
// The ranks of a collective on a simulated machine, with their memories and what must be in them.

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "collective/algorithms/algorithm.h"
#include "collective/program/routes.h"
#include "collective/rank/collective_run.h"
#include "collective/support/rank_buffers.h"
#include "driver/sim/sim_driver.h"
#include "support/layers.h"
#include "support/random.h"

namespace polypath::test {

/// Settings under which messages of a few KiB already go over several paths in several chunks.
Settings collective_settings();
/// The same, with slots of scratch memory that have room for so many bytes, and for less than 4 KiB
/// more: an access beyond its range is an error of the run.
Settings settings_with_slots(const Machine& machine, Bytes bytes);

/// The first `count` GPUs of the machine.
std::vector<PlaceId> first_gpus(const Machine& machine, int count);

/// Any type with any operation that it has.
Reduction random_reduction(Random& random);

class Ranks {
 public:
  /// Memories start at `misaligned` bytes from what the driver allocates.
  Ranks(const Machine& machine, CollectiveRequest request, Bytes misaligned = {},
        const Settings& settings = collective_settings());
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks();

  /// Fills the inputs, runs the program and waits. Returns how long that took on the driver's
  /// clock.
  Seconds run(const CollectiveProgram& program);
  /// Success if all outputs are right, all inputs out of place as they were, and no byte beside
  /// the memories has changed.
  [[nodiscard]] testing::AssertionResult right() const { return buffers_->right(); }
  [[nodiscard]] std::byte* output(int rank) const { return buffers_->output(rank); }
  /// What the driver found wrong; once all is given back, leaks included.
  std::vector<std::string> close();

  [[nodiscard]] sim::SimDriver& driver() { return driver_; }
  [[nodiscard]] const Machine& machine() const { return driver_.machine(); }
  [[nodiscard]] const CollectiveRequest& request() const { return request_; }
  [[nodiscard]] CollectiveRun& runner() { return *runner_; }
  [[nodiscard]] StreamHandle stream() const { return stream_; }
  [[nodiscard]] PlaceId gpu() const { return request_.ranks.front(); }
  [[nodiscard]] const std::vector<Address>& buffers() const { return buffers_->addresses(); }

 private:
  CollectiveRequest request_;
  sim::SimDriver driver_;
  std::unique_ptr<CollectiveRun> runner_;
  std::unique_ptr<RankBuffers> buffers_;
  StreamHandle stream_;
  bool closed_ = false;
};

/// Runs the request by the algorithm and expects everything to be right, by streams and as a graph
/// that is launched twice. Slots are as small as the tuning's pieces allow.
void expect_right(const Machine& machine, const Algorithm& algorithm,
                  const CollectiveRequest& request, const Tuning& tuning, Bytes misaligned = {});

}  // namespace polypath::test
