#pragma once
// What a benchmark runs on: a simulated machine, or this computer's GPUs. It knows how to fill and
// compare memories that the host may not reach, and how ranks' CPU threads are told apart.

#include <memory>
#include <string>
#include <vector>

#include "driver/sim/sim_driver.h"

namespace polypath::bench {

class Bed {
 public:
  Bed() = default;
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;
  virtual ~Bed() = default;

  [[nodiscard]] virtual const Machine& machine() const = 0;
  virtual Driver& driver() = 0;
  /// True if time passes by itself, so that a measurement has to be repeated.
  [[nodiscard]] virtual bool real() const = 0;
  /// Calls from now on come from this lane's virtual CPU thread; nothing on real GPUs, where lanes
  /// are real threads.
  virtual void use_lane(std::size_t) {}
  /// All lanes' clocks meet.
  virtual void align_lanes() {}
  /// Fills the memory with bytes that follow from the seed; nothing queued may use it.
  virtual void fill(Address address, Bytes bytes, std::uint64_t seed) = 0;
  /// True if the two memories hold the same bytes.
  virtual bool same(Address a, Address b, Bytes bytes) = 0;
  /// What the driver itself has found wrong.
  virtual std::vector<std::string> violations() { return {}; }
  /// The copies so far, where they are recorded.
  virtual std::vector<sim::Span> trace() { return {}; }
};

/// A new simulated machine; `options` say whether bytes move.
std::unique_ptr<Bed> simulated_bed(const Machine& machine, sim::Options options);

/// This computer's GPUs as `machine`, through their driver, which beds may share.
std::unique_ptr<Bed> gpu_bed(const Machine& machine, std::shared_ptr<Driver> driver);

}  // namespace polypath::bench
