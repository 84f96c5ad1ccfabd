#pragma once
// An NCCL over the simulated driver: its ranks are threads, its calls are right, and slow.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collective/rank/node_collectives.h"
#include "driver/sim/sim_driver.h"
#include "nccl/functions.h"
#include "nccl/member.h"
#include "support/layers.h"

namespace polypath::test {

/// One at a time: its functions are C's.
class ToyNccl {
 public:
  explicit ToyNccl(const Machine& machine);
  ToyNccl(const ToyNccl&) = delete;
  ToyNccl& operator=(const ToyNccl&) = delete;
  ~ToyNccl();

  /// As a process finds them.
  [[nodiscard]] static nccl::Functions functions();
  [[nodiscard]] nccl::Surroundings surroundings();
  [[nodiscard]] sim::SimDriver& driver() { return driver_; }
  /// A name of a communicator that is to be made.
  [[nodiscard]] nccl::UniqueId unique_id();

  /// Collectives that it was asked for since the last time.
  int take_calls() { return calls_.exchange(0); }
  /// Broadcasts take no time, and move nothing: nothing is faster.
  bool has_instant_broadcasts = false;

 private:
  friend struct ToyFunctions;

  std::unique_ptr<Bootstrap> meet(const std::string& name, int size, int rank);

  sim::SimDriver driver_;
  std::mutex mutex_;
  std::map<std::string, std::vector<std::unique_ptr<Bootstrap>>> meetings_;
  std::atomic<int> calls_ = 0;
  int names_ = 0;
};

}  // namespace polypath::test
