#pragma once
// Ranks that are processes of their own, as virtual CPU threads over one simulated driver: each has
// its own clock, streams and RankRun, and knows the others' memory by what they have handed out.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collective/rank/rank_run.h"
#include "collective/support/rank_buffers.h"
#include "driver/sim/sim_driver.h"
#include "support/layers.h"

namespace polypath::test {

/// One program divided among the ranks.
using RankPrograms = std::vector<std::unique_ptr<RankProgram>>;

RankPrograms divide(const Machine& machine, const Program& program,
                    const std::vector<PlaceId>& ranks, Executor executor);

class RankGroup {
 public:
  RankGroup(const Machine& machine, std::vector<PlaceId> ranks, sim::Options options = {});
  RankGroup(const Machine& machine, std::vector<PlaceId> ranks, sim::Options options,
            const Settings& settings);
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;
  ~RankGroup();

  [[nodiscard]] sim::SimDriver& driver() { return driver_; }
  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] RankRun& run_of(int rank) { return *runs_[index(rank)]; }
  [[nodiscard]] StreamHandle stream_of(int rank) const { return streams_[index(rank)]; }

  /// All ranks make what the program needs. What one of them throws is thrown here.
  void prepare(const RankPrograms& programs);
  /// One rank enqueues its part; it does something else for `later` before.
  void enqueue(int rank, const RankPrograms& programs, std::span<const Address> buffers,
               Seconds later = {});
  /// All ranks wait for their streams. Returns when the last one knows that it is done.
  Seconds synchronize();
  /// How many flags of all ranks are set; nothing may be queued.
  [[nodiscard]] int flags_set() const;
  /// How often a rank told the others that it had failed.
  [[nodiscard]] int told() const { return told_; }
  /// What the driver found wrong; once all is given back, leaks included.
  std::vector<std::string> close();

 private:
  [[nodiscard]] static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  /// Does it for all ranks at the same time, so that they can exchange.
  void on_all(const std::function<void(int rank)>& what);

  sim::SimDriver driver_;
  std::vector<PlaceId> ranks_;
  std::vector<StreamHandle> streams_;
  std::vector<AllGather> exchanges_;
  std::vector<std::unique_ptr<RankRun>> runs_;
  int told_ = 0;
  bool closed_ = false;
};

}  // namespace polypath::test
